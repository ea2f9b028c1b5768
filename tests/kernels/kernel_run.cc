#include "tests/kernels/kernel_run.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <utility>

#include "executor/program.h"
#include "executor/session.h"
#include "schema/checked_math.h"
#include "schema/container.h"
#include "tests/support/device.h"

namespace oa::testing {
namespace {

// Bytes that belong to no buffer between two buffers: the guards of the session.
constexpr uint64_t kGap = 512;

// Adds a buffer behind the others; returns its index.
uint32_t AddBuffer(Plan& plan, const std::string& name, BufferKind kind, uint64_t bytes) {
  const uint32_t index = static_cast<uint32_t>(plan.buffers.size());
  PlanBuffer buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.dtype = DType::U8;
  buffer.shape = {bytes};
  buffer.size_bytes = bytes;
  buffer.offset = plan.arenas[0].size_bytes + kGap;
  plan.arenas[0].size_bytes = buffer.offset + AlignUp(bytes, kTensorAlignment) + kGap;
  const PlanIo io = {name, index, DType::U8, buffer.shape};
  (kind == BufferKind::kInput ? plan.inputs : plan.outputs).push_back(io);
  plan.buffers.push_back(std::move(buffer));
  return index;
}

PlanArgument BufferArgument(uint32_t buffer, uint64_t bytes, Access access) {
  PlanArgument argument;
  argument.buffer = buffer;
  argument.size_bytes = bytes;
  argument.access = access;
  return argument;
}

template <class T>
T Find(const std::map<std::string, T>& map, const std::string& name) {
  auto it = map.find(name);
  return it == map.end() ? T() : it->second;
}

}  // namespace

const Kernel& KernelFor(const std::string& base) {
  exec::Device* device = TestDevice();
  const DeviceProfile profile = device == nullptr ? DeviceProfile() : device->info().profile;
  const absl::StatusOr<const Kernel*> kernel = TestKernels().Select(base, profile);
  REQUIRE_MESSAGE(kernel.ok(), kernel.status().ToString());
  return **kernel;
}

KernelRun& KernelRun::In(const std::string& name, const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return InBytes(name, std::move(bytes));
}

KernelRun& KernelRun::InBytes(const std::string& name, std::vector<uint8_t> bytes) {
  inputs_[name] = std::move(bytes);
  return *this;
}

KernelRun& KernelRun::Out(const std::string& name, size_t elements) {
  outputs_[name] = elements;
  return *this;
}

KernelRun& KernelRun::U32(const std::string& name, uint32_t value) {
  scalars_[name] = value;
  return *this;
}

KernelRun& KernelRun::F32(const std::string& name, float value) {
  scalars_[name] = std::bit_cast<uint32_t>(value);
  return *this;
}

KernelRun& KernelRun::Constant(const std::string& name, uint32_t value) {
  constants_[name] = value;
  return *this;
}

KernelRun& KernelRun::Grid(uint32_t x, uint32_t y, uint32_t z) {
  grid_ = {x, y, z};
  return *this;
}

PlanArgument KernelRun::Bind(const KernelArgument& declared, Plan& plan) const {
  PlanArgument argument = BufferArgument(0, 0, declared.access);
  argument.kind = declared.kind;
  argument.bits = Find(scalars_, declared.name);
  const uint64_t input_bytes = Find(inputs_, declared.name).size();
  const uint64_t output_bytes = Find(outputs_, declared.name) * sizeof(float);
  if (input_bytes != 0) {
    argument.buffer = AddBuffer(plan, declared.name, BufferKind::kInput, input_bytes);
  } else if (output_bytes != 0) {
    argument.buffer = AddBuffer(plan, declared.name, BufferKind::kOutput, output_bytes);
  }
  argument.size_bytes = input_bytes + output_bytes;
  return argument;
}

Plan KernelRun::MakePlan(const DeviceProfile& profile) const {
  Plan plan;
  plan.name = kernel_.name;
  plan.profile = profile;
  plan.arenas = {{ArenaKind::kIo, 0}};
  PlanDispatch dispatch;
  for (const KernelArgument& declared : kernel_.arguments) {
    dispatch.arguments.push_back(Bind(declared, plan));
  }
  for (const KernelConstant& constant : kernel_.constants) {
    dispatch.constants.push_back(Find(constants_, constant.name));
  }
  dispatch.grid = grid_;
  dispatch.label = kernel_.name;
  plan.kernels = {{kernel_.name, kernel_.digest}};
  plan.dispatches.push_back(std::move(dispatch));
  plan.stages = {{StageKind::kDispatches, 0, 1}};
  return plan;
}

std::map<std::string, std::vector<float>> KernelRun::Run() const {
  exec::Device* device = TestDevice();
  if (device == nullptr) return {};
  const KernelPack pack({kernel_}, "test");
  absl::StatusOr<std::unique_ptr<exec::Program>> program =
      exec::Program::Create(*device, MakePlan(device->info().profile), pack);
  REQUIRE_MESSAGE(program.ok(), program.status().ToString());
  exec::SessionOptions options;
  options.check_guards = true;
  absl::StatusOr<std::unique_ptr<exec::Session>> session =
      exec::Session::Create(**program, options);
  REQUIRE_MESSAGE(session.ok(), session.status().ToString());
  exec::InputMap inputs;
  for (const auto& [name, bytes] : inputs_) inputs[name] = bytes;
  const absl::StatusOr<exec::TensorMap> results = (*session)->Run(inputs);
  REQUIRE_MESSAGE(results.ok(), results.status().ToString());
  std::map<std::string, std::vector<float>> values;
  for (const auto& [name, bytes] : *results) {
    values[name].resize(bytes.size() / sizeof(float));
    std::memcpy(values[name].data(), bytes.data(), bytes.size());
  }
  return values;
}

std::vector<float> Spread(size_t count, double low, double high) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const double t = static_cast<double>(i * 7919 % count) / static_cast<double>(count);
    values[i] = static_cast<float>(low + t * (high - low));
  }
  return values;
}

}  // namespace oa::testing
