#include "tests/executor/tiny_plan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "schema/checked_math.h"
#include "schema/container.h"

namespace oa::testing {
namespace {

constexpr uint32_t kAffine[] =
#include "affine.inc"
    ;
constexpr uint32_t kAccumulate[] =
#include "accumulate.inc"
    ;
constexpr uint32_t kStray[] =
#include "stray.inc"
    ;
constexpr uint32_t kSumRecords[] =
#include "sum_records.inc"
    ;

constexpr uint32_t kLocalSize = 64;

template <size_t N>
Kernel MakeKernel(const std::string& name, const uint32_t (&words)[N],
                  std::vector<KernelArgument> arguments) {
  Kernel kernel;
  kernel.name = name;
  kernel.base = name;
  const auto* bytes = reinterpret_cast<const uint8_t*>(words);
  kernel.spirv = Blob::Own(std::vector<uint8_t>(bytes, bytes + sizeof(words)));
  kernel.digest = Digest(kernel.spirv.bytes());
  kernel.local_size = {kLocalSize, 1, 1};
  kernel.arguments = std::move(arguments);
  return kernel;
}

KernelArgument BufferArgument(const std::string& name, Access access, const std::string& extent) {
  return {name, ArgumentKind::kBuffer, access, 4, extent};
}

KernelArgument U32Argument(const std::string& name) {
  return {name, ArgumentKind::kU32, Access::kRead, 4, ""};
}

KernelArgument F32Argument(const std::string& name) {
  return {name, ArgumentKind::kF32, Access::kRead, 4, ""};
}

KernelPack MakePack() {
  std::vector<Kernel> kernels;
  kernels.push_back(
      MakeKernel("accumulate", kAccumulate,
                 {BufferArgument("x", Access::kRead, "n"),
                  BufferArgument("state", Access::kReadWrite, "n"), U32Argument("n")}));
  kernels.push_back(
      MakeKernel("affine", kAffine,
                 {BufferArgument("x", Access::kRead, "n"), BufferArgument("y", Access::kWrite, "n"),
                  U32Argument("n"), F32Argument("a"), F32Argument("b")}));
  kernels.back().constants = {{"activation", 0}};
  kernels.push_back(MakeKernel(
      "stray", kStray,
      {BufferArgument("y", Access::kWrite, "n"), U32Argument("n"), U32Argument("stray")}));
  kernels.push_back(MakeKernel("sum_records", kSumRecords,
                               {BufferArgument("y", Access::kWrite, "record_count"),
                                U32Argument("record_count"), F32Argument("scale")}));
  kernels.back().records = {BufferArgument("x", Access::kRead, "n"), U32Argument("n")};
  return KernelPack(std::move(kernels), "glslc");
}

PlanArgument U32(uint32_t value) {
  PlanArgument argument;
  argument.kind = ArgumentKind::kU32;
  argument.bits = value;
  return argument;
}

PlanArgument F32Value(float value) {
  PlanArgument argument;
  argument.kind = ArgumentKind::kF32;
  argument.bits = std::bit_cast<uint32_t>(value);
  return argument;
}

ArenaKind ArenaFor(BufferKind kind) {
  if (IsPersistent(kind)) return ArenaKind::kPersistent;
  return kind == BufferKind::kTransient ? ArenaKind::kTransient : ArenaKind::kIo;
}

}  // namespace

const KernelPack& TinyKernels() {
  static const KernelPack& pack = *new KernelPack(MakePack());
  return pack;
}

PlanBuilder::PlanBuilder() {
  plan_.name = "tiny";
  plan_.arenas = {{ArenaKind::kTransient, 0}, {ArenaKind::kPersistent, 0}, {ArenaKind::kIo, 0}};
}

uint32_t PlanBuilder::Buffer(const std::string& name, BufferKind kind, uint64_t elements) {
  const uint32_t index = static_cast<uint32_t>(plan_.buffers.size());
  PlanBuffer buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.shape = {elements};
  buffer.size_bytes = elements * sizeof(float);
  buffer.arena = static_cast<uint32_t>(ArenaFor(kind));
  uint64_t& arena_bytes = plan_.arenas[buffer.arena].size_bytes;
  buffer.offset = arena_bytes;
  arena_bytes += AlignUp(buffer.size_bytes, kTensorAlignment);
  const PlanIo io = {name, index, DType::F32, buffer.shape};
  if (kind == BufferKind::kInput) plan_.inputs.push_back(io);
  if (kind == BufferKind::kOutput) plan_.outputs.push_back(io);
  plan_.buffers.push_back(std::move(buffer));
  return index;
}

uint32_t PlanBuilder::Data(const std::string& name, BufferKind kind,
                           const std::vector<float>& values) {
  const uint32_t index = Buffer(name, kind, values.size());
  plan_.buffers[index].init = InitKind::kData;
  plan_.buffers[index].data = Blob::Own(ToBytes(values));
  return index;
}

void PlanBuilder::Stage() {
  plan_.stages.push_back(
      {StageKind::kDispatches, static_cast<uint32_t>(plan_.dispatches.size()), 0});
}

PlanArgument PlanBuilder::Slice(uint32_t buffer, Access access) const {
  PlanArgument argument;
  argument.buffer = buffer;
  argument.size_bytes = plan_.buffers[buffer].size_bytes;
  argument.access = access;
  return argument;
}

void PlanBuilder::Dispatch(const std::string& kernel, std::vector<PlanArgument> arguments,
                           std::vector<uint32_t> constants, uint32_t n, const std::string& label) {
  PlanDispatch dispatch;
  uint32_t& index = dispatch.kernel;
  while (index < plan_.kernels.size() && plan_.kernels[index].name != kernel) ++index;
  if (index == plan_.kernels.size()) {
    plan_.kernels.push_back({kernel, TinyKernels().Find(kernel)->digest});
  }
  dispatch.arguments = std::move(arguments);
  dispatch.constants = std::move(constants);
  dispatch.grid = {static_cast<uint32_t>(CeilDiv(n, kLocalSize)), 1, 1};
  dispatch.label = label;
  dispatch.flops = 2 * n;
  dispatch.bytes_read = 4 * n;
  dispatch.bytes_written = 4 * n;
  plan_.dispatches.push_back(std::move(dispatch));
  ++plan_.stages.back().dispatch_count;
}

void PlanBuilder::Affine(uint32_t x, uint32_t y, float a, float b, bool relu, uint32_t n) {
  Dispatch("affine",
           {Slice(x, Access::kRead), Slice(y, Access::kWrite), U32(n), F32Value(a), F32Value(b)},
           {relu ? 1u : 0u}, n, relu ? "affine+relu" : "affine");
}

void PlanBuilder::Accumulate(uint32_t x, uint32_t state, uint32_t n) {
  Dispatch("accumulate", {Slice(x, Access::kRead), Slice(state, Access::kReadWrite), U32(n)}, {}, n,
           "accumulate");
}

void PlanBuilder::Stray(uint32_t y, uint32_t n, uint32_t stray) {
  Dispatch("stray", {Slice(y, Access::kWrite), U32(n), U32(stray)}, {}, n, "stray");
}

void PlanBuilder::SumRecords(const std::vector<uint32_t>& xs, uint32_t y, float scale) {
  const uint32_t count = static_cast<uint32_t>(xs.size());
  std::vector<PlanArgument> arguments = {Slice(y, Access::kWrite), U32(count), F32Value(scale)};
  for (uint32_t x : xs) {
    arguments.push_back(Slice(x, Access::kRead));
    arguments.push_back(U32(static_cast<uint32_t>(plan_.buffers[x].shape[0])));
  }
  Dispatch("sum_records", std::move(arguments), {}, count, "sum_records");
}

Plan PlanBuilder::Build() {
  const uint32_t last = plan_.stages.empty() ? 0 : static_cast<uint32_t>(plan_.stages.size()) - 1;
  for (PlanBuffer& buffer : plan_.buffers) buffer.last_stage = last;
  return plan_;
}

Plan ChainPlan() {
  PlanBuilder builder;
  const uint32_t n = kChainElements;
  const uint32_t x = builder.Buffer("x", BufferKind::kInput, n);
  const uint32_t y = builder.Buffer("y", BufferKind::kOutput, n);
  const uint32_t total = builder.Buffer("total", BufferKind::kOutput, n);
  const uint32_t t = builder.Buffer("t", BufferKind::kTransient, n);
  const uint32_t sum = builder.Buffer("sum", BufferKind::kState, n);
  builder.plan().buffers[sum].fill_bits = std::bit_cast<uint32_t>(10.0f);
  builder.Stage();
  builder.Affine(x, t, 2, 1, false, n);
  builder.Accumulate(x, sum, n);
  builder.Stage();
  builder.Affine(t, y, -1, 3, true, n);
  builder.Stage();
  builder.Affine(sum, total, 1, 0, false, n);
  return builder.Build();
}

std::vector<float> ChainY(const std::vector<float>& x) {
  std::vector<float> y;
  for (float v : x) y.push_back(std::max(0.0f, 3 - (2 * v + 1)));
  return y;
}

std::vector<float> ChainTotal(const std::vector<float>& x, int replay) {
  std::vector<float> total;
  for (float v : x) total.push_back(10 + static_cast<float>(replay) * v);
  return total;
}

std::vector<float> Ramp(uint32_t elements) {
  std::vector<float> values;
  for (uint32_t i = 0; i < elements; ++i) values.push_back(0.25f * static_cast<float>(i));
  return values;
}

std::vector<uint8_t> ToBytes(const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> ToFloats(const std::vector<uint8_t>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace oa::testing
