#include "schema/plan.h"

#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "flatbuffers/flatbuffers.h"
#include "schema/container.h"
#include "schema/plan_generated.h"

namespace oa {
namespace {

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

Blob Zeros(size_t size) { return Blob::Own(std::vector<uint8_t>(size)); }

PlanBuffer MakeBuffer(std::string name, BufferKind kind, uint64_t count, uint32_t arena,
                      uint64_t offset) {
  PlanBuffer buffer;
  buffer.name = std::move(name);
  buffer.kind = kind;
  buffer.shape = {count};
  buffer.size_bytes = count * 4;
  buffer.arena = arena;
  buffer.offset = offset;
  return buffer;
}

PlanArgument Use(uint32_t buffer, Access access, uint64_t size, uint64_t offset = 0) {
  return {ArgumentKind::kBuffer, buffer, offset, size, access, 0};
}
PlanArgument Number(uint32_t bits) { return {ArgumentKind::kU32, 0, 0, 0, Access::kRead, bits}; }
PlanArgument Real(uint32_t bits) { return {ArgumentKind::kF32, 0, 0, 0, Access::kRead, bits}; }

KernelPack MakePack() {
  Kernel scale;
  scale.name = scale.base = "scale_f32";
  scale.digest = 11;
  scale.arguments = {{"x", ArgumentKind::kBuffer, Access::kRead, 4, "count"},
                     {"y", ArgumentKind::kBuffer, Access::kWrite, 4, "count * max(1, repeat)"},
                     {"count", ArgumentKind::kU32, Access::kRead, 4, ""},
                     {"alpha", ArgumentKind::kF32, Access::kRead, 4, ""}};
  scale.constants = {{"repeat", 1}, {"mode", 2}};
  Kernel sgd;
  sgd.name = sgd.base = "sgd_f32";
  sgd.digest = 22;
  sgd.arguments = {{"record_count", ArgumentKind::kU32, Access::kRead, 4, ""}};
  sgd.records = {{"w", ArgumentKind::kBuffer, Access::kReadWrite, 4, "count"},
                 {"count", ArgumentKind::kU32, Access::kRead, 4, ""}};
  return KernelPack({scale, sgd}, "c");
}

enum : uint32_t { kX, kY, kH, kG, kW, kS, kC };

// x -> h -> g -> y through three stages; the first stage also trains w and s.
Plan MakePlan() {
  Plan plan;
  plan.name = "toy";
  plan.graph_identity = 0x0123456789abcdef;
  plan.arenas = {
      {ArenaKind::kTransient, 1024}, {ArenaKind::kPersistent, 768}, {ArenaKind::kIo, 1024}};
  plan.buffers = {MakeBuffer("x", BufferKind::kInput, 100, 2, 0),
                  MakeBuffer("y", BufferKind::kOutput, 100, 2, 512),
                  MakeBuffer("h", BufferKind::kTransient, 100, 0, 0),
                  MakeBuffer("g", BufferKind::kTransient, 100, 0, 512),
                  MakeBuffer("w", BufferKind::kParameter, 8, 1, 0),
                  MakeBuffer("s", BufferKind::kState, 8, 1, 256),
                  MakeBuffer("c", BufferKind::kConstant, 8, 1, 512)};
  plan.buffers[kH].last_stage = 1;
  plan.buffers[kG].first_stage = 1;
  plan.buffers[kG].last_stage = 2;
  plan.buffers[kW].init = InitKind::kData;
  plan.buffers[kW].data = Zeros(32);
  plan.buffers[kS].fill_bits = 0x3f800000;
  plan.kernels = {{"scale_f32", 11}, {"sgd_f32", 22}};
  const auto scale = [](const char* label, uint32_t from, uint32_t to) {
    PlanDispatch d;
    d.arguments = {Use(from, Access::kRead, 400), Use(to, Access::kWrite, 400), Number(100),
                   Real(0x3f000000)};
    d.constants = {1, 0};
    d.label = label;
    return d;
  };
  PlanDispatch train;
  train.kernel = 1;
  train.label = "sgd";
  train.arguments = {Number(2), Use(kW, Access::kReadWrite, 32), Number(8),
                     Use(kS, Access::kReadWrite, 32), Number(8)};
  train.nodes = {4, 5};
  train.flops = 32;
  plan.dispatches = {scale("a", kX, kH), train, scale("b", kH, kG), scale("c", kG, kY)};
  plan.stages = {{StageKind::kDispatches, 0, 2},
                 {StageKind::kDispatches, 2, 1},
                 {StageKind::kDispatches, 3, 1}};
  plan.inputs = {{"x", kX, F32, {100}}};
  plan.outputs = {{"y", kY, F32, {10, 10}}};
  TestVector vector;
  vector.name = "basic";
  vector.inputs = {{"x", Zeros(400), 0, 0}};
  vector.outputs = {{"y", Zeros(400), 1e-5f, 1e-6f}};
  plan.test_vectors = {vector};
  return plan;
}

struct Damage {
  const char* reason;
  std::function<void(Plan&)> apply;
};

// Each must be refused in memory and, when it can be stored, after a trip through a file.
void CheckRefused(const std::vector<Damage>& damages) {
  for (const Damage& damage : damages) {
    CAPTURE(damage.reason);
    Plan plan = MakePlan();
    damage.apply(plan);
    const absl::Status status = VerifyPlan(plan, "t.oax");
    CHECK(absl::IsDataLoss(status));
    CHECK_MESSAGE(Mentions(status, damage.reason), status.ToString());
    CHECK(Mentions(status, "'t.oax'"));
    CHECK(absl::IsDataLoss(ParsePlan(Blob::Own(SerializePlan(plan)), "t.oax").status()));
  }
}

}  // namespace

TEST_CASE("a plan survives the round trip") {
  Plan plan = MakePlan();
  plan.bundled_pack = Zeros(10);
  REQUIRE(VerifyPlan(plan, "t.oax").ok());
  const std::vector<uint8_t> file = SerializePlan(plan);
  CHECK(file == SerializePlan(plan));
  const absl::StatusOr<Plan> back = ParsePlan(Blob::Own(file), "t.oax");
  REQUIRE_MESSAGE(back.ok(), back.status().ToString());
  CHECK(SerializePlan(*back) == file);
  CHECK(DumpPlan(*back) == DumpPlan(plan));
  CHECK(back->bundled_pack.size() == 10);
  CHECK(back->dispatches[1].nodes == plan.dispatches[1].nodes);
  CHECK(back->FindPersistent("s") == kS);
  CHECK(back->FindPersistent("x") == -1);
  CHECK(VerifyPlanKernels(*back, MakePack(), "t.oax").ok());
}

TEST_CASE("an empty plan is legal") {
  CHECK(VerifyPlan(Plan(), "t.oax").ok());
  CHECK(ParsePlan(Blob::Own(SerializePlan(Plan())), "t.oax").ok());
}

TEST_CASE("the dump is stable") {
  CHECK(DumpPlan(MakePlan()) ==
        R"(plan "toy" graph 0123456789abcdef profile "portable"
arena 0 transient 1024 bytes
arena 1 persistent 768 bytes
arena 2 io 1024 bytes
buffer 0 input "x" f32[100] 400 bytes at 2:0
buffer 1 output "y" f32[100] 400 bytes at 2:512
buffer 2 transient "h" f32[100] 400 bytes at 0:0 stages 0-1
buffer 3 transient "g" f32[100] 400 bytes at 0:512 stages 1-2
buffer 4 parameter "w" f32[8] 32 bytes at 1:0 data a057271c9071c99d
buffer 5 state "s" f32[8] 32 bytes at 1:256 fill 0x3f800000
buffer 6 constant "c" f32[8] 32 bytes at 1:512 fill 0x00000000
input "x" f32[100] in x#0
output "y" f32[10, 10] in y#1
stage 0
  0 scale_f32 "a" grid 1x1x1 constants [1] (r x#0, w h#2, 100, 0.5f)
  1 sgd_f32 "sgd" grid 1x1x1 (2, rw w#4, 8, rw s#5, 8)
stage 1
  2 scale_f32 "b" grid 1x1x1 constants [1] (r h#2, w g#3, 100, 0.5f)
stage 2
  3 scale_f32 "c" grid 1x1x1 constants [1] (r g#3, w y#1, 100, 0.5f)
test "basic" replays 1 inputs 1 outputs 1
)");
}

TEST_CASE("buffers outside their arenas are refused") {
  CheckRefused({
      {"arena 3 of 3", [](Plan& p) { p.buffers[kH].arena = 3; }},
      {"of another kind", [](Plan& p) { p.buffers[kH].arena = 1; }},
      {"of another kind", [](Plan& p) { p.buffers[kX].arena = 0; }},
      {"of another kind", [](Plan& p) { p.buffers[kW].kind = BufferKind::kTransient; }},
      {"multiple of 256", [](Plan& p) { p.buffers[kG].offset = 520; }},
      {"bytes of arena 0", [](Plan& p) { p.buffers[kG].offset = 768; }},
      {"bytes of arena 0", [](Plan& p) { p.buffers[kG].offset = UINT64_MAX - 255; }},
      {"bytes of arena 2", [](Plan& p) { p.arenas[2].size_bytes = 912; }},
      {"the limit is", [](Plan& p) { p.arenas[0].size_bytes = UINT64_MAX; }},
      {"its type f32[99] takes 396", [](Plan& p) { p.buffers[kH].shape = {99}; }},
      {"rank 9", [](Plan& p) { p.buffers[kH].shape = Shape(9, 1); }},
      {"64 bits", [](Plan& p) { p.buffers[kH].shape = Shape(8, 1u << 20); }},
      {"lives in stages 2 to 1", [](Plan& p) { p.buffers[kH].first_stage = 2; }},
      {"lives in stages 1 to 3", [](Plan& p) { p.buffers[kG].last_stage = 3; }},
  });
}

TEST_CASE("overlapping places are refused while both buffers live") {
  CheckRefused({
      {"overlaps buffers[2] 'h'", [](Plan& p) { p.buffers[kG].offset = 256; }},
      {"overlaps buffers[2] 'h'", [](Plan& p) { p.buffers[kG].offset = 0; }},
      {"overlaps buffers[0] 'x'", [](Plan& p) { p.buffers[kY].offset = 256; }},
      {"overlaps buffers[5] 's'", [](Plan& p) { p.buffers[kC].offset = 256; }},
  });
  // The same place at different times is what planning is for.
  Plan plan = MakePlan();
  plan.buffers[kH].last_stage = 0;
  plan.buffers[kG].offset = 0;
  plan.dispatches[2].arguments[0].buffer = kX;
  CHECK(VerifyPlan(plan, "t.oax").ok());
  // An empty buffer overlaps nothing.
  plan = MakePlan();
  plan.buffers.push_back(MakeBuffer("nothing", BufferKind::kTransient, 0, 0, 0));
  CHECK(VerifyPlan(plan, "t.oax").ok());
}

TEST_CASE("the placement sweep agrees with comparing every pair") {
  std::mt19937 random(7);
  const auto upto = [&](uint32_t n) { return static_cast<uint32_t>(random() % (n + 1)); };
  int good = 0;
  for (int round = 0; round < 500; ++round) {
    Plan plan;
    plan.arenas = {{ArenaKind::kTransient, 256 * 24}, {ArenaKind::kTransient, 256 * 24}};
    plan.stages.resize(8);
    for (int i = 0; i < 6; ++i) {
      PlanBuffer b = MakeBuffer("b", BufferKind::kTransient, 64 * upto(4), upto(1), 256 * upto(20));
      b.first_stage = upto(7);
      b.last_stage = b.first_stage + upto(7 - b.first_stage);
      plan.buffers.push_back(b);
    }
    bool overlap = false;
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const PlanBuffer& a = plan.buffers[i];
        const PlanBuffer& b = plan.buffers[j];
        overlap |= a.arena == b.arena && a.size_bytes > 0 && b.size_bytes > 0 &&
                   a.offset < b.offset + b.size_bytes && b.offset < a.offset + a.size_bytes &&
                   a.first_stage <= b.last_stage && b.first_stage <= a.last_stage;
      }
    }
    good += !overlap;
    CHECK(VerifyPlan(plan, "t.oax").ok() == !overlap);
  }
  CHECK(good > 50);
  CHECK(good < 450);
}

TEST_CASE("names, initial contents, inputs and outputs are checked") {
  CheckRefused({
      {"has no name", [](Plan& p) { p.buffers[kW].name = ""; }},
      {"name of an earlier buffer", [](Plan& p) { p.buffers[kS].name = "w"; }},
      {"28 bytes of data for 32", [](Plan& p) { p.buffers[kW].data = Zeros(28); }},
      {"has data although", [](Plan& p) { p.buffers[kS].data = Zeros(32); }},
      {"has data although", [](Plan& p) { p.buffers[kH].init = InitKind::kData; }},
      {"inputs[0] has no name", [](Plan& p) { p.inputs[0].name = ""; }},
      {"inputs[1] has the name 'x'", [](Plan& p) { p.inputs.push_back(p.inputs[0]); }},
      {"inputs[1] names the buffer of an earlier",
       [](Plan& p) {
         p.inputs.push_back(p.inputs[0]);
         p.inputs[1].name = "x2";
       }},
      {"names buffer 7 of 7", [](Plan& p) { p.inputs[0].buffer = 7; }},
      {"names buffer 2, a transient", [](Plan& p) { p.outputs[0].buffer = kH; }},
      {"its type f32[3] takes 12", [](Plan& p) { p.outputs[0].shape = {3}; }},
      {"no entry of inputs",
       [](Plan& p) {
         p.inputs.clear();
         p.test_vectors.clear();
       }},
      {"kernels[0] has no name", [](Plan& p) { p.kernels[0].name = ""; }},
  });
}

TEST_CASE("stages must tile the dispatches") {
  CheckRefused({
      {"stages[1] starts at dispatch 1", [](Plan& p) { p.stages[1].first_dispatch = 1; }},
      {"stages[2] ends at dispatch 5 of 4", [](Plan& p) { p.stages[2].dispatch_count = 2; }},
      {"ends at dispatch", [](Plan& p) { p.stages[2].dispatch_count = UINT32_MAX; }},
      {"dispatches[3] belongs to no stage", [](Plan& p) { p.stages[2].dispatch_count = 0; }},
      {"stages[0] has an unknown kind",
       [](Plan& p) { p.stages[0].kind = static_cast<StageKind>(1); }},
  });
}

TEST_CASE("dispatches outside their buffers are refused") {
  CheckRefused({
      {"names kernel 2 of 2", [](Plan& p) { p.dispatches[0].kernel = 2; }},
      {"axis of 0", [](Plan& p) { p.dispatches[0].grid[1] = 0; }},
      {"names buffer 7 of 7", [](Plan& p) { p.dispatches[0].arguments[0].buffer = 7; }},
      {"takes 401 bytes", [](Plan& p) { p.dispatches[0].arguments[0].size_bytes = 401; }},
      {"at 16 of the 400", [](Plan& p) { p.dispatches[0].arguments[0].offset = 16; }},
      {"takes 18446744073709551600 bytes",
       [](Plan& p) {
         p.dispatches[0].arguments[0] = Use(kX, Access::kRead, uint64_t{0} - 16, 32);
       }},
      {"multiple of 16",
       [](Plan& p) { p.dispatches[0].arguments[0] = Use(kX, Access::kRead, 4, 8); }},
      {"writes input buffer 0 'x'",
       [](Plan& p) { p.dispatches[0].arguments[0].access = Access::kReadWrite; }},
      {"writes constant buffer 6 'c'", [](Plan& p) { p.dispatches[1].arguments[1].buffer = kC; }},
      {"unknown kind or access",
       [](Plan& p) { p.dispatches[0].arguments[0].access = static_cast<Access>(3); }},
  });
}

TEST_CASE("order of reads and writes is checked") {
  CheckRefused({
      {"outside its lifetime", [](Plan& p) { p.buffers[kH].first_stage = 1; }},
      {"outside its lifetime", [](Plan& p) { p.buffers[kG].last_stage = 1; }},
      {"reads, before", [](Plan& p) { p.dispatches[2].arguments[0].buffer = kY; }},
      {"reads, before", [](Plan& p) { p.dispatches[2].arguments[1].access = Access::kReadWrite; }},
      {"outputs[0] 'y' is never written", [](Plan& p) { p.dispatches[3].arguments.clear(); }},
  });
}

TEST_CASE("conflicts inside a stage are refused") {
  // Both dispatches of stage 0 touch w.
  const auto share = [](Access first, Access second, uint64_t second_offset) {
    Plan plan = MakePlan();
    plan.dispatches[0].arguments = {Use(kX, Access::kRead, 400), Use(kH, Access::kWrite, 400),
                                    Use(kW, first, 16)};
    plan.dispatches[1].arguments = {Use(kW, second, 16, second_offset)};
    return VerifyPlan(plan, "t.oax");
  };
  using enum Access;
  CHECK(share(kRead, kRead, 0).ok());
  CHECK(share(kWrite, kWrite, 16).ok());
  CHECK(share(kReadWrite, kRead, 16).ok());
  for (const auto& [a, b] :
       {std::pair{kRead, kWrite}, {kWrite, kRead}, {kWrite, kWrite}, {kReadWrite, kReadWrite}}) {
    const absl::Status status = share(a, b, 0);
    CHECK(absl::IsDataLoss(status));
    CHECK(Mentions(status, "dispatches[1] conflicts with dispatches[0]"));
    CHECK(Mentions(status, "'w'"));
  }
  // One dispatch may read and write the same bytes.
  Plan plan = MakePlan();
  plan.dispatches[1].arguments = {Use(kW, kRead, 32), Use(kW, kWrite, 32), Use(kW, kRead, 16)};
  CHECK(VerifyPlan(plan, "t.oax").ok());
}

TEST_CASE("the conflict sweep agrees with comparing every pair") {
  std::mt19937 random(11);
  const auto upto = [&](uint32_t n) { return static_cast<uint32_t>(random() % (n + 1)); };
  int good = 0;
  for (int round = 0; round < 1000; ++round) {
    Plan plan;
    plan.arenas = {{ArenaKind::kPersistent, 2048}};
    plan.buffers = {MakeBuffer("a", BufferKind::kState, 256, 0, 0),
                    MakeBuffer("b", BufferKind::kState, 256, 0, 1024)};
    plan.kernels = {{"k", 1}};
    plan.dispatches.resize(3);
    plan.stages = {{StageKind::kDispatches, 0, 3}};
    for (PlanDispatch& d : plan.dispatches) {
      for (int k = 0; k < 2; ++k) {
        d.arguments.push_back(
            Use(upto(1), static_cast<Access>(upto(2)), 1 + upto(255), 16 * upto(48)));
      }
    }
    bool conflict = false;
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < i; ++j) {
        for (const PlanArgument& a : plan.dispatches[i].arguments) {
          for (const PlanArgument& b : plan.dispatches[j].arguments) {
            conflict |= a.buffer == b.buffer && (Writes(a.access) || Writes(b.access)) &&
                        a.offset < b.offset + b.size_bytes && b.offset < a.offset + a.size_bytes;
          }
        }
      }
    }
    good += !conflict;
    CHECK(VerifyPlan(plan, "t.oax").ok() == !conflict);
  }
  CHECK(good > 50);
  CHECK(good < 950);
}

TEST_CASE("test vectors must fit the plan") {
  CheckRefused({
      {"'z', which is not among", [](Plan& p) { p.test_vectors[0].inputs[0].name = "z"; }},
      {"has 396 bytes, expected 400",
       [](Plan& p) { p.test_vectors[0].outputs[0].data = Zeros(396); }},
      {"0 replays", [](Plan& p) { p.test_vectors[0].replays = 0; }},
      {"tolerance", [](Plan& p) { p.test_vectors[0].outputs[0].atol = -1; }},
      {"appears twice",
       [](Plan& p) {
         auto& inputs = p.test_vectors[0].inputs;
         inputs.push_back(inputs[0]);
       }},
  });
}

TEST_CASE("unknown numbers in a file are refused before they are used") {
  const std::vector<std::function<void(Plan&)>> damages = {
      [](Plan& p) { p.buffers[kH].kind = static_cast<BufferKind>(6); },
      [](Plan& p) { p.buffers[kH].dtype = static_cast<DType>(200); },
      [](Plan& p) { p.buffers[kH].init = static_cast<InitKind>(2); },
      [](Plan& p) { p.arenas[0].kind = static_cast<ArenaKind>(3); },
      [](Plan& p) { p.inputs[0].dtype = static_cast<DType>(5); },
      [](Plan& p) { p.dispatches[0].arguments[0].kind = static_cast<ArgumentKind>(3); },
      [](Plan& p) { p.profile.subgroup_size = 3; },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    CAPTURE(i);
    Plan plan = MakePlan();
    damages[i](plan);
    CHECK(absl::IsDataLoss(ParsePlan(Blob::Own(SerializePlan(plan)), "t.oax").status()));
  }
}

TEST_CASE("a plan cut or flipped anywhere is refused") {
  std::vector<uint8_t> file = SerializePlan(MakePlan());
  for (size_t i = 0; i < file.size(); ++i) {
    const Blob cut = Blob::Own(std::vector<uint8_t>(file.begin(), file.begin() + i));
    if (ParsePlan(cut, "t.oax").ok()) FAIL_CHECK("cut at ", i);
    file[i] ^= 0x10;
    if (ParsePlan(Blob::Own(file), "t.oax").ok()) FAIL_CHECK("flipped ", i);
    file[i] ^= 0x10;
  }
}

// The digest stops accidents, not malice: behind a recomputed one every byte is still untrusted.
TEST_CASE("a flatbuffer with any byte changed never crashes the loader") {
  const std::vector<uint8_t> file = SerializePlan(MakePlan());
  const auto reader = ContainerReader::Parse(FileKind::kPlan, Blob::Own(file), "t.oax");
  REQUIRE(reader.ok());
  const std::vector<uint8_t> flatbuffer(reader->flatbuffer().begin(), reader->flatbuffer().end());
  for (size_t i = 0; i < flatbuffer.size(); ++i) {
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> changed = flatbuffer;
      changed[i] = value;
      ContainerWriter writer(FileKind::kPlan);
      writer.Add(Zeros(1024));
      const absl::StatusOr<Plan> plan = ParsePlan(Blob::Own(writer.Serialize(changed)), "t.oax");
      if (plan.ok()) CHECK_FALSE(DumpPlan(*plan).empty());
    }
  }
}

