// The operator table: one row says everything about an operator, and everything else (verifier,
// identity, dumps, `oa-run ops`, reference page, sweep tests) is derived from it.
// Rows live in ir/ops/<family>.cc. How to add one: see ir/ops/README.md.
#ifndef OA_IR_OP_H_
#define OA_IR_OP_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/attribute.h"
#include "ir/graph.h"

namespace oa::ir {

class InferContext;
class AdjointContext;
class LowerContext;

// A set of element types, as a bit mask.
using DTypeSet = uint32_t;
constexpr DTypeSet Only(DType d) { return 1u << static_cast<int>(d); }
inline constexpr DTypeSet kF32Only = Only(DType::F32);
inline constexpr DTypeSet kIndexTypes = Only(DType::U8) | Only(DType::U32) | Only(DType::I32);
inline constexpr DTypeSet kAnyType = (1u << kDTypeCount) - 1;

struct OperandDef {
  std::string name;
  DTypeSet dtypes = kF32Only;
  bool optional = false;
  bool differentiable = true;
  bool mutated = false;   // the node writes it; one result is its next version
  bool variadic = false;  // last operand only: one or more values
};

struct ResultDef {
  std::string name;
  bool optional = false;       // may be unwanted
  bool differentiable = true;  // false: detached (indices, statistics)
};

// In OpDef::rejects and OpDef::kernels.
inline constexpr char kNothingMore[] = "nothing more";
inline constexpr char kElementwise[] = "elementwise";

struct OpDef {
  std::string name;
  std::string family;
  uint32_t version = 1;
  std::string equation;  // one line for the reference page
  std::string shapes;    // one line: "x [.., n], y [.., n]"
  // What `infer` refuses beyond what the fields below say, as one line: "x not of rank 4; weight
  // not [C]". A backward row may leave it empty: the table says that shapes must fit the forward
  // row. kNothingMore when there is nothing.
  std::string rejects;
  // Limits, special cases and extensions, for the reference page; may be empty.
  std::string notes;
  std::vector<OperandDef> operands;
  std::vector<ResultDef> results;
  std::vector<AttributeDef> attributes;
  bool allow_empty = false;  // operands may have zero elements
  // Ways to lower it that a compilation can ask for (ir/routes.h); empty: there is one.
  std::vector<std::string> routes;
  // Validates beyond what the fields above say and declares the results.
  absl::Status (*infer)(InferContext&) = nullptr;
  // Records the adjoint; null means "not differentiable", on purpose.
  absl::Status (*adjoint)(AdjointContext&) = nullptr;
  // Emits dispatches; null only for pure views.
  absl::Status (*lower)(LowerContext&) = nullptr;
  // Base names of the kernels that `lower` may use, kElementwise for elementwise programs. A test
  // compares them with what samples are lowered to.
  std::vector<std::string> kernels;

  // What the row says about operand or result `i` of a call; the last one covers all further ones.
  const OperandDef& operand(size_t i) const { return operands[std::min(i, operands.size() - 1)]; }
  const ResultDef& result(size_t i) const { return results[std::min(i, results.size() - 1)]; }
};

// All rows, sorted by name. Built once, immutable.
const std::vector<OpDef>& OpTable();

// Null when there is no such operator.
const OpDef* FindOp(absl::string_view name);

// Operators whose name is closest to `name`, as the end of an error message:
// "; the closest names are 'relu', 'elu', 'gelu'".
std::string NearestOps(absl::string_view name);

// Declared result of a node.
struct ResultType {
  DType dtype = DType::F32;
  Shape shape;
  // >= 0: shares the storage of that operand; as the same version (a view) or the next (in place).
  int alias_of = -1;
  bool in_place = false;
};

// What an operator's infer function sees. Operand presence, dtypes, emptiness, attribute kinds and
// the 2^32-1 limit on operand extents and element counts are already checked.
class InferContext {
 public:
  struct Operand {
    DType dtype;
    Shape shape;
  };

  InferContext(const OpDef& op, std::vector<const Operand*> operands, const Attributes& attributes)
      : op_(op), operands_(std::move(operands)), attributes_(attributes) {}

