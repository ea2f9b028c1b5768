#include "ir/program.h"

#include <algorithm>

namespace oa::ir {
namespace {

void AddTouch(const BufferSlice& slice, Access access, std::vector<Touch>& touches) {
  if (slice.size_bytes != 0) touches.push_back({slice, access});
}

// Input 0 of an epilogue is the accumulator, not memory.
void AddProgram(const EwProgram& program, size_t first_input, std::vector<Touch>& touches) {
  for (size_t i = first_input; i < program.inputs.size(); ++i) {
    AddTouch(program.inputs[i].slice, Access::kRead, touches);
  }
  for (const EwOutput& output : program.outputs) AddTouch(output.slice, Access::kWrite, touches);
}

// Bytes of the distinct slices whose access satisfies `counts`.
uint64_t BytesOf(const Dispatch& dispatch, bool (*counts)(Access)) {
  std::vector<BufferSlice> seen;
  uint64_t bytes = 0;
  for (const Touch& touch : Touches(dispatch)) {
    if (!counts(touch.access)) continue;
    const auto same = [&](const BufferSlice& slice) { return SameBytes(slice, touch.slice); };
    if (std::any_of(seen.begin(), seen.end(), same)) continue;
    seen.push_back(touch.slice);
    bytes += touch.slice.size_bytes;
  }
  return bytes;
}

// Calls `visit` with every slice of the program, null ones included.
template <class Visitor>
void ForEachSlice(Program& program, Visitor visit) {
  for (Dispatch& dispatch : program.dispatches) {
    for (Argument& argument : dispatch.arguments) visit(argument.slice);
    for (std::optional<EwProgram>* code :
         {&dispatch.elementwise, &dispatch.prologue, &dispatch.epilogue}) {
      if (!code->has_value()) continue;
      for (EwInput& input : (*code)->inputs) visit(input.slice);
      for (EwOutput& output : (*code)->outputs) visit(output.slice);
    }
  }
}

}  // namespace

bool Overlap(const BufferSlice& a, const BufferSlice& b) {
  return a.buffer == b.buffer && a.size_bytes != 0 && b.size_bytes != 0 &&
         a.offset < b.offset + b.size_bytes && b.offset < a.offset + a.size_bytes;
}

bool SameBytes(const BufferSlice& a, const BufferSlice& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.size_bytes == b.size_bytes;
}

std::vector<Touch> Touches(const Dispatch& dispatch) {
  std::vector<Touch> touches;
  for (const Argument& argument : dispatch.arguments) {
    if (argument.kind == ArgumentKind::kBuffer) AddTouch(argument.slice, argument.access, touches);
  }
  if (dispatch.elementwise) AddProgram(*dispatch.elementwise, 0, touches);
  if (dispatch.prologue) AddProgram(*dispatch.prologue, 0, touches);
  if (dispatch.epilogue) AddProgram(*dispatch.epilogue, 1, touches);
  return touches;
}

uint64_t BytesRead(const Dispatch& dispatch) { return BytesOf(dispatch, Reads); }
uint64_t BytesWritten(const Dispatch& dispatch) { return BytesOf(dispatch, Writes); }

bool Conflicts(const Dispatch& a, const Dispatch& b) {
  const std::vector<Touch> left = Touches(a);
  const std::vector<Touch> right = Touches(b);
  for (const Touch& x : left) {
    for (const Touch& y : right) {
      if ((Writes(x.access) || Writes(y.access)) && Overlap(x.slice, y.slice)) return true;
    }
  }
  return false;
}

void DropUnusedTransients(Program& program) {
  std::vector<bool> used(program.buffers.size());
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    used[i] = program.buffers[i].kind != BufferKind::kTransient;
  }
  ForEachSlice(program, [&](BufferSlice& slice) {
    if (slice.size_bytes != 0) used[slice.buffer] = true;
  });
  std::vector<uint32_t> renumbered(program.buffers.size(), 0);
  std::vector<PlanBuffer> kept;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(program.buffers[i]));
  }
  program.buffers = std::move(kept);
  ForEachSlice(program, [&](BufferSlice& slice) {
    slice = slice.size_bytes == 0
                ? BufferSlice()
                : BufferSlice{renumbered[slice.buffer], slice.offset, slice.size_bytes};
  });
  for (PlanIo& io : program.inputs) io.buffer = renumbered[io.buffer];
  for (PlanIo& io : program.outputs) io.buffer = renumbered[io.buffer];
}

}  // namespace oa::ir
