#include "ir/elementwise.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace oa::ir {
namespace {

struct OpcodeRow {
  const char* name;
  uint8_t arity;
  bool scalar;     // reads the instruction's scalar
  uint32_t flops;  // a transcendental function counts 8, a division or root 4
};

// Indexed by opcode.
constexpr OpcodeRow kOpcodes[] = {
    {"copy", 1, false, 0},
    {"add", 2, false, 1},
    {"sub", 2, false, 1},
    {"mul", 2, false, 1},
    {"div", 2, false, 4},
    {"scale", 1, true, 1},
    {"add_scalar", 1, true, 1},
    {"sub_scalar", 1, true, 1},
    {"div_scalar", 1, true, 4},
    {"pow", 1, true, 16},
    {"clamp_min", 1, true, 1},
    {"clamp_max", 1, true, 1},
    {"equal", 1, true, 1},
    {"greater_equal", 1, true, 1},
    {"equal_bits", 1, true, 1},
    {"neg", 1, false, 1},
    {"abs", 1, false, 1},
    {"exp", 1, false, 8},
    {"log", 1, false, 8},
    {"sqrt", 1, false, 4},
    {"sin", 1, false, 8},
    {"cos", 1, false, 8},
    {"reciprocal", 1, false, 4},
    {"square", 1, false, 1},
    {"relu", 1, false, 1},
    {"leaky_relu", 1, true, 2},
    {"elu", 1, true, 11},
    {"gelu", 1, false, 20},
    {"mish", 1, false, 24},
    {"sigmoid", 1, false, 13},
    {"silu", 1, false, 14},
    {"softplus", 1, false, 19},
    {"tanh", 1, false, 15},
    {"relu_bwd", 2, false, 1},
    {"leaky_relu_bwd", 2, true, 2},
    {"elu_bwd", 2, true, 11},
    {"gelu_bwd", 2, false, 32},
    {"mish_bwd", 2, false, 40},
    {"sigmoid_bwd", 2, false, 3},
    {"silu_bwd", 2, false, 18},
    {"softplus_bwd", 2, false, 14},
    {"tanh_bwd", 2, false, 3},
    {"abs_bwd", 2, false, 2},
    {"sqrt_bwd", 2, false, 5},
    {"reciprocal_bwd", 2, false, 3},
    {"sin_bwd", 2, false, 9},
    {"cos_bwd", 2, false, 10},
    {"pow_bwd", 2, true, 18},
    {"clamp_min_bwd", 2, true, 1},
    {"clamp_max_bwd", 2, true, 1},
    {"smooth_l1", 1, true, 8},
    {"smooth_l1_bwd", 2, true, 7},
    {"bce", 2, false, 24},
    {"bce_bwd", 2, false, 10},
    {"bce_logits", 2, false, 22},
    {"bce_logits_bwd", 2, false, 14},
    {"mask_nonzero", 2, false, 1},
    {"equal_ab", 2, false, 1},
};
constexpr size_t kOpcodeCount = sizeof(kOpcodes) / sizeof(kOpcodes[0]);
static_assert(kOpcodeCount == OA_EW_EQUAL_AB + 1, "one row for each opcode, in order");

const OpcodeRow& Row(uint8_t op) {
  constexpr static OpcodeRow kUnknown = {"unknown", 1, false, 0};
  return op < kOpcodeCount ? kOpcodes[op] : kUnknown;
}

uint8_t EwType(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return OA_EW_TYPE_F32;
    case DType::I32:
      return OA_EW_TYPE_I32;
    case DType::U32:
      return OA_EW_TYPE_U32;
    case DType::U8:
      return OA_EW_TYPE_U8;
    case DType::BF16:
      return OA_EW_TYPE_BF16;
  }
  return OA_EW_TYPE_F32;
}

uint64_t Product(absl::Span<const uint64_t> extents) {
  uint64_t product = 1;
  for (uint64_t extent : extents) product *= extent;
  return product;
}

// `shape` with leading ones up to `rank`.
std::vector<uint64_t> Padded(absl::Span<const uint64_t> shape, size_t rank) {
  std::vector<uint64_t> padded(rank - shape.size(), 1);
  padded.insert(padded.end(), shape.begin(), shape.end());
  return padded;
}