// One large vector that many tables refer to would make a small file fill the memory.
TEST_CASE("a flatbuffer whose tables share vectors is refused") {
  flatbuffers::FlatBufferBuilder builder;
  const auto profile = builder.CreateString("{}");
  const auto nodes = builder.CreateVector(std::vector<uint32_t>(1000));
  const auto grid = builder.CreateVector(std::vector<uint32_t>{1, 1, 1});
  std::vector<flatbuffers::Offset<fbs::PlanDispatch>> dispatches;
  for (int i = 0; i < 1000; ++i) {
    dispatches.push_back(fbs::CreatePlanDispatch(builder, 0, 0, 0, grid, 0, nodes));
  }
  const auto list = builder.CreateVector(dispatches);
  fbs::FinishPlanBuffer(builder, fbs::CreatePlan(builder, 0, 0, profile, 0, 0, 0, list));
  const std::vector<uint8_t> file =
      ContainerWriter(FileKind::kPlan).Serialize({builder.GetBufferPointer(), builder.GetSize()});
  const absl::Status status = ParsePlan(Blob::Own(file), "t.oax").status();
  CHECK(absl::IsDataLoss(status));
  CHECK_MESSAGE(Mentions(status, "share vectors"), status.ToString());
}

TEST_CASE("blobs that overlap or leave the file are refused") {
  for (uint64_t offset : {uint64_t{0}, uint64_t{128}, uint64_t{512}, ~uint64_t{255}}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto profile = builder.CreateString("{}");
    std::vector<flatbuffers::Offset<fbs::PlanBuffer>> buffers;
    for (uint64_t at : {uint64_t{0}, offset}) {
      const auto data = fbs::CreateBlobRef(builder, at, 300);
      buffers.push_back(fbs::CreatePlanBuffer(builder, 0, 3, 3, 0, 300, 0, 0, 1, 0, data));
    }
    const auto list = builder.CreateVector(buffers);
    fbs::FinishPlanBuffer(builder, fbs::CreatePlan(builder, 0, 0, profile, 0, list));
    ContainerWriter writer(FileKind::kPlan);
    writer.Add(Zeros(300));
    const std::vector<uint8_t> file =
        writer.Serialize({builder.GetBufferPointer(), builder.GetSize()});
    const absl::Status status = ParsePlan(Blob::Own(file), "t.oax").status();
    CHECK(absl::IsDataLoss(status));
    CHECK_MESSAGE(Mentions(status, offset == 0 ? "overlap" : "buffers[1].data"), status.ToString());
  }
}

