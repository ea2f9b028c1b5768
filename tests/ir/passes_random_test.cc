// Random programs with partial slices, in-place updates and every kind of dispatch: no pass may
// change what the host can observe.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "ir/passes/finish_elementwise.h"
#include "ir/passes/fuse.h"
#include "ir/passes/place.h"
#include "ir/passes/schedule.h"
#include "tests/ir/interpreter.h"
#include "tests/ir/program_fixture.h"

namespace oa::ir {
namespace {

constexpr uint64_t kElements = 16;

bool SameBits(const Observed& a, const Observed& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second.size() != values.size()) return false;
    if (std::memcmp(values.data(), other->second.data(), values.size() * 4) != 0) return false;
  }
  return true;
}

class RandomProgram {
 public:
  RandomProgram(const KernelPack& pack, uint32_t seed) : f_(pack), random_(seed) {
    for (const char* name : {"x", "y"}) AddReadable(f_.Input(name, kElements), false);
    for (const char* name : {"p", "q"}) {
      AddReadable(f_.Buffer(BufferKind::kParameter, name, kElements), true);
    }
    small_ = f_.Input("small", 4);
    const int steps = 5 + Pick(40);
    for (int i = 0; i < steps; ++i) Step();
    AddOutputs();
  }

  Program Take() { return std::move(f_.program); }

 private:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  // A buffer and both of its halves.
  void AddReadable(BufferSlice whole, bool writable) {
    const uint64_t half = whole.size_bytes / 2;
    for (BufferSlice slice :
         {whole, BufferSlice{whole.buffer, 0, half}, BufferSlice{whole.buffer, half, half}}) {
      readable_.push_back(slice);
      if (writable) writable_.push_back(slice);
    }
  }

  BufferSlice Readable(uint64_t bytes) {
    while (true) {
      const BufferSlice slice = readable_[Pick(static_cast<int>(readable_.size()))];
      if (slice.size_bytes == bytes) return slice;
    }
  }

  // Where a result goes: mostly fresh memory, otherwise something that exists.
  BufferSlice Target(uint64_t bytes, bool& fresh) {
    fresh = Pick(4) != 0;
    if (fresh) return f_.Transient(bytes / 4);
    while (true) {
      const BufferSlice slice = writable_[Pick(static_cast<int>(writable_.size()))];
      if (slice.size_bytes == bytes) return slice;
    }
  }

  EwInput AnyInput(uint64_t bytes) {
    switch (Pick(6)) {
      case 0:
        return ProgramFixture::Scalar(Readable(bytes));
      case 1:
        return ProgramFixture::Periodic(small_, Pick(2) == 0 ? 1 : 4);
      case 2:
        return ProgramFixture::Linear(Readable(bytes), OA_EW_TYPE_RAW);
      default:
        return ProgramFixture::Linear(Readable(bytes));
    }
  }

  void Step() {
    const uint64_t bytes = Pick(4) == 0 ? kElements * 2 : kElements * 4;
    bool fresh = false;
    const BufferSlice out = Target(bytes, fresh);
    const size_t before = f_.program.dispatches.size();
    switch (Pick(6)) {
      case 5:
        f_.Norm(out, Readable(bytes), Readable(bytes));
        break;
      case 0:
        f_.Product(out, Readable(bytes), Readable(bytes));
        break;
      case 1:
        f_.Update(writable_[0], Readable(kElements * 4), Readable(bytes));
        break;
      case 2:
        f_.Op(Pick(2) == 0 ? OA_EW_NEG : OA_EW_SCALE, out, AnyInput(bytes), 0.5f);
        break;
      default:
        f_.Op2(Pick(2) == 0 ? OA_EW_ADD : OA_EW_RELU_BWD, out, AnyInput(bytes), AnyInput(bytes));
    }
    if (f_.program.dispatches.size() == before) return;
    // Lowerings never write such dispatches.
    if (!EwOk(f_.program.dispatches.back()) || SelfConflict(f_.program.dispatches.back())) {
      f_.program.dispatches.pop_back();
      return;
    }
    const bool wrote_out = f_.program.dispatches.back().label != "update";
    if (fresh && wrote_out) AddReadable(out, true);
  }

