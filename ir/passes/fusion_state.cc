#include "ir/passes/fusion_state.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace oa::ir {

bool SameSlice(const BufferSlice& a, const BufferSlice& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.size_bytes == b.size_bytes;
}

bool SlicesOverlap(const BufferSlice& a, const BufferSlice& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.size_bytes &&
         b.offset < a.offset + a.size_bytes;
}

FusionState::FusionState(Program& program)
    : program_(program), alive_(program.dispatches.size(), true),
      touching_(program.buffers.size()) {
  for (uint32_t d = 0; d < size(); ++d) Index(d);
}

void FusionState::Index(uint32_t d) {
  for (const Touch& touch : Touches(at(d))) {
    std::vector<uint32_t>& list = touching_[touch.slice.buffer];
    const auto it = std::lower_bound(list.begin(), list.end(), d);
    if (it == list.end() || *it != d) list.insert(it, d);
  }
}

std::optional<uint32_t> FusionState::WriterBefore(uint32_t d, const BufferSlice& slice) const {
  const std::vector<uint32_t>& list = touching_[slice.buffer];
  for (auto it = std::lower_bound(list.begin(), list.end(), d); it != list.begin();) {
    const uint32_t candidate = *--it;
    if (!alive_[candidate]) continue;
    for (const Touch& touch : Touches(program_.dispatches[candidate])) {
      if (Writes(touch.access) && SlicesOverlap(touch.slice, slice)) return candidate;
    }
  }
  return std::nullopt;
}

bool FusionState::NeededBeyond(uint32_t a, uint32_t b, const BufferSlice& slice) const {
  if (program_.buffers[slice.buffer].kind != BufferKind::kTransient) return true;
  for (uint32_t d : touching_[slice.buffer]) {
    if (!alive_[d] || d == a || d == b) continue;
    for (const Touch& touch : Touches(program_.dispatches[d])) {
      if (Reads(touch.access) && SlicesOverlap(touch.slice, slice)) return true;
    }
  }
  return false;
}

bool FusionState::CanMove(uint32_t from, uint32_t to) const {
  const uint32_t low = std::min(from, to), high = std::max(from, to);
  for (const Touch& touch : Touches(program_.dispatches[from])) {
    const std::vector<uint32_t>& list = touching_[touch.slice.buffer];
    for (auto it = std::upper_bound(list.begin(), list.end(), low);
         it != list.end() && *it < high; ++it) {
      if (alive_[*it] && Conflicts(program_.dispatches[from], program_.dispatches[*it])) {
        return false;
      }
    }
  }
  return true;
}

std::optional<uint32_t> FusionState::MeetingPlace(uint32_t first, uint32_t second) const {
  if (CanMove(second, first)) return first;
  if (CanMove(first, second)) return second;
  return std::nullopt;
}

void FusionState::Replace(uint32_t first, uint32_t second, uint32_t place, Dispatch merged,
                          const char* rule) {
  const Dispatch& a = at(first);
  const Dispatch& b = at(second);
  const uint64_t before = BytesRead(a) + BytesWritten(a) + BytesRead(b) + BytesWritten(b);
  const uint64_t after = BytesRead(merged) + BytesWritten(merged);
  merged.label = absl::StrCat(a.label, "+", b.label);
  merged.flops = a.flops + b.flops;
  merged.nodes = a.nodes;
  merged.nodes.insert(merged.nodes.end(), b.nodes.begin(), b.nodes.end());
  std::sort(merged.nodes.begin(), merged.nodes.end());
  merged.nodes.erase(std::unique(merged.nodes.begin(), merged.nodes.end()), merged.nodes.end());
  notes_.push_back({merged.label, rule, before > after ? before - after : 0});
  const uint32_t gone = place == first ? second : first;
  alive_[gone] = false;
  at(place) = std::move(merged);
  Index(place);
}

std::vector<FusionNote> FusionState::Finish() {
  std::vector<Dispatch> kept;
  for (uint32_t d = 0; d < size(); ++d) {
    if (alive_[d]) kept.push_back(std::move(at(d)));
  }
  program_.dispatches = std::move(kept);
  return std::move(notes_);
}

namespace {

bool SameInput(const EwInput& a, const EwInput& b) {
  return SameSlice(a.slice, b.slice) && a.type == b.type && a.mode == b.mode && a.div == b.div &&
         a.mod == b.mod && a.strides == b.strides;
}

// Builds the concatenation; registers are resolved through the tables of both halves.
class Concatenation {
 public:
  Concatenation(const EwProgram& first, const EwProgram& second, bool accumulator)
      : first_(first), second_(second), accumulator_(accumulator) {}

