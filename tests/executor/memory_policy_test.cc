// Memory types of real devices as snapshots; needs no driver.
#include "executor/memory_policy.h"

#include <doctest/doctest.h>

#include "volk.h"

namespace oa::exec {
namespace {

constexpr uint32_t kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr uint32_t kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr uint32_t kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr uint32_t kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

MemoryPolicy Choose(const MemorySnapshot& memory, uint64_t io_bytes, uint32_t allowed = ~0u) {
  const auto policy = ChooseMemory(memory, allowed, io_bytes);
  REQUIRE_MESSAGE(policy.ok(), policy.status().ToString());
  return *policy;
}

MemorySnapshot Lavapipe() {
  return {{{kLocal | kVisible | kCoherent | kCached, 0}}, {{16 * kGiB, true}}, true};
}

// `bar_bytes`: the heap of the type that is local and visible.
MemorySnapshot Nvidia(uint64_t bar_bytes) {
  return {{{0, 1},
           {kLocal, 0},
           {kVisible | kCoherent, 1},
           {kVisible | kCoherent | kCached, 1},
           {kLocal | kVisible | kCoherent, 2}},
          {{80 * kGiB, true}, {128 * kGiB, false}, {bar_bytes, true}},
          false};
}

TEST_CASE("a CPU driver works in one mapped memory") {
  const MemoryPolicy policy = Choose(Lavapipe(), kGiB);
  CHECK(policy.arena.mapped);
  CHECK(policy.io.mapped);
  CHECK_FALSE(policy.stage_inputs);
  CHECK_FALSE(policy.stage_outputs);
}

TEST_CASE("a GPU with resizable BAR takes inputs directly and copies outputs out") {
  const MemoryPolicy policy = Choose(Nvidia(80 * kGiB), kGiB);
  CHECK(policy.arena.type == 1);
  CHECK_FALSE(policy.arena.mapped);
  CHECK(policy.io.type == 4);
  CHECK(policy.io.mapped);
  CHECK(policy.arguments.type == 4);
  CHECK(policy.upload.type == 2);
  CHECK(policy.readback.type == 3);
  CHECK_FALSE(policy.stage_inputs);
  CHECK(policy.stage_outputs);
}

TEST_CASE("a small BAR is used for small inputs only") {
  CHECK_FALSE(Choose(Nvidia(256 * kMiB), 128 * kMiB).stage_inputs);
  const MemoryPolicy policy = Choose(Nvidia(256 * kMiB), 129 * kMiB);
  CHECK(policy.stage_inputs);
  CHECK(policy.io.type == 1);
  CHECK_FALSE(policy.io.mapped);
  CHECK(policy.arguments.type == 4);
}

TEST_CASE("a GPU whose memory the host cannot see stages both ways") {
  MemorySnapshot memory = Nvidia(0);
  memory.types.pop_back();
  const MemoryPolicy policy = Choose(memory, 4);
  CHECK(policy.stage_inputs);
  CHECK(policy.stage_outputs);
  CHECK(policy.io.type == 1);
  CHECK(policy.arguments.type == 2);
  CHECK(policy.arguments.mapped);
}

TEST_CASE("an integrated GPU without host caching has its outputs copied out") {
  const MemorySnapshot apu = {
      {{kLocal, 0}, {kLocal | kVisible | kCoherent, 0}, {kVisible | kCoherent | kCached, 1}},
      {{8 * kGiB, true}, {8 * kGiB, false}},
      true};
  const MemoryPolicy policy = Choose(apu, kGiB);
  CHECK(policy.arena.type == 1);
  CHECK(policy.arena.mapped);
  CHECK_FALSE(policy.stage_inputs);
  CHECK(policy.stage_outputs);
  CHECK(policy.readback.type == 2);
}

TEST_CASE("cached memory that is not coherent is still better to read") {
  const MemorySnapshot phone = {
      {{kLocal | kVisible | kCoherent, 0}, {kLocal | kVisible | kCached, 0}},
      {{4 * kGiB, true}},
      true};
  const MemoryPolicy policy = Choose(phone, kGiB);
  CHECK(policy.arena.type == 1);
  CHECK_FALSE(policy.stage_outputs);
  CHECK(policy.readback.type == 1);
  CHECK(policy.upload.type == 0);
}

TEST_CASE("types that need other features or are not allowed are left alone") {
  MemorySnapshot memory = Nvidia(80 * kGiB);
  memory.types.insert(memory.types.begin(), {kLocal | VK_MEMORY_PROPERTY_PROTECTED_BIT, 0});
  memory.types.push_back({kLocal | kVisible | kCoherent | kCached |
                              VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD |
                              VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD,
                          0});
  CHECK(Choose(memory, 4).arena.type == 2);
  CHECK(Choose(memory, 4, ~(1u << 5)).stage_inputs);
  CHECK(absl::IsFailedPrecondition(ChooseMemory(memory, 1u << 2, 4).status()));
  CHECK(absl::IsFailedPrecondition(ChooseMemory({}, ~0u, 4).status()));
}

}  // namespace
}  // namespace oa::exec
