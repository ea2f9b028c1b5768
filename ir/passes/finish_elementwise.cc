// The argument blocks are filled by name (kernels/elementwise/kernels.json, the epilogue block in
// kernels/common/epilogue.glsl), so their order is known in one place only.
//
// Kernel registers: inputs sit at 0 .. max_inputs-1, the result of instruction k at max_inputs + k;
// in the program it is inputs.size() + k.
#include "ir/passes/finish_elementwise.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/lower.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

struct Machine {
  size_t max_inputs;
  size_t first_input;     // input 0 of an epilogue is the accumulator, not an argument
  const char* prefix;     // of argument and constant names
};
constexpr Machine kElementwise = {OA_EW_MAX_INPUTS, 0, ""};
constexpr Machine kEpilogue = {OA_EPILOGUE_MAX_INPUTS, 1, "e"};

// Values of a program's fields by the names kernels declare.
class Fields {
 public:
  Fields(const EwProgram& program, const Machine& machine) : program_(program), machine_(machine) {}

  // The argument called `name`, or nullopt when it is not one of this machine's.
  std::optional<Argument> ArgumentFor(const KernelArgument& declared) const {
    std::string field;
    size_t index;
    if (!Split(declared.name, field, index)) return std::nullopt;
    Argument argument;
    argument.kind = declared.kind;
    argument.access = declared.access;
    if (field == "in") {
      if (HasInput(index)) argument.slice = program_.inputs[index].slice;
    } else if (field == "out") {
      if (index < program_.outputs.size()) argument.slice = program_.outputs[index].slice;
    } else if (field == "s") {
      const bool used = index < program_.code.size();
      argument.bits = std::bit_cast<uint32_t>(used ? program_.code[index].scalar : 0.0f);
    } else {
      const std::optional<uint32_t> word = Word(field, index);
      if (!word) return std::nullopt;
      argument.bits = *word;
    }
    return argument;
  }

  std::optional<uint32_t> ConstantFor(const std::string& name) const {
    std::string field;
    size_t index;
    if (!Split(name, field, index)) return std::nullopt;
    if (field == "inputs") return program_.inputs.size();
    if (field == "outputs") return program_.outputs.size();
    if (field == "slots") return program_.code.size();
    if (field == "mode") return HasInput(index) ? program_.inputs[index].mode : 0;
    if (field == "type") return HasInput(index) ? program_.inputs[index].type : 0;
    if (field == "code") return index < program_.code.size() ? Code(program_.code[index]) : 0;
    if (field == "oreg") {
      return index < program_.outputs.size() ? Register(program_.outputs[index].reg) : 0;
    }
    return std::nullopt;
  }

 private:
  // "emod2" with prefix "e" -> "mod", 2; index 0 where the name has no number.
  bool Split(absl::string_view name, std::string& field, size_t& index) const {
    const size_t prefix = std::string(machine_.prefix).size();
    if (name.substr(0, prefix) != machine_.prefix) return false;
    name.remove_prefix(prefix);
    const size_t letters = std::min(name.find_first_of("0123456789"), name.size());
    field = std::string(name.substr(0, letters));
    index = 0;
    return letters == name.size() || absl::SimpleAtoi(name.substr(letters), &index);
  }

  bool HasInput(size_t index) const {
    return index >= machine_.first_input && index < program_.inputs.size();
  }

  std::optional<uint32_t> Word(const std::string& field, size_t index) const {
    const bool used = HasInput(index);
    if (field == "count") return static_cast<uint32_t>(program_.count);
    if (field == "div") return used ? program_.inputs[index].div : 1;
    if (field == "mod") return used ? program_.inputs[index].mod : 1;
    if (field == "len") return used ? static_cast<uint32_t>(program_.inputs[index].count) : 1;
    if (field == "rank") return static_cast<uint32_t>(program_.extents.size());
    if (field == "extents") return index < program_.extents.size() ? program_.extents[index] : 1;
    if (field == "strides") {
      const size_t input = index / kMaxRank, axis = index % kMaxRank;
      if (!HasInput(input) || axis >= program_.inputs[input].strides.size()) return 0;
      return program_.inputs[input].strides[axis];
    }
    return std::nullopt;
  }

