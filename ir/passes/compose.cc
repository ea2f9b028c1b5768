// Local value numbering (Cocke & Schwartz 1970) over two straight-line programs, then removal of
// what no output needs.
#include "ir/passes/compose.h"

#include <bit>
#include <functional>
#include <optional>
#include <tuple>

#include "ir/program.h"

namespace oa::ir {
namespace {

bool SameInput(const EwInput& a, const EwInput& b) {
  return SameBytes(a.slice, b.slice) &&
         std::tie(a.type, a.mode, a.div, a.mod, a.count, a.strides) ==
             std::tie(b.type, b.mode, b.div, b.mod, b.count, b.strides);
}

// An input or an instruction of the program under construction.
struct Node {
  bool is_input = false;
  EwInput input;
  uint8_t op = OA_EW_COPY;
  int a = 0, b = 0;  // node indices
  float scalar = 0;
  bool live = false;
};

class Composer {
 public:
  explicit Composer(const EwLimits& limits) : limits_(limits) {}

  // Appends `program`; its registers become node indices. `known` may name the node that already
  // holds an input's value.
  std::vector<int> Append(const EwProgram& program,
                          const std::function<std::optional<int>(const EwInput&)>& known) {
    std::vector<int> registers;
    for (const EwInput& input : program.inputs) {
      const std::optional<int> node = known(input);
      registers.push_back(node ? *node : Input(input));
    }
    for (const EwInstruction& code : program.code) {
      const int a = registers[code.a];
      registers.push_back(
          Instruction(code.op, a, EwArity(code.op) == 2 ? registers[code.b] : a, code.scalar));
    }
    return registers;
  }

  void Output(int node, const BufferSlice& slice) { outputs_.emplace_back(node, slice); }

  EwProgram Build(uint64_t count, std::vector<uint32_t> extents) {
    MarkLive();
    EwProgram program;
    program.count = count;
    std::vector<uint8_t> reg(nodes_.size(), 0);
    bool strided = false;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (!nodes_[n].live || !nodes_[n].is_input) continue;
      reg[n] = static_cast<uint8_t>(program.inputs.size());
      strided |= nodes_[n].input.mode == OA_EW_STRIDED;
      program.inputs.push_back(nodes_[n].input);
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      if (!node.live || node.is_input) continue;
      reg[n] = static_cast<uint8_t>(program.inputs.size() + program.code.size());
      const uint8_t b = EwArity(node.op) == 2 ? reg[node.b] : uint8_t{0};
      program.code.push_back({node.op, reg[node.a], b, node.scalar});
    }
    for (const auto& [node, slice] : outputs_) program.outputs.push_back({reg[node], slice});
    if (strided) program.extents = std::move(extents);
    return program;
  }

 private:
  // Registers that the machine fills are never shared with an input from memory.
  int Input(const EwInput& input) {
    for (size_t n = limits_.first_memory_input; n < nodes_.size(); ++n) {
      if (nodes_[n].is_input && SameInput(nodes_[n].input, input)) return static_cast<int>(n);
    }
    Node node;
    node.is_input = true;
    node.input = input;
    node.live = nodes_.size() < limits_.first_memory_input;  // the machine always has it
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  int Instruction(uint8_t op, int a, int b, float scalar) {
    if (op == OA_EW_COPY) return a;
    const auto bits = std::bit_cast<uint32_t>(scalar);
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const Node& other = nodes_[n];
      if (!other.is_input && other.op == op && other.a == a && other.b == b &&
          std::bit_cast<uint32_t>(other.scalar) == bits) {
        return static_cast<int>(n);
      }
    }
    Node node;
    node.op = op;
    node.a = a;
    node.b = b;
    node.scalar = scalar;
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  // Operands come before the instructions that read them.
  void MarkLive() {
    for (const auto& [node, slice] : outputs_) nodes_[node].live = true;
    for (size_t n = nodes_.size(); n-- > 0;) {
      if (!nodes_[n].live || nodes_[n].is_input) continue;
      nodes_[nodes_[n].a].live = true;
      nodes_[nodes_[n].b].live = true;
    }
  }

  const EwLimits& limits_;
  std::vector<Node> nodes_;
  std::vector<std::pair<int, BufferSlice>> outputs_;
};

}  // namespace

bool CanCompose(const EwProgram& first, const EwProgram& second) {
  if (first.count != second.count) return false;
  if (first.strided() && second.strided() && first.extents != second.extents) return false;
  for (const EwInput& input : second.inputs) {
    for (const EwOutput& output : first.outputs) {
      if (!Overlap(input.slice, output.slice)) continue;
      const bool float_bits = input.type == OA_EW_TYPE_F32 || input.type == OA_EW_TYPE_RAW;
      if (input.mode != OA_EW_LINEAR || !float_bits || !SameBytes(input.slice, output.slice)) {
        return false;
      }
    }
  }
  return true;
}

EwProgram Compose(const EwProgram& first, const EwProgram& second, const std::vector<bool>& keep,
                  const EwLimits& limits) {
  Composer composer(limits);
  const auto unknown = [](const EwInput&) -> std::optional<int> { return std::nullopt; };
  const std::vector<int> first_registers = composer.Append(first, unknown);
  const auto from_first = [&](const EwInput& input) -> std::optional<int> {
    for (const EwOutput& output : first.outputs) {
      if (SameBytes(input.slice, output.slice)) return first_registers[output.reg];
    }
    return std::nullopt;
  };
  const std::vector<int> second_registers = composer.Append(second, from_first);
  for (size_t k = 0; k < first.outputs.size(); ++k) {
    if (keep[k]) composer.Output(first_registers[first.outputs[k].reg], first.outputs[k].slice);
  }
  for (const EwOutput& output : second.outputs) {
    composer.Output(second_registers[output.reg], output.slice);
  }
  return composer.Build(first.count, first.strided() ? first.extents : second.extents);
}

}  // namespace oa::ir
