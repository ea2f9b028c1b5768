#include "ir/elementwise_check.h"

#include "absl/strings/str_cat.h"

namespace oa::ir {
namespace {

std::string SizeProblem(const EwProgram& program, const EwLimits& limits) {
  if (program.inputs.size() > limits.inputs || program.outputs.size() > limits.outputs ||
      program.code.size() > limits.slots) {
    return absl::StrCat("has ", program.inputs.size(), " inputs, ", program.outputs.size(),
                        " outputs and ", program.code.size(), " instructions; the limits are ",
                        limits.inputs, ", ", limits.outputs, " and ", limits.slots);
  }
  if (program.inputs.size() < limits.first_memory_input) return "has no accumulator";
  if (program.outputs.empty()) return "has no outputs";
  if (program.count == 0 || program.count > INT32_MAX) {
    return absl::StrCat("works on ", program.count, " elements; 1 to ", INT32_MAX, " are allowed");
  }
  return "";
}

std::string RegisterProblem(const EwProgram& program) {
  const size_t inputs = program.inputs.size();
  for (size_t k = 0; k < program.code.size(); ++k) {
    const EwInstruction& code = program.code[k];
    const bool b_read = EwArity(code.op) == 2;
    if (code.a >= inputs + k || (b_read && code.b >= inputs + k)) {
      return absl::StrCat("instruction ", k, " reads a register that is not set yet");
    }
  }
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    if (program.outputs[k].reg >= inputs + program.code.size()) {
      return absl::StrCat("output ", k, " names register ", program.outputs[k].reg, " of ",
                          inputs + program.code.size());
    }
  }
  return "";
}

std::string InputProblem(const EwProgram& program, size_t k) {
  const EwInput& input = program.inputs[k];
  if (input.mode > OA_EW_STRIDED || input.type > OA_EW_TYPE_RAW) {
    return absl::StrCat("input ", k, " has an unknown mode or type");
  }
  const uint64_t read = input.mode == OA_EW_LINEAR ? program.count : input.count;
  if (input.slice.size_bytes < read * EwTypeBytes(input.type)) {
    return absl::StrCat("input ", k, " reads ", read, " elements of ", EwTypeBytes(input.type),
                        " bytes from ", input.slice.size_bytes, " bytes");
  }
  if (input.mode == OA_EW_PERIODIC && (input.div == 0 || input.mod == 0)) {
    return absl::StrCat("input ", k, " is periodic with a divisor of 0");
  }
  if (input.mode == OA_EW_STRIDED &&
      (program.extents.empty() || input.strides.size() != program.extents.size())) {
    return absl::StrCat("input ", k, " has ", input.strides.size(), " strides for ",
                        program.extents.size(), " extents");
  }
  return "";
}

std::string OutputProblem(const EwProgram& program, const EwLimits& limits, size_t k) {
  const BufferSlice& out = program.outputs[k].slice;
  if (out.size_bytes != program.count * sizeof(float)) {
    return absl::StrCat("output ", k, " has ", out.size_bytes, " bytes for ", program.count,
                        " elements");
  }
  for (size_t j = 0; j < k; ++j) {
    if (Overlap(out, program.outputs[j].slice)) {
      return absl::StrCat("outputs ", j, " and ", k, " overlap");
    }
  }
  for (size_t i = limits.first_memory_input; i < program.inputs.size(); ++i) {
    const EwInput& input = program.inputs[i];
    if (!Overlap(out, input.slice)) continue;
    const bool same_element = input.mode == OA_EW_LINEAR && input.slice.offset == out.offset &&
                              EwTypeBytes(input.type) == sizeof(float);
    if (!same_element) {
      return absl::StrCat("output ", k, " covers elements of input ", i,
                          " that other invocations read");
    }
  }
  return "";
}

}  // namespace

uint64_t EwTypeBytes(uint8_t type) {
  switch (type) {
    case OA_EW_TYPE_U8:
      return 1;
    case OA_EW_TYPE_BF16:
      return 2;
    default:
      return 4;
  }
}

std::string EwProblem(const EwProgram& program, const EwLimits& limits) {
  std::string problem = SizeProblem(program, limits);
  if (problem.empty()) problem = RegisterProblem(program);
  for (size_t k = limits.first_memory_input; k < program.inputs.size() && problem.empty(); ++k) {
    problem = InputProblem(program, k);
  }
  for (size_t k = 0; k < program.outputs.size() && problem.empty(); ++k) {
    problem = OutputProblem(program, limits, k);
  }
  return problem;
}

std::string EwProblem(const Dispatch& dispatch) {
  if (dispatch.elementwise) return EwProblem(*dispatch.elementwise, kElementwiseLimits);
  if (!dispatch.epilogue) return "";
  const EwProgram& epilogue = *dispatch.epilogue;
  if (epilogue.strided()) return "is an epilogue with strided inputs";
  std::string problem = EwProblem(epilogue, kEpilogueLimits);
  for (size_t k = 0; k < epilogue.outputs.size() && problem.empty(); ++k) {
    for (const Argument& argument : dispatch.arguments) {
      if (argument.kind != ArgumentKind::kBuffer) continue;
      if (!Overlap(argument.slice, epilogue.outputs[k].slice)) continue;
      problem = absl::StrCat("output ", k, " of the epilogue covers an argument of the kernel");
    }
  }
  return problem;
}

}  // namespace oa::ir