  EwProgram Build(const std::vector<bool>& keep) {
    result_.count = first_.count;
    result_.extents = first_.strided() ? first_.extents : second_.extents;
    for (size_t i = 0; i < first_.inputs.size(); ++i) {
      first_inputs_.push_back(AddInput(first_.inputs[i], accumulator_ && i == 0));
    }
    for (const EwInput& input : second_.inputs) second_inputs_.push_back(SecondInput(input));
    for (const EwInstruction& i : first_.code) AddCode(i, /*second=*/false);
    for (const EwInstruction& i : second_.code) AddCode(i, /*second=*/true);
    for (size_t o = 0; o < first_.outputs.size(); ++o) {
      if (keep[o]) AddOutput(first_.outputs[o], /*second=*/false);
    }
    for (const EwOutput& output : second_.outputs) AddOutput(output, /*second=*/true);
    return std::move(result_);
  }

 private:
  // Where a register of a half lives in the result: an input, or an instruction.
  struct Place {
    bool input;
    size_t index;
  };

  Place AddInput(const EwInput& input, bool accumulator) {
    for (size_t i = accumulator_ ? 1 : 0; i < result_.inputs.size() && !accumulator; ++i) {
      if (SameInput(result_.inputs[i], input)) return {true, i};
    }
    result_.inputs.push_back(input);
    return {true, result_.inputs.size() - 1};
  }

  Place SecondInput(const EwInput& input) {
    for (const EwOutput& output : first_.outputs) {
      if (!SameSlice(output.slice, input.slice)) continue;
      return FirstRegister(output.reg);
    }
    return AddInput(input, false);
  }

  Place FirstRegister(uint8_t reg) const {
    if (reg < first_.inputs.size()) return first_inputs_[reg];
    return {false, reg - first_.inputs.size()};
  }

  Place SecondRegister(uint8_t reg) const {
    if (reg < second_.inputs.size()) return second_inputs_[reg];
    return {false, first_.code.size() + reg - second_.inputs.size()};
  }

  // Valid only once all inputs are in place.
  uint8_t Resolve(uint8_t reg, bool second) const {
    const Place place = second ? SecondRegister(reg) : FirstRegister(reg);
    return static_cast<uint8_t>(place.input ? place.index : result_.inputs.size() + place.index);
  }

  void AddCode(EwInstruction instruction, bool second) {
    instruction.a = Resolve(instruction.a, second);
    instruction.b = EwArity(instruction.op) == 2 ? Resolve(instruction.b, second) : 0;
    result_.code.push_back(instruction);
  }

  void AddOutput(EwOutput output, bool second) {
    output.reg = Resolve(output.reg, second);
    result_.outputs.push_back(output);
  }

  const EwProgram& first_;
  const EwProgram& second_;
  bool accumulator_;
  EwProgram result_;
  std::vector<Place> first_inputs_, second_inputs_;
};

// An element that one invocation writes may be read only by that invocation: overlapping inputs
// and outputs must be the same slice, read linearly.
bool ReadsOnlyOwnElements(const EwProgram& program, size_t first_input) {
  for (size_t i = first_input; i < program.inputs.size(); ++i) {
    for (const EwOutput& output : program.outputs) {
      const EwInput& input = program.inputs[i];
      if (!SlicesOverlap(input.slice, output.slice)) continue;
      if (input.mode != OA_EW_LINEAR || !SameSlice(input.slice, output.slice)) return false;
    }
  }
  return true;
}

bool OutputsDisjoint(const EwProgram& program) {
  for (size_t a = 0; a < program.outputs.size(); ++a) {
    for (size_t b = a + 1; b < program.outputs.size(); ++b) {
      if (SlicesOverlap(program.outputs[a].slice, program.outputs[b].slice)) return false;
    }
  }
  return true;
}

// The second half sees the first half's results only element by element.
bool ReadsResultsLinearly(const EwProgram& first, const EwProgram& second) {
  for (const EwInput& input : second.inputs) {
    for (const EwOutput& output : first.outputs) {
      if (!SlicesOverlap(input.slice, output.slice)) continue;
      const bool word = input.type == OA_EW_TYPE_F32 || input.type == OA_EW_TYPE_RAW;
      if (input.mode != OA_EW_LINEAR || !word || !SameSlice(input.slice, output.slice)) {
        return false;
      }
    }
  }
  // The second half must not overwrite what the first half's other invocations still read, nor the
  // same bytes twice.
  return true;
}

}  // namespace

std::optional<EwProgram> ConcatPrograms(const EwProgram& first, const EwProgram& second,
                                        const std::vector<bool>& keep, bool accumulator,
                                        const ProgramLimits& limits) {
  if (first.count != second.count) return std::nullopt;
  if (first.strided() && second.strided() && first.extents != second.extents) return std::nullopt;
  if (!limits.strided && second.strided()) return std::nullopt;
  if (!ReadsResultsLinearly(first, second)) return std::nullopt;
  EwProgram result = Concatenation(first, second, accumulator).Build(keep);
  if (result.inputs.size() > limits.inputs || result.outputs.size() > limits.outputs ||
      result.code.size() > limits.slots) {
    return std::nullopt;
  }
  if (!ReadsOnlyOwnElements(result, accumulator ? 1 : 0) || !OutputsDisjoint(result)) {
    return std::nullopt;
  }
  return result;
}

}  // namespace oa::ir
