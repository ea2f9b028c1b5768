// Sessions on a real device: results, inputs, frames in flight, persistent values, options.
#include "executor/session.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "absl/strings/match.h"
#include "tests/executor/fixture.h"

namespace oa::testing {
namespace {

using exec::Device;
using exec::SessionOptions;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// The ways in which one plan must give one result.
std::vector<SessionOptions> Variants() {
  std::vector<SessionOptions> variants(6);
  variants[1].stage_everything = true;
  variants[2].max_submit_ms = 1e-9;
  variants[3].poison_transients = true;
  variants[3].check_guards = true;
  variants[4] = variants[3];
  variants[4].stage_everything = true;
  variants[4].max_submit_ms = 1e-9;
  variants[5].stage_everything = true;
  variants[5].max_staging_bytes = 400;  // a buffer for each output
  return variants;
}

TEST_CASE("every kind of session computes the same, replay after replay") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  const std::vector<float> x = Ramp(kChainElements);
  const std::vector<uint8_t> bytes = ToBytes(x);
  for (const SessionOptions& options : Variants()) {
    CAPTURE(options.stage_everything);
    CAPTURE(options.poison_transients);
    Running running = Start(*device, ChainPlan(), options);
    for (int replay = 1; replay <= 5; ++replay) {
      auto outputs = running.session->Run({{"x", bytes}});
      REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
      CHECK(outputs->size() == 2);
      CHECK(ToFloats(outputs->at("y")) == ChainY(x));
      CHECK(ToFloats(outputs->at("total")) == ChainTotal(x, replay));
    }
  }
  CHECK(device->live_objects() == 0);
}

TEST_CASE("serialized replays compute the same") {
  const std::unique_ptr<Device> device = OpenDevice({.serialize = true});
  if (device == nullptr) return;
  const std::vector<float> x = Ramp(kChainElements);
  Running running = Start(*device, ChainPlan());
  CHECK(RunFor(*running.session, "total", x) == ChainTotal(x, 1));
  CHECK(RunFor(*running.session, "y", x) == ChainY(x));
  CHECK(RunFor(*running.session, "total", x) == ChainTotal(x, 3));
}

TEST_CASE("a kernel with records reads every one of them") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  PlanBuilder builder;
  const uint32_t x = builder.Buffer("x", BufferKind::kInput, 3);
  const uint32_t w = builder.Data("w", BufferKind::kParameter, {1, 2, 3, 4, 5});
  const uint32_t c = builder.Data("c", BufferKind::kConstant, {7});
  const uint32_t empty = builder.Buffer("empty", BufferKind::kState, 0);
  const uint32_t y = builder.Buffer("y", BufferKind::kOutput, 4);
  builder.Stage();
  builder.SumRecords({x, w, c, empty}, y, 2);
  Running running = Start(*device, builder.Build());
  CHECK(RunFor(*running.session, "y", {10, 20, 30}) == std::vector<float>{120, 30, 14, 0});
  const auto value = running.session->ReadPersistent("empty");
  REQUIRE(value.ok());
  CHECK(value->empty());
}

TEST_CASE("a plan without stages is replayed") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  PlanBuilder builder;
  builder.Data("w", BufferKind::kParameter, {1, 2});
  Running running = Start(*device, builder.Build(), {.timestamps = true});
  const auto outputs = running.session->Run({});
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
  CHECK(outputs->empty());
  CHECK(running.session->profile().empty());
}

TEST_CASE("inputs are checked before anything is submitted") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  Running running = Start(*device, ChainPlan());
  const std::vector<uint8_t> good(kChainElements * 4);
  const std::vector<uint8_t> bad(kChainElements * 4 - 1);

  const auto missing = running.session->Run({});
  CHECK(absl::IsInvalidArgument(missing.status()));
  CHECK(absl::StrContains(Message(missing.status()), "\"x\" (f32[100])"));
  const auto size = running.session->Run({{"x", bad}});
  CHECK(absl::IsInvalidArgument(size.status()));
  CHECK(absl::StrContains(Message(size.status()), "399 bytes"));
  const auto unknown = running.session->Run({{"x", good}, {"z", good}});
  CHECK(absl::IsInvalidArgument(unknown.status()));
  CHECK(absl::StrContains(Message(unknown.status()), "\"z\""));

  const auto total = running.session->ReadPersistent("sum");
  REQUIRE(total.ok());
  CHECK(ToFloats(*total) == std::vector<float>(kChainElements, 10));
}

