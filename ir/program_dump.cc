// Text of the lowered program, one line a buffer and a dispatch, for `--dump-after`.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/program.h"

namespace oa::ir {
namespace {

// "b2'w1'" for a whole buffer, "b2'w1'[256+128]" for 128 bytes at byte 256, "-" for null.
std::string SliceText(const Program& program, const BufferSlice& slice) {
  if (slice.size_bytes == 0) return "-";
  const PlanBuffer& buffer = program.buffers[slice.buffer];
  std::string text = absl::StrCat("b", slice.buffer);
  if (!buffer.name.empty()) absl::StrAppend(&text, "'", buffer.name, "'");
  if (slice.offset != 0 || slice.size_bytes != buffer.size_bytes) {
    absl::StrAppend(&text, "[", slice.offset, "+", slice.size_bytes, "]");
  }
  return text;
}

std::string InputText(const Program& program, const EwInput& input) {
  static constexpr const char* kTypes[] = {"", " u8", " i32", " u32", " bf16", " raw"};
  std::string text = SliceText(program, input.slice);
  if (input.type <= OA_EW_TYPE_RAW) absl::StrAppend(&text, kTypes[input.type]);
  switch (input.mode) {
    case OA_EW_SCALAR:
      return absl::StrCat(text, " scalar");
    case OA_EW_PERIODIC:
      return absl::StrCat(text, " periodic /", input.div, " %", input.mod);
    case OA_EW_STRIDED:
      return absl::StrCat(text, " strided (", absl::StrJoin(input.strides, ","), ")");
    default:
      return text;
  }
}

// "out0 = t0 {in0: b1; out0: b2} [32]"
std::string EwProgramText(const Program& program, const EwProgram& code, size_t first_input) {
  std::vector<std::string> operands;
  for (size_t k = first_input; k < code.inputs.size(); ++k) {
    operands.push_back(absl::StrCat("in", k, ": ", InputText(program, code.inputs[k])));
  }
  for (size_t k = 0; k < code.outputs.size(); ++k) {
    operands.push_back(absl::StrCat("out", k, ": ", SliceText(program, code.outputs[k].slice)));
  }
  const std::string extents =
      code.strided() ? absl::StrJoin(code.extents, ",") : absl::StrCat(code.count);
  return absl::StrCat("[", extents, "] {", EwText(code), "} {", absl::StrJoin(operands, "; "), "}");
}

std::string TouchesText(const Program& program, const std::vector<Touch>& touches) {
  return absl::StrJoin(touches, ", ", [&](std::string* out, const Touch& touch) {
    absl::StrAppend(out, AccessName(touch.access), " ", SliceText(program, touch.slice));
  });
}

std::string DispatchText(const Program& program, size_t index) {
  const Dispatch& dispatch = program.dispatches[index];
  std::string text = absl::StrFormat("  %4d", index);
  if (program.stage_count != 0) absl::StrAppendFormat(&text, " stage %d", dispatch.stage);
  absl::StrAppend(&text, " ", dispatch.label, ": ");
  if (dispatch.elementwise) {
    return absl::StrCat(text, "elementwise ", EwProgramText(program, *dispatch.elementwise, 0));
  }
  Dispatch own = dispatch;
  own.prologue.reset();
  own.epilogue.reset();
  absl::StrAppend(&text, dispatch.kernel->name, " grid ", absl::StrJoin(dispatch.grid, "x"), " (",
                  TouchesText(program, Touches(own)), ")");
  if (dispatch.prologue) {
    absl::StrAppend(&text, " prologue ", EwProgramText(program, *dispatch.prologue, 0));
  }
  if (dispatch.epilogue) {
    absl::StrAppend(&text, " epilogue ", EwProgramText(program, *dispatch.epilogue, 1));
  }
  return text;
}

std::string BufferText(const Program& program, size_t index) {
  const PlanBuffer& buffer = program.buffers[index];
  std::string text = absl::StrFormat("  b%d %s %s '%s'", index, BufferKindName(buffer.kind),
                                     TypeText(buffer.dtype, buffer.shape), buffer.name);
  if (!program.arenas.empty()) {
    absl::StrAppendFormat(&text, " at %d:%d", buffer.arena, buffer.offset);
    if (buffer.kind == BufferKind::kTransient) {
      absl::StrAppendFormat(&text, " stages %d-%d", buffer.first_stage, buffer.last_stage);
    }
  }
  return text;
}

void AppendIo(const char* word, const std::vector<PlanIo>& list, std::string& text) {
  for (const PlanIo& io : list) {
    absl::StrAppend(&text, "  ", word, " '", io.name, "' ", TypeText(io.dtype, io.shape), " in b",
                    io.buffer, "\n");
  }
}

}  // namespace

std::string DumpProgram(const Program& program) {
  std::string text = absl::StrFormat("program '%s' of graph %016x\nbuffers:\n", program.name,
                                     program.graph_identity);
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    absl::StrAppend(&text, BufferText(program, i), "\n");
  }
  AppendIo("input", program.inputs, text);
  AppendIo("output", program.outputs, text);
  absl::StrAppend(&text, "dispatches:\n");
  for (size_t i = 0; i < program.dispatches.size(); ++i) {
    absl::StrAppend(&text, DispatchText(program, i), "\n");
  }
  return text;
}

}  // namespace oa::ir
