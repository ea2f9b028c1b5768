// Every Vulkan call that can fail is made to fail once: the error must arrive as a Status and
// nothing may leak.
#include <doctest/doctest.h>

#include "absl/strings/match.h"
#include "schema/status_macros.h"
#include "tests/executor/fixture.h"

namespace oa::testing {
namespace {

using exec::Device;
using exec::SessionOptions;

// Uses everything a program and a session can do.
absl::Status Exercise(Device& device, const SessionOptions& options) {
  OA_ASSIGN_OR_RETURN(const auto program,
                      exec::Program::Create(device, ChainPlan(), TinyKernels()));
  OA_ASSIGN_OR_RETURN(const auto session, exec::Session::Create(*program, options));
  const std::vector<uint8_t> x = ToBytes(Ramp(kChainElements));
  OA_RETURN_IF_ERROR(session->Run({{"x", x}}).status());
  OA_RETURN_IF_ERROR(session->Submit({{"x", x}}).status());
  OA_RETURN_IF_ERROR(session->ReadPersistent("sum").status());
  OA_RETURN_IF_ERROR(session->WritePersistent("sum", x));
  OA_RETURN_IF_ERROR(session->Reset());
  return session->Run({{"x", x}}).status();
}

// Pipeline cache failures are misses; all others must show.
void FailEveryCall(const SessionOptions& options, bool serialize) {
  const TemporaryFolder folder;
  exec::DeviceOptions device_options;
  device_options.serialize = serialize;
  device_options.cache_folder = folder.path();
  uint64_t total = 0;
  {
    const std::unique_ptr<Device> device = OpenDevice(device_options);
    if (device == nullptr) return;
    const absl::Status status = Exercise(*device, options);
    REQUIRE_MESSAGE(status.ok(), status.ToString());
    CHECK(device->live_objects() == 0);
    total = device->vulkan_calls();
  }
  REQUIRE(total > 20);
  int survived = 0;
  for (uint64_t n = 1; n <= total; ++n) {
    CAPTURE(n);
    device_options.fail_call = n;
    const std::unique_ptr<Device> device = OpenDevice(device_options);
    const absl::Status status = Exercise(*device, options);
    CHECK(device->live_objects() == 0);
    if (status.ok()) {
      ++survived;
    } else {
      CHECK_MESSAGE(absl::IsResourceExhausted(status), status.ToString());
      CHECK_MESSAGE(absl::StrContains(status.message(), "VK_ERROR_OUT_OF_DEVICE_MEMORY"),
                    status.ToString());
    }
  }
  CHECK(survived <= 3);
}

TEST_CASE("every failing call becomes a status: host-visible memory") {
  FailEveryCall({.timestamps = true}, false);
}

TEST_CASE("every failing call becomes a status: staging, guards and several submits") {
  SessionOptions options;
  options.stage_everything = true;
  options.poison_transients = true;
  options.check_guards = true;
  options.timestamps = true;
  options.max_submit_ms = 1e-9;
  FailEveryCall(options, false);
}

TEST_CASE("every failing call becomes a status: serialized") {
  FailEveryCall({.frames_in_flight = 1}, true);
}

TEST_CASE("a replay that failed half way ends the session, one that never began does not") {
  SessionOptions options;
  options.max_submit_ms = 1e-9;
  const std::vector<uint8_t> x = ToBytes(Ramp(kChainElements));
  uint64_t before = 0;
  {
    const std::unique_ptr<Device> device = OpenDevice();
    if (device == nullptr) return;
    Running running = Start(*device, ChainPlan(), options);
    before = device->vulkan_calls();
  }
  {
    const std::unique_ptr<Device> device = OpenDevice({.fail_call = before + 1});
    Running running = Start(*device, ChainPlan(), options);
    CHECK(absl::IsResourceExhausted(running.session->Run({{"x", x}}).status()));
    CHECK(RunFor(*running.session, "total", Ramp(kChainElements)) ==
          ChainTotal(Ramp(kChainElements), 1));
  }
  {
    const std::unique_ptr<Device> device = OpenDevice({.fail_call = before + 2});
    Running running = Start(*device, ChainPlan(), options);
    CHECK(absl::IsResourceExhausted(running.session->Run({{"x", x}}).status()));
    CHECK(absl::IsFailedPrecondition(running.session->Run({{"x", x}}).status()));
    CHECK(absl::IsFailedPrecondition(running.session->ReadPersistent("sum").status()));
  }
}

// The calls that Start makes for ChainPlan.
uint64_t CallsOfStart(bool serialize) {
  const std::unique_ptr<Device> device = OpenDevice({.serialize = serialize});
  if (device == nullptr) return 0;
  const Running running = Start(*device, ChainPlan());
  return device->vulkan_calls();
}

TEST_CASE("a lost device names what was submitted and ends the session") {
  const std::vector<uint8_t> x = ToBytes(Ramp(kChainElements));
  for (bool serialize : {false, true}) {
    const uint64_t before = CallsOfStart(serialize);
    if (before == 0) return;
    // The wait that follows the first submit.
    const std::unique_ptr<Device> device =
        OpenDevice({.serialize = serialize, .fail_call = before + 2, .fail_as_lost = true});
    Running running = Start(*device, ChainPlan());
    const absl::Status lost = running.session->Run({{"x", x}}).status();
    CHECK(absl::IsUnavailable(lost));
    const std::string message(lost.message());
    CAPTURE(message);
    CHECK(absl::StrContains(message, "VK_ERROR_DEVICE_LOST"));
    CHECK(absl::StrContains(message, "dispatch 0 (affine, kernel affine)"));
    CHECK(absl::StrContains(message, "dispatch 3 (affine, kernel affine)") == !serialize);
    CHECK(absl::StrContains(message, "--serialize") == !serialize);
    CHECK(absl::IsFailedPrecondition(running.session->Run({{"x", x}}).status()));
    CHECK(absl::IsFailedPrecondition(running.session->Reset()));
  }
}

TEST_CASE("a wait that failed can be repeated") {
  const std::vector<uint8_t> x = ToBytes(Ramp(kChainElements));
  uint64_t before = 0;
  {
    const std::unique_ptr<Device> device = OpenDevice();
    if (device == nullptr) return;
    Running running = Start(*device, ChainPlan());
    REQUIRE(running.session->Submit({{"x", x}}).ok());
    before = device->vulkan_calls();
  }
  const std::unique_ptr<Device> device = OpenDevice({.fail_call = before + 1});
  Running running = Start(*device, ChainPlan());
  const auto ticket = running.session->Submit({{"x", x}});
  REQUIRE(ticket.ok());
  CHECK(absl::IsResourceExhausted(running.session->Wait(*ticket).status()));
  const auto outputs = running.session->Wait(*ticket);
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
  CHECK(ToFloats(outputs->at("y")) == ChainY(Ramp(kChainElements)));
}

}  // namespace
}  // namespace oa::testing