  int operand_count() const { return static_cast<int>(operands_.size()); }
  bool has(int i) const { return i < operand_count() && operands_[i] != nullptr; }
  const Shape& shape(int i) const { return operands_[i]->shape; }
  DType dtype(int i) const { return operands_[i]->dtype; }
  int rank(int i) const { return static_cast<int>(shape(i).size()); }
  const Attributes& attributes() const { return attributes_; }

  // InvalidArgument "<op>: <message>".
  template <class... Args>
  absl::Status Fail(const Args&... message) const {
    return absl::InvalidArgumentError(absl::StrCat(op_.name, ": ", message...));
  }
  // The checks most rows need; each returns the sentence for the user.
  absl::Status RequireRank(int i, int rank) const;
  absl::Status RequireShape(int i, const Shape& expected) const;
  absl::Status RequireSameShape(int i, int j) const;
  absl::Status RequireEpsilon(absl::string_view attribute = "epsilon") const;
  // A fresh result; InvalidArgument when an extent or the element count exceeds 2^32-1 or the
  // rank 8.
  absl::Status AddResult(DType dtype, const Shape& shape);
  // A result that shares operand `i`'s storage unchanged.
  absl::Status AddView(int i, const Shape& shape);
  // The next version of mutated operand `i`.
  void AddInPlace(int i);

  const std::vector<ResultType>& results() const { return results_; }

 private:
  std::string OperandText(int i) const;  // "operand 'x' f32[2, 3]"

  const OpDef& op_;
  std::vector<const Operand*> operands_;
  const Attributes& attributes_;
  std::vector<ResultType> results_;
};

// Why a value of this shape cannot be an operand or result ("has rank 9, the limit is 8"); "" when
// it can. Rank 1 to 8, extents and element count at most 2^32-1.
std::string ShapeProblem(absl::Span<const uint64_t> shape);

// Full validation of a call: number and presence of the operands, attributes, dtypes and shapes,
// then the row's infer. InvalidArgument names the operator and the violated rule. Pure.
// `operands` holds null for absent optional operands.
absl::StatusOr<std::vector<ResultType>> InferResults(
    const OpDef& op, std::vector<const InferContext::Operand*> operands,
    const Attributes& attributes);

// What an operator's adjoint function sees. It records nodes into the graph and sets the gradient
// of every operand that is needed.
class AdjointContext {
 public:
  AdjointContext(Graph& graph, NodeId node, std::vector<ValueId> result_gradients,
                 std::vector<bool> needed)
      : graph_(graph),
        node_(node),
        result_gradients_(std::move(result_gradients)),
        needed_(std::move(needed)),
        gradients_(needed_.size(), kAbsent) {}

  Graph& graph() { return graph_; }
  // By value: recording moves the node list.
  Node node() const { return graph_.nodes()[node_]; }
  ValueId input(int i) const { return graph_.nodes()[node_].inputs[i]; }
  ValueId output(int i = 0) const { return graph_.nodes()[node_].outputs[i]; }
  const Shape& shape(ValueId v) const { return graph_.value(v).shape; }
  const Attributes& attributes() const { return graph_.nodes()[node_].attributes; }
  // Gradient of result `i`; kAbsent counts as zero. At least one is present.
  ValueId grad(int i = 0) const { return result_gradients_[i]; }
  // Whether operand `i` is differentiable and its gradient is asked for.
  bool needs(int i) const { return needed_[i]; }
  void SetGrad(int i, ValueId gradient) { gradients_[i] = gradient; }
  const std::vector<ValueId>& gradients() const { return gradients_; }

  // Records one node and returns its only result.
  absl::StatusOr<ValueId> Emit(absl::string_view op, absl::Span<const ValueId> inputs,
                               const Attributes& attributes = {});
  // Records `<op>_backward` with one result per differentiable operand in operand order; results
  // of operands that are not needed are unwanted. Sets the gradients.
  absl::Status EmitBackward(absl::Span<const ValueId> inputs);

 private:
  Graph& graph_;
  NodeId node_;
  std::vector<ValueId> result_gradients_;
  std::vector<bool> needed_;
  std::vector<ValueId> gradients_;
};

}  // namespace oa::ir

#endif  // OA_IR_OP_H_