TEST_CASE("replays in flight keep their own inputs and outputs") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  for (bool staged : {false, true}) {
    SessionOptions options;
    options.frames_in_flight = 3;
    options.stage_everything = staged;
    options.max_staging_bytes = staged ? 1 : 0;
    Running running = Start(*device, ChainPlan(), options);
    std::vector<uint64_t> tickets;
    for (int i = 0; i < 3; ++i) {
      const std::vector<uint8_t> x = ToBytes(std::vector<float>(kChainElements, float(i)));
      const auto ticket = running.session->Submit({{"x", x}});
      REQUIRE_MESSAGE(ticket.ok(), ticket.status().ToString());
      tickets.push_back(*ticket);
    }
    for (int i : {1, 2, 0}) {
      const auto outputs = running.session->Wait(tickets[i]);
      REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
      const std::vector<float> x(kChainElements, float(i));
      CHECK(ToFloats(outputs->at("y")) == ChainY(x));
      CHECK(ToFloats(outputs->at("total"))[0] == (i == 0 ? 10 : i == 1 ? 11 : 13));
    }
    CHECK(absl::IsInvalidArgument(running.session->Wait(tickets[1]).status()));
  }
}

TEST_CASE("a ticket expires when its frame is used again") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  Running running = Start(*device, ChainPlan());
  const std::vector<uint8_t> x = ToBytes(Ramp(kChainElements));
  const auto first = running.session->Submit({{"x", x}});
  REQUIRE(first.ok());
  REQUIRE(running.session->Submit({{"x", x}}).ok());
  const auto third = running.session->Submit({{"x", x}});
  REQUIRE(third.ok());
  CHECK(absl::IsInvalidArgument(running.session->Wait(*first).status()));
  CHECK(absl::IsInvalidArgument(running.session->Wait(*third + 1).status()));
  const auto outputs = running.session->Wait(*third);
  REQUIRE(outputs.ok());
  CHECK(ToFloats(outputs->at("total")) == ChainTotal(Ramp(kChainElements), 3));
}

TEST_CASE("persistent values are read, replaced and reset") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  const std::vector<float> x = Ramp(kChainElements);
  for (bool staged : {false, true}) {
    SessionOptions options;
    options.stage_everything = staged;
    Running running = Start(*device, ChainPlan(), options);
    exec::Session& session = *running.session;
    RunFor(session, "total", x);
    REQUIRE(session.Submit({{"x", ToBytes(x)}}).ok());
    CHECK(ToFloats(*session.ReadPersistent("sum")) == ChainTotal(x, 2));
    const std::vector<uint8_t> zeros(kChainElements * 4);
    REQUIRE(session.WritePersistent("sum", zeros).ok());
    CHECK(RunFor(session, "total", x) == x);
    REQUIRE(session.Reset().ok());
    CHECK(RunFor(session, "total", x) == ChainTotal(x, 1));

    CHECK(absl::IsNotFound(session.ReadPersistent("summ").status()));
    CHECK(absl::IsNotFound(session.WritePersistent("t", zeros)));
    CHECK(absl::IsInvalidArgument(session.WritePersistent("sum", {})));
  }
}

TEST_CASE("large values go through staging in parts") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  constexpr uint64_t kElements = (uint64_t{80} << 20) / sizeof(float) + 1;
  PlanBuilder builder;
  builder.Data("small", BufferKind::kParameter, {1, 2, 3});
  builder.Buffer("large", BufferKind::kParameter, kElements);
  SessionOptions options;
  options.stage_everything = true;
  Running running = Start(*device, builder.Build(), options);
  const std::vector<uint8_t> bytes = ToBytes(Ramp(kElements));
  REQUIRE(running.session->WritePersistent("large", bytes).ok());
  const auto back = running.session->ReadPersistent("large");
  REQUIRE(back.ok());
  CHECK(*back == bytes);
  CHECK(ToFloats(*running.session->ReadPersistent("small")) == std::vector<float>{1, 2, 3});
}

TEST_CASE("constants cannot be replaced") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  PlanBuilder builder;
  builder.Data("c", BufferKind::kConstant, {1, 2});
  Running running = Start(*device, builder.Build());
  CHECK(absl::IsInvalidArgument(running.session->WritePersistent("c", ToBytes({3, 4}))));
  CHECK(ToFloats(*running.session->ReadPersistent("c")) == std::vector<float>{1, 2});
}

TEST_CASE("two sessions of one program are independent and bit-equal") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  Running running = Start(*device, ChainPlan());
  auto other = exec::Session::Create(*running.program);
  REQUIRE(other.ok());
  std::vector<float> x;
  for (uint32_t i = 0; i < kChainElements; ++i) x.push_back(std::sin(static_cast<float>(i)));
  const std::vector<uint8_t> bytes = ToBytes(x);
  for (int i = 0; i < 3; ++i) {
    const auto a = running.session->Run({{"x", bytes}});
    const auto b = (*other)->Run({{"x", bytes}});
    REQUIRE(a.ok());
    REQUIRE(b.ok());
    CHECK(*a == *b);
  }
}

