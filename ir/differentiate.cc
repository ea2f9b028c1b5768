// Reverse accumulation over the recorded nodes (spec: ops.md 1.7 and 1.8).
//
// An edge carries gradient when its operand or result is declared differentiable and its dtype is
// a floating type. A version of a parameter is a leaf: nothing flows through the node that made it.
#include "ir/differentiate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph_checks.h"
#include "ir/op.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

class Differentiator {
 public:
  Differentiator(Graph& graph, ValueId root, absl::Span<const ValueId> targets)
      : graph_(graph), root_(root), targets_(targets) {}

  absl::StatusOr<std::vector<ValueId>> Run() {
    OA_RETURN_IF_ERROR(CheckArguments());
    MarkTracked();
    MarkActive();
    for (NodeId node : active_) OA_RETURN_IF_ERROR(CheckActive(node));
    const Graph::Mark before = graph_.mark();
    gradients_.assign(graph_.values().size(), kAbsent);
    const absl::Status walked = Walk();
    if (!walked.ok()) {
      graph_.Rollback(before);
      return walked;
    }
    std::vector<ValueId> result;
    result.reserve(targets_.size());
    for (ValueId target : targets_) result.push_back(gradients_[target]);
    return result;
  }

 private:
  absl::Status CheckId(ValueId id, absl::string_view what) const {
    if (id >= 0 && static_cast<size_t>(id) < graph_.values().size()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("backward: the ", what, " is value ", id, " of ", graph_.values().size()));
  }

