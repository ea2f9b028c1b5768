#include "ir/passes/place.h"

#include <doctest/doctest.h>

#include <random>

#include "absl/strings/match.h"
#include "ir/passes/packing.h"
#include "ir/passes/schedule.h"
#include "tests/ir/program_fixture.h"

namespace oa::ir {
namespace {

// A chain of `length` products over buffers of `elements`.
void AddChain(ProgramFixture& f, int length, uint64_t elements) {
  auto value = f.Input("x", elements);
  for (int i = 0; i < length; ++i) {
    const auto next = i + 1 == length ? f.Output("y", elements) : f.Transient(elements);
    f.Product(next, value, value);
    value = next;
  }
}

TEST_CASE("a chain needs room for two of its values") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  AddChain(f, 20, 100);
  Schedule(f.program);
  REQUIRE(Place(f.program, DeviceProfile(), {}).ok());
  f.Verify("place");
  CHECK_EQ(TransientBytes(f.program), 2 * 512);
}

TEST_CASE("tests can give every buffer its own place with guards between") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  AddChain(f, 5, 100);
  Schedule(f.program);
  REQUIRE(Place(f.program, DeviceProfile(), {false, 1024}).ok());
  f.Verify("place");
  CHECK_EQ(TransientBytes(f.program), 4 * (512 + 1024));
  for (const PlanArena& arena : f.program.arenas) CHECK_GE(arena.size_bytes, 512 + 1024);
}

TEST_CASE("arenas are split at the largest allocation") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 64), y = f.Output("y", 64);
  EwProgram reader;
  reader.count = 64;
  reader.outputs = {{0, y}};
  for (int i = 0; i < 5; ++i) {
    const auto value = f.Transient(64);
    f.Product(value, x, x);
    reader.inputs.push_back(ProgramFixture::Linear(value));
    f.Buffer(BufferKind::kParameter, absl::StrCat("p", i), 64);
  }
  f.Add("reader", reader);
  Schedule(f.program);
  DeviceProfile profile;
  profile.max_allocation_bytes = 600;  // two buffers of 256 bytes
  REQUIRE(Place(f.program, profile, {}).ok());
  f.Verify("place");
  int arenas[3] = {0, 0, 0};
  for (const PlanArena& arena : f.program.arenas) {
    CHECK_LE(arena.size_bytes, 600);
    ++arenas[static_cast<int>(arena.kind)];
  }
  CHECK_EQ(arenas[0], 3);
  CHECK_EQ(arenas[1], 3);
  CHECK_EQ(arenas[2], 1);
}

TEST_CASE("a buffer above the largest allocation is named") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  f.Buffer(BufferKind::kParameter, "embedding", 1000);
  DeviceProfile profile;
  profile.name = "tiny";
  profile.max_allocation_bytes = 1024;
  const absl::Status status = Place(f.program, profile, {});
  CHECK_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  for (const char* part : {"embedding", "f32[1000]", "4000", "1024", "tiny"}) {
    CHECK_MESSAGE(absl::StrContains(status.message(), part), status.ToString());
  }
}

TEST_CASE("empty buffers take no room but have an arena of their kind") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  f.Input("x", 0);
  f.Buffer(BufferKind::kState, "s", 0);
  REQUIRE(Place(f.program, DeviceProfile(), {}).ok());
  f.Verify("place");
  REQUIRE_EQ(f.program.arenas.size(), 2);
  for (const PlanArena& arena : f.program.arenas) CHECK_EQ(arena.size_bytes, 0);
}

TEST_CASE("io and persistent buffers live in all stages") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  AddChain(f, 3, 8);
  Schedule(f.program);
  REQUIRE(Place(f.program, DeviceProfile(), {}).ok());
  for (const PlanBuffer& buffer : f.program.buffers) {
    if (buffer.kind == BufferKind::kTransient) continue;
    CHECK_EQ(buffer.first_stage, 0);
    CHECK_EQ(buffer.last_stage, 2);
  }
}

// Stages 0..2 hold {a, b}, {b, c}, {c, d} with b and c large: by size alone c would sit above b
// and push the total up in some orders; the best total is that of the broadest stage.
TEST_CASE("packing reaches the breadth of the broadest stage on simple cases") {
  const std::vector<PackItem> items = {{256, 0, 0}, {1024, 0, 1}, {1024, 1, 2}, {256, 2, 2}};
  const Packing packing = PackByLifetime(items, 1 << 20);
  CHECK_EQ(packing.TotalBytes(), 2048);
}

TEST_CASE("random packings are disjoint and within their chunks") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<PackItem> items;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<uint32_t>(random() % 20);
      items.push_back(
          {256 * (1 + random() % 12), first, first + static_cast<uint32_t>(random() % 6)});
    }
    const uint64_t limit = round % 2 == 0 ? 4096 : uint64_t{1} << 30;
    const Packing packing = PackByLifetime(items, limit);
    CHECK_LE(packing.TotalBytes(), PackInOrder(items, uint64_t{1} << 30).TotalBytes());
    for (size_t a = 0; a < items.size(); ++a) {
      const PackPlace& place = packing.places[a];
      const uint64_t end = place.offset + items[a].bytes;
      REQUIRE_LE(end, packing.chunk_bytes[place.chunk]);
      REQUIRE_LE(packing.chunk_bytes[place.chunk], limit);
      for (size_t b = 0; b < a; ++b) {
        const PackPlace& other = packing.places[b];
        const bool meet = items[a].first_stage <= items[b].last_stage &&
                          items[b].first_stage <= items[a].last_stage;
        const bool overlap = place.chunk == other.chunk &&
                             place.offset < other.offset + items[b].bytes && other.offset < end;
        REQUIRE_FALSE((meet && overlap));
      }
    }
  }
}

TEST_CASE("packing is quick for thousands of buffers") {
  std::vector<PackItem> items;
  for (uint32_t i = 0; i < 4000; ++i) {
    items.push_back({256 * (1 + i * 7919 % 13), i, i + 1 + i % 5});
  }
  CHECK_GT(PackByLifetime(items, uint64_t{1} << 30).TotalBytes(), 0);
}

}  // namespace
}  // namespace oa::ir
