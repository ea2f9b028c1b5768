// The executor's pure planning functions: argument blocks, submits, guards, profile, report.
#include <doctest/doctest.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "executor/arguments.h"
#include "executor/guards.h"
#include "executor/io_layout.h"
#include "executor/memory_report.h"
#include "executor/pipelines.h"
#include "executor/profile.h"
#include "executor/submit_split.h"
#include "tests/executor/tiny_plan.h"

namespace oa::exec {
namespace {

using testing::ChainPlan;
using testing::PlanBuilder;
using testing::TinyKernels;

std::vector<Kernel> KernelsOf(const Plan& plan) {
  std::vector<Kernel> kernels;
  for (const PlanKernel& kernel : plan.kernels) kernels.push_back(*TinyKernels().Find(kernel.name));
  return kernels;
}

template <class T>
T Load(const std::vector<uint8_t>& bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

TEST_CASE("argument blocks hold addresses, scalars and records") {
  PlanBuilder builder;
  const uint32_t pad = builder.Buffer("pad", BufferKind::kInput, 1);
  const uint32_t x = builder.Buffer("x", BufferKind::kInput, 3);
  const uint32_t empty = builder.Buffer("empty", BufferKind::kState, 0);
  const uint32_t y = builder.Buffer("y", BufferKind::kOutput, 2);
  builder.Stage();
  builder.Affine(pad, y, 2, 3, false, 1);
  builder.SumRecords({x, empty}, y, 0.5f);
  const Plan plan = builder.Build();
  const std::vector<Kernel> kernels = KernelsOf(plan);
  const ArgumentBlocks blocks = PlaceArgumentBlocks(plan, kernels);
  REQUIRE(blocks.offsets == std::vector<uint64_t>{0, 32});
  REQUIRE(blocks.size_bytes == 32 + 16 + 2 * 16);

  std::vector<uint8_t> bytes(blocks.size_bytes, 0xEE);
  WriteArgumentBlocks(plan, kernels, blocks, {0x1000, 0x2000, 0x30000}, absl::MakeSpan(bytes));
  CHECK(Load<uint64_t>(bytes, 0) == 0x30000);
  CHECK(Load<uint64_t>(bytes, 8) == 0x30000 + 512);
  CHECK(Load<uint32_t>(bytes, 16) == 1);
  CHECK(Load<float>(bytes, 20) == 2.0f);
  CHECK(Load<float>(bytes, 24) == 3.0f);
  CHECK(Load<uint32_t>(bytes, 28) == 0);
  CHECK(Load<uint32_t>(bytes, 32 + 8) == 2);
  CHECK(Load<float>(bytes, 32 + 12) == 0.5f);
  CHECK(Load<uint64_t>(bytes, 32 + 16) == 0x30000 + 256);
  CHECK(Load<uint32_t>(bytes, 32 + 24) == 3);
  CHECK(Load<uint64_t>(bytes, 32 + 32) == 0);  // an empty buffer
  CHECK(Load<uint32_t>(bytes, 32 + 40) == 0);
}

TEST_CASE("pipelines are shared by dispatches with equal constants") {
  const PipelinePlan pipelines = PlanPipelines(ChainPlan());
  CHECK(pipelines.specs.size() == 3);
  CHECK(pipelines.of_dispatch == std::vector<uint32_t>{0, 1, 2, 0});
}

TEST_CASE("submits are cut at stage boundaries") {
  Plan plan = ChainPlan();
  for (PlanDispatch& dispatch : plan.dispatches) dispatch.flops = 20'000'000;  // 10 ms on a CPU
  SplitOptions options;
  options.is_cpu = true;
  CHECK(SplitPlan(plan, options).size() == 1);
  options.max_submit_ms = 25;
  const std::vector<SubmitChunk> chunks = SplitPlan(plan, options);
  REQUIRE(chunks.size() == 2);  // stages of 20, 10 and 10 ms
  CHECK(chunks[0].slices.size() == 1);
  CHECK(chunks[0].slices[0].dispatch_count == 2);
  CHECK(chunks[1].slices.size() == 2);
  CHECK(chunks[1].slices[1].first_dispatch == 3);
  options.max_submit_ms = 1;
  CHECK(SplitPlan(plan, options).size() == 3);
  options.is_cpu = false;
  CHECK(SplitPlan(plan, options).size() == 1);
  options.serialize = true;
  CHECK(SplitPlan(plan, options).size() == 4);
  CHECK(SplitPlan(Plan(), options).size() == 1);
  CHECK(SplitPlan(Plan(), {}).size() == 1);
}

TEST_CASE("guards are what buffers do not cover") {
  Plan plan;
  plan.arenas = {{ArenaKind::kTransient, 2048}};
  const auto add = [&](uint64_t offset, uint64_t size, const std::string& name) {
    PlanBuffer buffer;
    buffer.name = name;
    buffer.offset = offset;
    buffer.size_bytes = size;
    plan.buffers.push_back(buffer);
  };
  add(512, 100, "b");
  add(512, 300, "c");  // shares the place of b at another time
  add(256, 0, "empty");
  add(1024, 256, "d");
  add(1280, 4, "e");
  const std::vector<ByteRange> guards = GuardRanges(plan, 0, 4096);
  REQUIRE(guards.size() == 3);
  CHECK(guards[0].offset == 0);
  CHECK(guards[0].size == 512);
  CHECK(guards[1].offset == 512 + 304);
  CHECK(guards[1].size == 1024 - 816);
  CHECK(guards[2].offset == 1296);
  CHECK(guards[2].size == 4096 - 1296);

  std::vector<uint8_t> bytes(guards[1].size, kGuardByte);
  CHECK(CheckGuard(plan, 0, guards[1], bytes).ok());
  bytes[6] = 0;
  const absl::Status status = CheckGuard(plan, 0, guards[1], bytes);
  CHECK(absl::IsInternal(status));
  CHECK(absl::StrContains(status.message(), "byte 822, 10 bytes behind the end of \"c\""));
  bytes.assign(guards[0].size, kGuardByte);
  bytes[511] = 0;
  CHECK(absl::StrContains(CheckGuard(plan, 0, guards[0], bytes).message(),
                          "1 bytes in front of \"b\""));
}

TEST_CASE("staging places are aligned and only there when needed") {
  const Plan plan = ChainPlan();
  const IoLayout direct = LayoutIo(plan, false, false, 4096);
  CHECK(direct.upload_bytes.empty());
  CHECK(direct.readback_bytes.empty());
  const IoLayout staged = LayoutIo(plan, true, true, 4096);
  CHECK(staged.upload_bytes == std::vector<uint64_t>{400});
  CHECK(staged.readback_bytes == std::vector<uint64_t>{912});
  CHECK(staged.outputs[1].staging_buffer == 0);
  CHECK(staged.outputs[1].staging_offset == 512);
  CHECK(staged.outputs[1].offset == 1024);
}

TEST_CASE("values that one staging buffer cannot hold get several") {
  const Plan plan = ChainPlan();  // two outputs of 400 bytes
  CHECK(LayoutIo(plan, true, true, 912).readback_bytes == std::vector<uint64_t>{912});
  for (uint64_t limit : {uint64_t{911}, uint64_t{400}, uint64_t{1}}) {
    const IoLayout split = LayoutIo(plan, true, true, limit);
    CHECK(split.readback_bytes == std::vector<uint64_t>{400, 400});
    CHECK(split.outputs[1].staging_buffer == 1);
    CHECK(split.outputs[1].staging_offset == 0);
  }
}

TEST_CASE("a profile sums replays and survives a counter that wraps") {
  Profile profile(2, 2.0, 8);
  profile.Add({10, 20, 30, 45});
  profile.Add({250, 4, 4, 6});
  const std::vector<DispatchTime>& times = profile.times();
  CHECK(times[0].count == 2);
  CHECK(times[0].total_ns == 20 + 20);
  CHECK(times[1].total_ns == 30 + 4);
  CHECK(times[1].last_start_ns == 20);
  CHECK(times[1].last_end_ns == 24);
}

TEST_CASE("sizes are readable") {
  CHECK(HumanBytes(0) == "0 B");
  CHECK(HumanBytes(1023) == "1023 B");
  CHECK(HumanBytes(1536) == "1.5 KiB");
  CHECK(HumanBytes(uint64_t{12} << 30) == "12.0 GiB");
  CHECK(HumanBytes(UINT64_MAX) == "16.0 EiB");
}

TEST_CASE("the memory report names the largest buffers and fits a terminal") {
  PlanBuilder builder;
  builder.plan().name = std::string(200, 'p');
  for (int i = 0; i < 14; ++i) {
    const std::string name = std::string(i == 13 ? 90 : 3, 'a') + std::to_string(i);
    builder.Buffer(name, static_cast<BufferKind>(i % 6), uint64_t{100} << i);
  }
  builder.plan().buffers[13].shape = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::string report = MemoryReport(builder.Build());
  for (absl::string_view line : absl::StrSplit(report, '\n')) {
    CAPTURE(std::string(line));
    CHECK(line.size() <= 80);
  }
  CHECK(absl::StrContains(report, "aaa4 "));
  CHECK_FALSE(absl::StrContains(report, "aaa3 "));
  CHECK(absl::StrContains(report, "per replay in flight"));
  CHECK(absl::StrContains(report, "3.1 MiB"));
  CHECK_FALSE(MemoryReport(Plan()).empty());
}

}  // namespace
}  // namespace oa::exec