  bool EwOk(const Dispatch& dispatch) {
    Program probe = f_.program;
    probe.dispatches = {dispatch};
    for (PlanBuffer& buffer : probe.buffers) {
      if (buffer.kind == BufferKind::kTransient) buffer.kind = BufferKind::kState;
    }
    return VerifyProgram(probe, "test").ok();
  }

  // An update whose gradient or rate is its parameter.
  static bool SelfConflict(const Dispatch& dispatch) {
    if (dispatch.elementwise || dispatch.epilogue) return false;  // EwOk has looked
    const std::vector<Touch> touches = Touches(dispatch);
    for (size_t a = 0; a < touches.size(); ++a) {
      for (size_t b = a + 1; b < touches.size(); ++b) {
        const bool write = Writes(touches[a].access) || Writes(touches[b].access);
        if (write && Overlap(touches[a].slice, touches[b].slice)) return true;
      }
    }
    return false;
  }

  // Some of the transients become outputs.
  void AddOutputs() {
    std::vector<bool> written(f_.program.buffers.size());
    for (const Dispatch& dispatch : f_.program.dispatches) {
      for (const Touch& touch : Touches(dispatch)) {
        if (Writes(touch.access)) written[touch.slice.buffer] = true;
      }
    }
    for (uint32_t b = 0; b < f_.program.buffers.size(); ++b) {
      PlanBuffer& buffer = f_.program.buffers[b];
      if (buffer.kind != BufferKind::kTransient || !written[b] || Pick(4) != 0) continue;
      buffer.kind = BufferKind::kOutput;
      f_.program.outputs.push_back({buffer.name, b, F32, buffer.shape});
    }
    DropUnusedTransients(f_.program);
  }

  ProgramFixture f_;
  std::mt19937 random_;
  BufferSlice small_;
  std::vector<BufferSlice> readable_;
  std::vector<BufferSlice> writable_;
};

// A random order of the dispatches inside each stage.
std::vector<size_t> Shuffled(const Program& program, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<size_t> order(program.dispatches.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return program.dispatches[a].stage < program.dispatches[b].stage;
  });
  return order;
}

#define OA_CHECK_UNCHANGED(pass, order)                                                     \
  do {                                                                                      \
    const absl::Status status = VerifyProgram(program, pass);                               \
    REQUIRE_MESSAGE(status.ok(), status.ToString(), "\n", DumpProgram(program));            \
    REQUIRE_MESSAGE(SameBits(expected, Interpret(program, order)), pass, " of\n", original, \
                    "gave\n", DumpProgram(program));                                        \
  } while (false)

// How many dispatches the rules made, by the rules.
using Fusions = std::map<std::string, size_t>;

void CheckPasses(const KernelPack& pack, uint32_t seed, bool fuse, Fusions& fusions) {
  INFO("seed ", seed);
  Program program = RandomProgram(pack, seed).Take();
  const std::string original = DumpProgram(program);
  const Observed expected = Interpret(program);
  DeviceProfile profile;
  OA_CHECK_UNCHANGED("generate", {});
  if (fuse) {
    for (const FusionNote& note : Fuse(program, profile)) ++fusions[note.rule];
  }
  OA_CHECK_UNCHANGED("fuse", {});
  Schedule(program);
  OA_CHECK_UNCHANGED("schedule", Shuffled(program, seed));
  REQUIRE(Place(program, profile, {seed % 3 != 0, seed % 2 * 256}).ok());
  OA_CHECK_UNCHANGED("place", Shuffled(program, seed + 1));
  const absl::Status finished = FinishElementwise(program, pack, profile);
  REQUIRE_MESSAGE(finished.ok(), finished.ToString());
  OA_CHECK_UNCHANGED("finish", Shuffled(program, seed + 2));
}

TEST_CASE("passes do not change what a program computes") {
  const KernelPack pack = FakePack();
  Fusions fusions;
  for (uint32_t seed = 0; seed < 600; ++seed) CheckPasses(pack, seed, seed % 8 != 0, fusions);
  // The programs are worth something.
  for (const char* rule : {"chain", "epilogue", "epilogue, prologue", "prologue", "sibling"}) {
    CHECK_MESSAGE(fusions[rule] > 10, rule, ": ", fusions[rule]);
  }
}

}  // namespace
}  // namespace oa::ir
