// KernelCall: collects what a lowering says about one kernel call; LowerContext::Emit checks it.
#include <bit>

#include "ir/lower.h"

namespace oa::ir {

KernelCall& KernelCall::Buffer(BufferSlice slice) {
  Argument argument;
  argument.slice = slice.size_bytes == 0 ? BufferSlice() : slice;
  dispatch_.arguments.push_back(argument);
  return *this;
}

KernelCall& KernelCall::U32(uint64_t value) {
  Argument argument;
  argument.kind = ArgumentKind::kU32;
  argument.bits = static_cast<uint32_t>(value);
  if (value > UINT32_MAX) overflow_ = true;
  dispatch_.arguments.push_back(argument);
  return *this;
}

KernelCall& KernelCall::F32(float value) {
  Argument argument;
  argument.kind = ArgumentKind::kF32;
  argument.bits = std::bit_cast<uint32_t>(value);
  dispatch_.arguments.push_back(argument);
  return *this;
}

KernelCall& KernelCall::Constant(absl::string_view name, uint32_t value) {
  constants_.emplace_back(std::string(name), value);
  return *this;
}

KernelCall& KernelCall::Grid(uint64_t groups) {
  grid_ = {groups, 1, 1};
  fold_ = true;
  return *this;
}

KernelCall& KernelCall::Grid(uint64_t x, uint64_t y, uint64_t z) {
  grid_ = {x, y, z};
  fold_ = false;
  return *this;
}

KernelCall& KernelCall::Flops(uint64_t flops) {
  dispatch_.flops = flops;
  return *this;
}

KernelCall& KernelCall::Loops(LoopCost loops) {
  dispatch_.loops = loops;
  return *this;
}

KernelCall& KernelCall::Prologue(BufferSlice operand) {
  EwInput input;
  input.slice = operand;
  input.count = operand.size_bytes / sizeof(float);
  EwBuilder builder(input.count);
  builder.Output(builder.Input(input), BufferSlice());
  dispatch_.prologue = builder.Build();
  return *this;
}

KernelCall& KernelCall::Epilogue(EwProgram epilogue) {
  dispatch_.epilogue = std::move(epilogue);
  return *this;
}

KernelCall& KernelCall::Epilogue(BufferSlice result) {
  EwBuilder builder(result.size_bytes / sizeof(float));
  builder.Output(builder.Input(EwInput()), result);
  return Epilogue(builder.Build());
}

}  // namespace oa::ir
