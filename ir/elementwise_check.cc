#include "ir/elementwise_check.h"

#include <vector>

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

// A prologue or an epilogue.
std::string AttachedProblem(const EwProgram& program, const EwLimits& limits) {
  return program.strided() ? "is a prologue or epilogue with strided inputs"
                           : EwProblem(program, limits);
}

std::string PrologueProblem(const EwProgram& program) {
  for (const EwInstruction& code : program.code) {
    if (!EwIsCheap(code.op)) return absl::StrCat("has ", EwName(code.op), " in its prologue");
  }
  for (const EwInput& input : program.inputs) {
    if (input.type != OA_EW_TYPE_F32) return "has an input in its prologue that is not F32";
  }
  return AttachedProblem(program, kPrologueLimits);
}

using Slices = std::vector<BufferSlice>;

Slices InputsOf(const EwProgram& program) {
  Slices slices;
  for (const EwInput& input : program.inputs) slices.push_back(input.slice);
  return slices;
}

Slices OutputsOf(const EwProgram& program) {
  Slices slices;
  for (const EwOutput& output : program.outputs) slices.push_back(output.slice);
  return slices;
}

bool AnyOverlap(const Slices& a, const Slices& b) {
  for (const BufferSlice& x : a) {
    for (const BufferSlice& y : b) {
      if (Overlap(x, y)) return true;
    }
  }
  return false;
}

// What a prologue or epilogue writes against what the rest of the dispatch touches.
std::string SharedMemoryProblem(const Dispatch& d) {
  if (!d.prologue && !d.epilogue) return "";
  Slices arguments;
  for (const Argument& argument : d.arguments) {
    if (argument.kind == ArgumentKind::kBuffer) arguments.push_back(argument.slice);
  }
  if (d.epilogue && AnyOverlap(OutputsOf(*d.epilogue), arguments)) {
    return "has an epilogue that covers an argument of the kernel";
  }
  if (!d.prologue) return "";
  const Slices read = InputsOf(*d.prologue), stored = OutputsOf(*d.prologue);
  if (AnyOverlap(stored, arguments) || AnyOverlap(stored, read)) {
    return "has a prologue that covers what it or its kernel reads";
  }
  if (!d.epilogue) return "";
  const Slices results = OutputsOf(*d.epilogue);
  if (AnyOverlap(results, read) || AnyOverlap(results, stored) ||
      AnyOverlap(InputsOf(*d.epilogue), stored)) {
    return "has a prologue and an epilogue that share memory";
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
  for (size_t k = limits.first_memory_output; k < program.outputs.size() && problem.empty(); ++k) {
    problem = OutputProblem(program, limits, k);
  }
  return problem;
}

std::string EwProblem(const Dispatch& dispatch) {
  if (dispatch.elementwise) return EwProblem(*dispatch.elementwise, kElementwiseLimits);
  std::string problem;
  if (dispatch.prologue) problem = PrologueProblem(*dispatch.prologue);
  if (problem.empty() && dispatch.epilogue) {
    problem = AttachedProblem(*dispatch.epilogue, kEpilogueLimits);
  }
  return problem.empty() ? SharedMemoryProblem(dispatch) : problem;
}

}  // namespace oa::ir