TEST_CASE("kernels of a plan must exist unchanged") {
  Plan plan = MakePlan();
  plan.kernels[0].name = "scale_f16";
  absl::Status status = VerifyPlanKernels(plan, MakePack(), "t.oax");
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(Mentions(status, "'scale_f16'"));
  CHECK(Mentions(status, "closest names are 'scale_f32'"));
  plan = MakePlan();
  plan.kernels[1].digest = 1;
  status = VerifyPlanKernels(plan, MakePack(), "t.oax");
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(Mentions(status, "'sgd_f32'"));
}

TEST_CASE("dispatches must fit their kernels") {
  const std::vector<Damage> damages = {
      {"has 1 constants", [](Plan& p) { p.dispatches[0].constants = {1}; }},
      {"has 3 arguments, the kernel takes 4",
       [](Plan& p) { p.dispatches[0].arguments.pop_back(); }},
      {"argument 3 'alpha'", [](Plan& p) { p.dispatches[0].arguments[3] = Number(1); }},
      {"argument 1 'y' has another",
       [](Plan& p) { p.dispatches[0].arguments[1].access = Access::kRead; }},
      {"count = 101 elements", [](Plan& p) { p.dispatches[0].arguments[2] = Number(101); }},
      {"= 200 elements",
       [](Plan& p) {
         p.dispatches[0].constants = {2, 0};
       }},
      {"is given 0 bytes", [](Plan& p) { p.dispatches[0].arguments[0].size_bytes = 0; }},
      {"65536 workgroups", [](Plan& p) { p.dispatches[0].grid[2] = 65536; }},
      {"takes 7 for 3 records", [](Plan& p) { p.dispatches[1].arguments[0] = Number(3); }},
      {"for 4294967295 records",
       [](Plan& p) { p.dispatches[1].arguments[0] = Number(UINT32_MAX); }},
      {"argument 3 'w'", [](Plan& p) { p.dispatches[1].arguments[4] = Number(9); }},
  };
  for (const Damage& damage : damages) {
    CAPTURE(damage.reason);
    Plan plan = MakePlan();
    damage.apply(plan);
    const absl::Status status = VerifyPlanKernels(plan, MakePack(), "t.oax");
    CHECK(absl::IsDataLoss(status));
    CHECK_MESSAGE(Mentions(status, damage.reason), status.ToString());
  }
}

