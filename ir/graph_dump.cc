// DumpGraph: one line for each input, persistent storage, node, output and test vector.
//
//   graph "digits" 0x0123456789abcdef
//     %0 = input "x" : f32[32, 64]
//     %1 = parameter "w1" : f32[128, 64]  data, kaiming_uniform(seed=1)
//     %3 = linear(%0, %1, -) : f32[32, 128]  id=0xcbf29ce484222325 "encoder"
//     %4 = reshape(%3, shape=[4096]) : f32[4096] view of %3  id=...
//     %9 = sgd_step(%1!, %8, -, %2, ...) : f32[128, 64] version 1 of "w1"  id=...
//     output "loss" = %7
//
// `!` marks an operand that is updated in place, `-` an absent operand, `_` an unwanted result.
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/graph.h"
#include "ir/op.h"

namespace oa::ir {
namespace {

// Names come from files too: they must not be able to fake a line.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\"");
}

std::string Initial(const Storage& storage) {
  if (!IsPersistent(storage.kind)) return "";
  std::string text = storage.init == InitKind::kData
                         ? "  data"
                         : absl::StrFormat("  fill 0x%08x", storage.fill_bits);
  if (!storage.initialiser.empty()) {
    absl::StrAppend(&text, ", ", absl::Utf8SafeCEscape(storage.initialiser));
  }
  return text;
}

std::string SourceLine(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  const Storage& storage = graph.storage_of(id);
  return absl::StrCat("  %", id, " = ", BufferKindName(storage.kind), " ", Quoted(storage.name),
                      " : ", TypeText(value.dtype, value.shape), Initial(storage), "\n");
}

std::string Operands(const Node& node) {
  std::string text;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i > 0) text += ", ";
    if (node.inputs[i] == kAbsent) {
      text += "-";
    } else {
      absl::StrAppend(&text, "%", node.inputs[i], node.op->operand(i).mutated ? "!" : "");
    }
  }
  const std::string attributes = AttributesText(node.attributes);
  return absl::StrCat(text, text.empty() || attributes.empty() ? "" : ", ", attributes);
}

// "f32[2, 3]", and where it lives when that is not a storage of its own.
std::string ResultText(const Graph& graph, const Node& node, ValueId id) {
  if (id == kAbsent) return "_";
  const Value& value = graph.value(id);
  std::string text = TypeText(value.dtype, value.shape);
  for (ValueId input : node.inputs) {
    if (input == kAbsent || graph.value(input).storage != value.storage) continue;
    if (graph.value(input).version == value.version) {
      absl::StrAppend(&text, " view of %", input);
    } else {
      const std::string& name = graph.storage_of(id).name;
      absl::StrAppend(&text, " version ", value.version, " of ",
                      name.empty() ? absl::StrCat("%", input) : Quoted(name));
    }
    break;
  }
  return text;
}

std::string NodeLine(const Graph& graph, const Node& node) {
  const auto id_text = [](std::string* out, ValueId id) {
    absl::StrAppend(out, id == kAbsent ? "_" : absl::StrCat("%", id));
  };
  const auto result_text = [&](std::string* out, ValueId id) {
    absl::StrAppend(out, ResultText(graph, node, id));
  };
  return absl::StrCat("  ", absl::StrJoin(node.outputs, ", ", id_text), " = ", node.op->name, "(",
                      Operands(node), ") : ", absl::StrJoin(node.outputs, ", ", result_text),
                      absl::StrFormat("  id=0x%016x", node.config_identity),
                      node.label.empty() ? "" : absl::StrCat(" ", Quoted(node.label)), "\n");
}

std::string TestVectorLine(const TestVector& vector) {
  const auto name = [](std::string* out, const TestTensor& tensor) {
    absl::StrAppend(out, Quoted(tensor.name));
  };
  return absl::StrCat("  test vector ", Quoted(vector.name), ": ", vector.replays,
                      vector.replays == 1 ? " replay, (" : " replays, (",
                      absl::StrJoin(vector.inputs, ", ", name), ") -> (",
                      absl::StrJoin(vector.outputs, ", ", name), ")\n");
}

}  // namespace

std::string DumpGraph(const Graph& graph) {
  std::string text = absl::StrCat("graph ", Quoted(graph.name()),
                                  absl::StrFormat(" 0x%016x\n", GraphIdentity(graph)));
  for (size_t id = 0; id < graph.values().size(); ++id) {
    if (graph.values()[id].producer != kAbsent) continue;
    absl::StrAppend(&text, SourceLine(graph, static_cast<ValueId>(id)));
  }
  for (const Node& node : graph.nodes()) absl::StrAppend(&text, NodeLine(graph, node));
  for (const NamedValue& output : graph.outputs()) {
    absl::StrAppend(&text, "  output ", Quoted(output.name), " = %", output.value, "\n");
  }
  for (const TestVector& vector : graph.test_vectors()) {
    absl::StrAppend(&text, TestVectorLine(vector));
  }
  return text;
}

}  // namespace oa::ir