  absl::Status CheckArguments() const {
    OA_RETURN_IF_ERROR(CheckId(root_, "root"));
    for (ValueId target : targets_) OA_RETURN_IF_ERROR(CheckId(target, "target"));
    const Value& root = graph_.value(root_);
    OA_ASSIGN_OR_RETURN(const uint64_t count, ElementCount(root.shape));
    if (count == 1 && root.dtype == DType::F32) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("backward: the root ", ValueText(graph_, root_),
                                                   " is ", TypeText(root.dtype, root.shape),
                                                   ", must be f32 with one element"));
  }

  bool IsFloating(ValueId id) const {
    const DType dtype = graph_.value(id).dtype;
    return dtype == DType::F32 || dtype == DType::BF16;
  }

  bool OperandCarries(const Node& node, size_t i) const {
    return node.inputs[i] != kAbsent && node.op->operand(i).differentiable &&
           IsFloating(node.inputs[i]) && tracked_[node.inputs[i]];
  }

  bool ResultCarries(const Node& node, size_t i) const {
    return node.outputs[i] != kAbsent && node.op->result(i).differentiable &&
           IsFloating(node.outputs[i]) && !leaf_[node.outputs[i]];
  }

  bool AnyOperandCarries(const Node& node) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (OperandCarries(node, i)) return true;
    }
    return false;
  }

  // The first value of each version of each parameter. When a target is a parameter, all its
  // versions are tracked: a use of another version must be found and refused, not overlooked.
  void MarkLeaves() {
    std::vector<bool> is_target(graph_.storages().size());
    for (ValueId target : targets_) is_target[graph_.value(target).storage] = true;
    std::vector<uint32_t> next_version(graph_.storages().size());
    for (size_t id = 0; id < graph_.values().size(); ++id) {
      const Value& value = graph_.values()[id];
      if (graph_.storages()[value.storage].kind != BufferKind::kParameter) continue;
      if (value.version != next_version[value.storage]) continue;  // a view
      ++next_version[value.storage];
      leaf_[id] = true;
      tracked_[id] = is_target[value.storage];
    }
  }

  // Values that depend on a target.
  void MarkTracked() {
    leaf_.assign(graph_.values().size(), false);
    tracked_.assign(graph_.values().size(), false);
    MarkLeaves();
    for (ValueId target : targets_) tracked_[target] = true;
    for (const Node& node : graph_.nodes()) {
      if (!AnyOperandCarries(node)) continue;
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (ResultCarries(node, i)) tracked_[node.outputs[i]] = true;
      }
    }
  }

  // Nodes on a path from a target to the root, in reverse recorded order.
  void MarkActive() {
    std::vector<bool> reached(graph_.values().size());
    reached[root_] = true;
    for (size_t n = graph_.nodes().size(); n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      bool used = false;
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        used = used || (ResultCarries(node, i) && reached[node.outputs[i]]);
      }
      if (!used || !AnyOperandCarries(node)) continue;
      active_.push_back(static_cast<NodeId>(n));
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (OperandCarries(node, i)) reached[node.inputs[i]] = true;
      }
    }
  }

  absl::Status CheckActive(NodeId id) const {
    const Node& node = graph_.nodes()[id];
    for (ValueId input : node.inputs) {
      if (input == kAbsent || graph_.IsLatest(input)) continue;
      const Storage& storage = graph_.storage_of(input);
      if (storage.kind != BufferKind::kParameter) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "backward: ", graph_.NodeText(id), " used version ", graph_.value(input).version,
          " of parameter '", storage.name, "', which has been overwritten and is now at version ",
          storage.version, "; record the backward pass before the update"));
    }
    if (node.op->adjoint != nullptr) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(
        "backward: ", graph_.NodeText(id), " lies between the root and a requested gradient, but ",
        node.op->name, " is not differentiable; detach its operand if that is intended"));
  }

  absl::Status Walk() {
    for (ValueId target : targets_) {
      if (target == root_ || !active_.empty()) {
        OA_RETURN_IF_ERROR(SeedRoot());
        break;
      }
    }
    for (NodeId node : active_) {
      OA_RETURN_IF_ERROR(
          Annotate(Visit(node), absl::StrCat("backward of ", graph_.NodeText(node))));
    }
    return absl::OkStatus();
  }

  absl::Status SeedRoot() {
    const Shape shape = graph_.value(root_).shape;
    const std::vector<int64_t> extents(shape.begin(), shape.end());
    OA_ASSIGN_OR_RETURN(
        const std::vector<ValueId> one,
        graph_.Record("full", {}, Attributes().List("shape", extents).F32("value", 1)));
    gradients_[root_] = one[0];
    return absl::OkStatus();
  }

  absl::Status Visit(NodeId id) {
    const Node node = graph_.nodes()[id];  // a copy: recording moves the nodes
    std::vector<ValueId> result_gradients;
    bool any = false;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      result_gradients.push_back(ResultCarries(node, i) ? gradients_[node.outputs[i]] : kAbsent);
      any = any || result_gradients.back() != kAbsent;
    }
    if (!any) return absl::OkStatus();  // an adjoint further down left this gradient out: zero
    std::vector<bool> needed;
    for (size_t i = 0; i < node.inputs.size(); ++i) needed.push_back(OperandCarries(node, i));
    AdjointContext context(graph_, id, std::move(result_gradients), needed);
    OA_RETURN_IF_ERROR(node.op->adjoint(context));
    for (size_t i = 0; i < needed.size(); ++i) {
      const ValueId gradient = context.gradients()[i];
      if (!needed[i] || gradient == kAbsent) continue;
      OA_RETURN_IF_ERROR(CheckGradient(node.inputs[i], gradient));
      OA_RETURN_IF_ERROR(Accumulate(node.inputs[i], gradient, context));
    }
    return absl::OkStatus();
  }

  absl::Status CheckGradient(ValueId of, ValueId gradient) const {
    const Value& value = graph_.value(of);
    const Value& got = graph_.value(gradient);
    if (got.dtype == value.dtype && got.shape == value.shape) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the gradient of ", ValueText(graph_, of), " ",
                                            TypeText(value.dtype, value.shape), " came out as ",
                                            TypeText(got.dtype, got.shape)));
  }

  absl::Status Accumulate(ValueId of, ValueId gradient, AdjointContext& context) {
    ValueId& sum = gradients_[of];
    if (sum == kAbsent) {
      sum = gradient;
      return absl::OkStatus();
    }
    if (graph_.value(of).dtype == DType::F32) {
      OA_ASSIGN_OR_RETURN(sum, context.Emit("add", {sum, gradient}));
      return absl::OkStatus();
    }
    OA_ASSIGN_OR_RETURN(const ValueId a, Cast(sum, DType::F32, context));
    OA_ASSIGN_OR_RETURN(const ValueId b, Cast(gradient, DType::F32, context));
    OA_ASSIGN_OR_RETURN(const ValueId total, context.Emit("add", {a, b}));
    OA_ASSIGN_OR_RETURN(sum, Cast(total, graph_.value(of).dtype, context));
    return absl::OkStatus();
  }

  static absl::StatusOr<ValueId> Cast(ValueId value, DType dtype, AdjointContext& context) {
    return context.Emit("cast", {value}, Attributes().Token("dtype", DTypeName(dtype)));
  }

  Graph& graph_;
  const ValueId root_;
  const absl::Span<const ValueId> targets_;
  // By value, of the values that existed before.
  std::vector<bool> leaf_;
  std::vector<bool> tracked_;
  std::vector<ValueId> gradients_;
  std::vector<NodeId> active_;
};

}  // namespace

absl::StatusOr<std::vector<ValueId>> Differentiate(Graph& graph, ValueId root,
                                                   absl::Span<const ValueId> targets) {
  return Differentiator(graph, root, targets).Run();
}

}  // namespace oa::ir
