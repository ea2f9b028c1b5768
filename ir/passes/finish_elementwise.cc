// The elementwise kernels, prologues and epilogues run the same machine. An epilogue has an "e" in
// front of every name, other sizes, and a register instead of input 0; a prologue has a "p", and a
// register instead of output 0. Fields are found by name
// in the kernel's manifest row, so that their order is the row's business alone:
//   arguments  in<k>, out<k>, count, s<k>, div<k>, mod<k>, len<k>; strided: rank, extents<k>,
//              strides<k> with input i's axis a at 8 i + a
//   constants  inputs, outputs, slots, mode<k>, type<k>, code<k> = op | a << 8 | b << 16, oreg<k>
// The machine's registers: inputs first, then `register_base` + k for instruction k.
#include "ir/passes/finish_elementwise.h"

#include <bit>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/grid.h"
#include "ir/kernel_layout.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr size_t kMaxAxes = 8;

// "div3" -> "div", 3; "count" -> "count", 0.
struct FieldName {
  absl::string_view stem;
  size_t index = 0;
};

FieldName ParseField(absl::string_view name) {
  size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  FieldName field = {name.substr(0, end), 0};
  uint32_t index = 0;
  if (absl::SimpleAtoi(name.substr(end), &index)) field.index = index;
  return field;
}

// Encodes one program for one machine.
class Encoder {
 public:
  Encoder(const EwProgram& program, absl::string_view prefix, size_t first_memory_input,
          uint32_t register_base)
      : program_(program),
        prefix_(prefix),
        first_memory_input_(first_memory_input),
        register_base_(register_base) {}

  // The value of the argument that `row` declares; nullopt for a name the machine does not have.
  std::optional<Argument> ArgumentFor(const KernelArgument& row) const {
    if (!absl::StartsWith(row.name, prefix_)) return std::nullopt;
    const FieldName field = ParseField(absl::string_view(row.name).substr(prefix_.size()));
    Argument argument;
    argument.kind = row.kind;
    argument.access = row.access;
    if (row.kind == ArgumentKind::kBuffer) {
      const std::optional<BufferSlice> slice = Slice(field);
      if (!slice) return std::nullopt;
      argument.slice = *slice;
      return argument;
    }
    const std::optional<uint32_t> bits = Scalar(field);
    if (!bits) return std::nullopt;
    argument.bits = *bits;
    return argument;
  }

  // Sets the constants of the machine and leaves all others.
  void SetConstants(const Kernel& kernel, std::vector<uint32_t>& values) const {
    for (size_t i = 0; i < kernel.constants.size(); ++i) {
      const std::string& name = kernel.constants[i].name;
      if (!absl::StartsWith(name, prefix_)) continue;
      const FieldName field = ParseField(absl::string_view(name).substr(prefix_.size()));
      const std::optional<uint32_t> value = Constant(field);
      if (value) values[i] = *value;
    }
  }

 private:
  const EwInput* Input(size_t k) const {
    const bool in_memory = k >= first_memory_input_ && k < program_.inputs.size();
    return in_memory ? &program_.inputs[k] : nullptr;
  }

  std::optional<BufferSlice> Slice(const FieldName& field) const {
    if (field.stem == "in") {
      return Input(field.index) != nullptr ? Input(field.index)->slice : BufferSlice();
    }
    if (field.stem == "out") {
      const bool used = field.index < program_.outputs.size();
      return used ? program_.outputs[field.index].slice : BufferSlice();
    }
    return std::nullopt;
  }

  std::optional<uint32_t> Scalar(const FieldName& field) const {
    const EwInput* input = Input(field.index);
    if (field.stem == "count") return static_cast<uint32_t>(program_.count);
    if (field.stem == "s") {
      const bool used = field.index < program_.code.size();
      return std::bit_cast<uint32_t>(used ? program_.code[field.index].scalar : 0.0f);
    }
    if (field.stem == "div") return input != nullptr ? input->div : 1;
    if (field.stem == "mod") return input != nullptr ? input->mod : 1;
    if (field.stem == "len") {
      return input != nullptr ? static_cast<uint32_t>(input->count) : 1;
    }
    if (field.stem == "rank") return static_cast<uint32_t>(program_.extents.size());
    if (field.stem == "extents") {
      return field.index < program_.extents.size() ? program_.extents[field.index] : 1;
    }
    if (field.stem == "strides") {
      const EwInput* owner = Input(field.index / kMaxAxes);
      const size_t axis = field.index % kMaxAxes;
      return owner != nullptr && axis < owner->strides.size() ? owner->strides[axis] : 0;
    }
    return std::nullopt;
  }