TEST_CASE("a null buffer is legal where the kernel touches nothing") {
  Plan plan = MakePlan();
  plan.dispatches[0].arguments[0].size_bytes = 0;
  plan.dispatches[0].arguments[1].size_bytes = 0;
  plan.dispatches[0].arguments[2] = Number(0);
  CHECK(VerifyPlanKernels(plan, MakePack(), "t.oax").ok());
}

TEST_CASE("reads, not writes, may reach the next multiple of 16 bytes") {
  Plan plan = MakePlan();
  plan.dispatches[0].arguments[0].size_bytes = 388;
  CHECK(VerifyPlanKernels(plan, MakePack(), "t.oax").ok());
  plan.dispatches[0].arguments[0].size_bytes = 384;
  CHECK(absl::IsDataLoss(VerifyPlanKernels(plan, MakePack(), "t.oax")));
  plan = MakePlan();
  plan.dispatches[0].arguments[1].size_bytes = 396;
  CHECK(absl::IsDataLoss(VerifyPlanKernels(plan, MakePack(), "t.oax")));
}

TEST_CASE("verification of large plans is fast") {
  Plan plan;
  constexpr uint32_t kCount = 20000;
  plan.arenas = {{ArenaKind::kTransient, 512}, {ArenaKind::kIo, 512}};
  plan.buffers = {MakeBuffer("x", BufferKind::kInput, 4, 1, 0)};
  plan.inputs = {{"x", 0, F32, {4}}};
  plan.kernels = {{"k", 1}};
  // Every buffer is at one of two places, one after the other.
  for (uint32_t i = 0; i < kCount; ++i) {
    PlanBuffer b = MakeBuffer("b", BufferKind::kTransient, 4, 0, 256 * (i % 2));
    b.first_stage = i;
    b.last_stage = std::min(i + 1, kCount - 1);
    plan.buffers.push_back(b);
    PlanDispatch d;
    d.arguments = {Use(i, Access::kRead, 16), Use(i + 1, Access::kWrite, 16)};
    plan.dispatches.push_back(d);
    plan.stages.push_back({StageKind::kDispatches, i, 1});
  }
  const absl::StatusOr<Plan> back = ParsePlan(Blob::Own(SerializePlan(plan)), "t.oax");
  CHECK_MESSAGE(back.ok(), back.status().ToString());
}

}  // namespace oa