// When the axes the input really has are neighbours in `out`, element i of the output reads
// (i / div) % mod: div elements lie behind those axes, mod inside them.
bool SetPeriodic(absl::Span<const uint64_t> own, absl::Span<const uint64_t> out, EwInput& input) {
  size_t first = out.size(), last = 0;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    if (own[axis] == 1) continue;
    first = std::min(first, axis);
    last = axis;
  }
  for (size_t axis = first; axis <= last; ++axis) {
    if (own[axis] != out[axis]) return false;
  }
  input.mode = OA_EW_PERIODIC;
  input.div = static_cast<uint32_t>(Product(out.subspan(last + 1)));
  input.mod = static_cast<uint32_t>(input.count);
  return true;
}

void SetStrided(absl::Span<const uint64_t> own, EwInput& input) {
  input.mode = OA_EW_STRIDED;
  input.strides.assign(own.size(), 0);
  uint64_t stride = 1;
  for (size_t axis = own.size(); axis-- > 0;) {
    if (own[axis] == 1) continue;
    input.strides[axis] = static_cast<uint32_t>(stride);
    stride *= own[axis];
  }
}

std::string RegisterText(const EwProgram& program, uint8_t reg) {
  const size_t inputs = program.inputs.size();
  return reg < inputs ? absl::StrCat("in", reg) : absl::StrCat("t", reg - inputs);
}

}  // namespace

EwInput BroadcastInput(BufferSlice slice, DType dtype, absl::Span<const uint64_t> shape,
                       absl::Span<const uint64_t> out_shape) {
  EwInput input;
  input.slice = slice;
  input.type = EwType(dtype);
  input.count = Product(shape);
  // Broadcasting never shrinks: an equal number of elements means the same elements in order.
  if (input.count == Product(out_shape)) return input;
  if (input.count == 1) {
    input.mode = OA_EW_SCALAR;
    return input;
  }
  const std::vector<uint64_t> own = Padded(shape, out_shape.size());
  if (!SetPeriodic(own, out_shape, input)) SetStrided(own, input);
  return input;
}

int EwArity(uint8_t op) { return Row(op).arity; }
const char* EwName(uint8_t op) { return Row(op).name; }
uint32_t EwFlops(uint8_t op) { return Row(op).flops; }
bool EwIsCheap(uint8_t op) { return op < kOpcodeCount && Row(op).flops <= 4; }

std::string EwText(const EwProgram& program) {
  std::string text;
  for (size_t k = 0; k < program.code.size(); ++k) {
    const EwInstruction& code = program.code[k];
    absl::StrAppend(&text, "t", k, " = ", EwName(code.op), "(", RegisterText(program, code.a));
    if (EwArity(code.op) == 2) absl::StrAppend(&text, ", ", RegisterText(program, code.b));
    if (Row(code.op).scalar) absl::StrAppend(&text, ", ", code.scalar);
    text += "); ";
  }
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    absl::StrAppend(&text, k > 0 ? "; " : "", "out", k, " = ",
                    RegisterText(program, program.outputs[k].reg));
  }
  return text;
}

EwBuilder::EwBuilder(uint64_t count, absl::Span<const uint64_t> out_shape)
    : count_(count), extents_(out_shape.begin(), out_shape.end()) {}

EwBuilder::Reg EwBuilder::Input(EwInput input) {
  inputs_.push_back(std::move(input));
  return {true, static_cast<int>(inputs_.size()) - 1};
}

EwBuilder::Reg EwBuilder::Op(uint8_t op, Reg a, float scalar) { return Op2(op, a, a, scalar); }

EwBuilder::Reg EwBuilder::Op2(uint8_t op, Reg a, Reg b, float scalar) {
  code_.push_back({op, a, b, scalar});
  return {false, static_cast<int>(code_.size()) - 1};
}

void EwBuilder::Output(Reg reg, BufferSlice slice) { outputs_.emplace_back(reg, slice); }

EwProgram EwBuilder::Build() const {
  const auto resolve = [&](Reg reg) {
    const size_t base = reg.is_input ? 0 : inputs_.size();
    return static_cast<uint8_t>(base + static_cast<size_t>(reg.index));
  };
  EwProgram program;
  program.count = count_;
  program.inputs = inputs_;
  for (const Pending& p : code_) {
    const uint8_t b = EwArity(p.op) == 2 ? resolve(p.b) : 0;
    program.code.push_back({p.op, resolve(p.a), b, p.scalar});
  }
  for (const auto& [reg, slice] : outputs_) program.outputs.push_back({resolve(reg), slice});
  const bool strided = std::any_of(inputs_.begin(), inputs_.end(), [](const EwInput& input) {
    return input.mode == OA_EW_STRIDED;
  });
  if (strided) program.extents = extents_;
  return program;
}

}  // namespace oa::ir