TEST_CASE("poison shows a transient that is read before it is written") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  PlanBuilder builder;
  const uint32_t x = builder.Buffer("x", BufferKind::kInput, 64);
  const uint32_t t = builder.Buffer("t", BufferKind::kTransient, 64);
  const uint32_t y = builder.Buffer("y", BufferKind::kOutput, 64);
  builder.Stage();
  builder.Affine(x, t, 1, 0, false, 63);  // one element too few
  builder.Stage();
  builder.Affine(t, y, 1, 0, false, 64);
  SessionOptions options;
  options.poison_transients = true;
  Running running = Start(*device, builder.Build(), options);
  for (int i = 0; i < 2; ++i) {
    const std::vector<float> result = RunFor(*running.session, "y", Ramp(64));
    CHECK(result[62] == Ramp(64)[62]);
    CHECK(std::isnan(result[63]));
  }
}

TEST_CASE("guards find a write outside of a buffer") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  for (bool staged : {false, true}) {
    PlanBuilder builder;
    builder.Buffer("before", BufferKind::kTransient, 8);
    const uint32_t y = builder.Buffer("victim", BufferKind::kTransient, 5);
    builder.Buffer("after", BufferKind::kTransient, 8);
    builder.Stage();
    builder.Stray(y, 5, 9);  // "victim" covers 8 elements and is padded to 64
    SessionOptions options;
    options.check_guards = true;
    options.stage_everything = staged;
    Running running = Start(*device, builder.Build(), options);
    const auto outputs = running.session->Run({});
    CHECK(absl::IsInternal(outputs.status()));
    const std::string message = Message(outputs.status());
    CHECK_MESSAGE(absl::StrContains(message, "arena 0 (transient)"), message);
    CHECK_MESSAGE(absl::StrContains(message, "16 bytes behind the end of \"victim\""), message);
  }
}

TEST_CASE("the tail guard finds a write behind the last buffer of an arena") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  PlanBuilder builder;
  const uint32_t y = builder.Buffer("last", BufferKind::kOutput, 64);
  builder.Stage();
  builder.Stray(y, 64, 1000);
  SessionOptions options;
  options.check_guards = true;
  Running running = Start(*device, builder.Build(), options);
  const auto outputs = running.session->Run({});
  CHECK(absl::IsInternal(outputs.status()));
  CHECK(absl::StrContains(Message(outputs.status()), "\"last\""));
}

TEST_CASE("timestamps measure every dispatch of every replay") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr || device->info().timestamp_period_ns == 0) return;
  const std::vector<float> x = Ramp(kChainElements);
  for (double max_submit_ms : {250.0, 1e-9}) {
    SessionOptions options;
    options.timestamps = true;
    options.max_submit_ms = max_submit_ms;
    Running running = Start(*device, ChainPlan(), options);
    for (int i = 0; i < 3; ++i) RunFor(*running.session, "y", x);
    const std::vector<exec::DispatchTime> times = running.session->profile();
    REQUIRE(times.size() == 4);
    CHECK(times[0].last_start_ns == 0);
    for (uint32_t i = 0; i < times.size(); ++i) {
      CHECK(times[i].dispatch == i);
      CHECK(times[i].count == 3);
      CHECK(times[i].last_end_ns >= times[i].last_start_ns);
      CHECK(times[i].total_ns < 10'000'000'000u);
    }
    CHECK(times[3].last_start_ns >= times[0].last_end_ns);
  }
}

TEST_CASE("options are checked") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  auto program = exec::Program::Create(*device, ChainPlan(), TinyKernels());
  REQUIRE(program.ok());
  for (uint32_t frames : {0u, 65u}) {
    const auto session = exec::Session::Create(**program, {.frames_in_flight = frames});
    CHECK(absl::IsInvalidArgument(session.status()));
  }
  for (double limit : {0.0, -1.0, std::nan("")}) {
    const auto session = exec::Session::Create(**program, {.max_submit_ms = limit});
    CHECK(absl::IsInvalidArgument(session.status()));
  }
}

TEST_CASE("too large an arena is refused with the memory report") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  PlanBuilder builder;
  builder.Buffer("giant", BufferKind::kTransient, uint64_t{1} << 44);
  auto program = exec::Program::Create(*device, builder.Build(), TinyKernels());
  REQUIRE_MESSAGE(program.ok(), program.status().ToString());
  const auto session = exec::Session::Create(**program);
  CHECK(absl::IsResourceExhausted(session.status()));
  CHECK(absl::StrContains(Message(session.status()), "giant"));
  CHECK(absl::StrContains(Message(session.status()), "heap 0"));
}

}  // namespace
}  // namespace oa::testing