  uint32_t Register(uint8_t reg) const {
    if (reg < program_.inputs.size()) return reg;
    return static_cast<uint32_t>(machine_.max_inputs + reg - program_.inputs.size());
  }

  uint32_t Code(const EwInstruction& instruction) const {
    return instruction.op | Register(instruction.a) << 8 | Register(instruction.b) << 16;
  }

  const EwProgram& program_;
  const Machine& machine_;
};

absl::Status Unknown(const Kernel& kernel, const std::string& name) {
  return absl::InternalError(
      absl::StrCat("kernel '", kernel.name, "' declares '", name, "', which no program fills"));
}

// Four elements an invocation: every index must stay a multiple of four or constant.
bool FitsVec4(const EwProgram& program) {
  if (program.count % 4 != 0 || program.strided()) return false;
  return std::all_of(program.inputs.begin(), program.inputs.end(), [](const EwInput& input) {
    return input.mode != OA_EW_PERIODIC || input.div % 4 == 0 ||
           (input.div == 1 && input.mod % 4 == 0);
  });
}

std::string BaseName(const EwProgram& program, bool vec4) {
  if (program.strided()) return "elementwise_strided_f32_s16";
  return absl::StrCat("elementwise_f32_s", program.code.size() <= 4 ? 4 : 16, vec4 ? "_v4" : "");
}

absl::Status FinishProgram(Dispatch& dispatch, const KernelPack& pack,
                           const DeviceProfile& profile) {
  const EwProgram program = *std::move(dispatch.elementwise);
  dispatch.elementwise.reset();
  const bool vec4 = FitsVec4(program);
  OA_ASSIGN_OR_RETURN(dispatch.kernel, pack.Select(BaseName(program, vec4), profile));
  const Fields fields(program, kElementwise);
  for (const KernelArgument& declared : dispatch.kernel->arguments) {
    const std::optional<Argument> argument = fields.ArgumentFor(declared);
    if (!argument) return Unknown(*dispatch.kernel, declared.name);
    dispatch.arguments.push_back(*argument);
  }
  for (const KernelConstant& declared : dispatch.kernel->constants) {
    const std::optional<uint32_t> value = fields.ConstantFor(declared.name);
    if (!value) return Unknown(*dispatch.kernel, declared.name);
    dispatch.constants.push_back(*value);
  }
  dispatch.grid = FoldGrid(
      profile, StridedGroups(profile, *dispatch.kernel, vec4 ? program.count / 4 : program.count));
  return absl::OkStatus();
}

absl::Status FinishEpilogue(Dispatch& dispatch) {
  const EwProgram program = *std::move(dispatch.epilogue);
  dispatch.epilogue.reset();
  const Fields fields(program, kEpilogue);
  const Kernel& kernel = *dispatch.kernel;
  for (size_t i = dispatch.arguments.size(); i < kernel.arguments.size(); ++i) {
    const std::optional<Argument> argument = fields.ArgumentFor(kernel.arguments[i]);
    if (!argument) return Unknown(kernel, kernel.arguments[i].name);
    dispatch.arguments.push_back(*argument);
  }
  for (size_t i = 0; i < kernel.constants.size(); ++i) {
    const std::optional<uint32_t> value = fields.ConstantFor(kernel.constants[i].name);
    if (value) dispatch.constants[i] = *value;  // the others belong to the kernel itself
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FinishElementwise(Program& program, const KernelPack& pack,
                               const DeviceProfile& profile) {
  for (Dispatch& dispatch : program.dispatches) {
    if (dispatch.elementwise) {
      OA_RETURN_IF_ERROR(Annotate(FinishProgram(dispatch, pack, profile), dispatch.label));
    }
    if (dispatch.epilogue) OA_RETURN_IF_ERROR(FinishEpilogue(dispatch));
  }
  return absl::OkStatus();
}

}  // namespace oa::ir