  std::optional<uint32_t> Constant(const FieldName& field) const {
    const EwInput* input = Input(field.index);
    if (field.stem == "inputs") return static_cast<uint32_t>(program_.inputs.size());
    if (field.stem == "outputs") return static_cast<uint32_t>(program_.outputs.size());
    if (field.stem == "slots") return static_cast<uint32_t>(program_.code.size());
    if (field.stem == "mode") return input != nullptr ? input->mode : 0;
    if (field.stem == "type") return input != nullptr ? input->type : 0;
    if (field.stem == "code") {
      return field.index < program_.code.size() ? Code(program_.code[field.index]) : 0;
    }
    if (field.stem == "oreg") {
      const bool used = field.index < program_.outputs.size();
      return used ? Register(program_.outputs[field.index].reg) : 0;
    }
    return std::nullopt;
  }

  uint32_t Code(const EwInstruction& code) const {
    const uint32_t b = EwArity(code.op) == 2 ? Register(code.b) : 0;
    return code.op | Register(code.a) << 8 | b << 16;
  }

  uint32_t Register(uint8_t reg) const {
    const auto inputs = static_cast<uint32_t>(program_.inputs.size());
    return reg < inputs ? reg : register_base_ + (reg - inputs);
  }

  const EwProgram& program_;
  const absl::string_view prefix_;
  const size_t first_memory_input_;
  const uint32_t register_base_;
};

// Whether the kernels that work on four elements at a time may run the program; their conditions
// are in kernels/elementwise/elementwise.comp. Slices start at multiples of 16 bytes anyway.
bool FitsVectors(const EwProgram& program) {
  if (program.count % 4 != 0 || program.strided()) return false;
  for (const EwInput& input : program.inputs) {
    if (input.mode != OA_EW_PERIODIC || input.div % 4 == 0) continue;
    if (input.div != 1 || input.mod % 4 != 0) return false;
  }
  return true;
}

// Short programs have kernels of their own: their pipelines are created faster.
std::string KernelBase(const EwProgram& program) {
  if (program.strided()) return "elementwise_strided_f32_s16";
  return absl::StrCat("elementwise_f32_s", program.code.size() <= 4 ? 4 : 16,
                      FitsVectors(program) ? "_v4" : "");
}

absl::Status UnknownField(const Kernel& kernel, const KernelArgument& row) {
  return absl::InternalError(absl::StrCat("kernel '", kernel.name, "' has the argument '", row.name,
                                          "', which is no field of its machine"));
}

absl::Status FinishProgram(Dispatch& dispatch, const KernelPack& pack,
                           const DeviceProfile& profile) {
  const EwProgram program = *std::move(dispatch.elementwise);
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, pack.Select(KernelBase(program), profile));
  const Encoder encoder(program, "", 0, OA_EW_MAX_INPUTS);
  for (const KernelArgument& row : kernel->arguments) {
    const std::optional<Argument> argument = encoder.ArgumentFor(row);
    if (!argument) return UnknownField(*kernel, row);
    dispatch.arguments.push_back(*argument);
  }
  dispatch.constants.assign(kernel->constants.size(), 0);
  encoder.SetConstants(*kernel, dispatch.constants);
  const uint64_t items = FitsVectors(program) ? program.count / 4 : program.count;
  dispatch.grid = FoldGrid(profile, StridedGroupCount(profile, *kernel, items));
  dispatch.kernel = kernel;
  dispatch.elementwise.reset();
  return absl::OkStatus();
}

// Prologue and epilogue: their blocks follow the kernel's own arguments in this order.
absl::Status FinishAttached(Dispatch& dispatch) {
  const Kernel& kernel = *dispatch.kernel;
  const size_t own = OwnArgumentCount(kernel);
  std::vector<Encoder> encoders;
  if (dispatch.prologue) encoders.emplace_back(*dispatch.prologue, "p", 0, OA_PROLOGUE_MAX_INPUTS);
  if (dispatch.epilogue) encoders.emplace_back(*dispatch.epilogue, "e", 1, OA_EPILOGUE_MAX_INPUTS);
  std::vector<Argument> block;
  for (size_t i = own; i < kernel.arguments.size(); ++i) {
    std::optional<Argument> argument;
    for (const Encoder& encoder : encoders) {
      if (!argument) argument = encoder.ArgumentFor(kernel.arguments[i]);
    }
    if (!argument) return UnknownField(kernel, kernel.arguments[i]);
    block.push_back(*argument);
  }
  const auto place = dispatch.arguments.begin() + static_cast<std::ptrdiff_t>(own);
  dispatch.arguments.insert(place, block.begin(), block.end());
  for (const Encoder& encoder : encoders) encoder.SetConstants(kernel, dispatch.constants);
  dispatch.prologue.reset();
  dispatch.epilogue.reset();
  return absl::OkStatus();
}

}  // namespace

absl::Status FinishElementwise(Program& program, const KernelPack& pack,
                               const DeviceProfile& profile) {
  for (Dispatch& dispatch : program.dispatches) {
    absl::Status status;
    if (dispatch.elementwise) {
      status = FinishProgram(dispatch, pack, profile);
    } else if (dispatch.prologue || dispatch.epilogue) {
      status = FinishAttached(dispatch);
    }
    OA_RETURN_IF_ERROR(Annotate(status, dispatch.label));
  }
  return absl::OkStatus();
}

}  // namespace oa::ir
