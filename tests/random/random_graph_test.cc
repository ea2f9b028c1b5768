// Random graphs with views and in-place versions, compiled and replayed, against node-by-node
// evaluation with the oracle.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/op.h"
#include "tests/reference/reference.h"
#include "tests/support/device.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

using reference::Tensor;

const reference::ReferenceOp& Oracle(const std::string& op) {
  static const auto& table = *new std::map<std::string, reference::ReferenceOp>([] {
    std::map<std::string, reference::ReferenceOp> map;
    for (reference::ReferenceOp& row : reference::AllReferences()) map[row.op] = row;
    return map;
  }());
  return table.at(op);
}

// A graph that grows node by node together with the oracle's value of everything in it.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed), graph_(absl::StrCat("random", seed)) {
    for (int i = 0; i < 3; ++i) AddLeaf(BufferKind::kInput, absl::StrCat("in", i));
    for (int i = 0; i < 2; ++i) AddLeaf(BufferKind::kState, absl::StrCat("state", i));
  }

  void Grow(int nodes) {
    while (static_cast<int>(graph_.nodes().size()) < nodes) AddNode();
    // Everything that nobody reads, and some of the rest, is an output.
    for (const auto& [id, tensor] : values_) {
      if (graph_.value(id).producer == ir::kAbsent || Pick(3) == 0) continue;
      if (graph_.AddOutput(absl::StrCat("out", id), id).ok()) outputs_.push_back(id);
    }
  }

  int norms() const { return norms_; }

  void Check() {
    for (bool fuse : {true, false}) {
      for (bool guarded : {true, false}) {
        INFO("fuse ", fuse, ", guarded ", guarded);
        RunOptions options;
        options.fuse = fuse;
        options.guarded = guarded;
        absl::StatusOr<exec::TensorMap> outputs = RunGraph(graph_, inputs_, options);
        REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
        for (ir::ValueId id : outputs_) {
          INFO(ir::DumpGraph(graph_), "value %", id);
          const Tensor& expected = values_.at(id);
          const Tensor got = FromBytes(DType::F32, expected.shape,
                                       outputs->at(absl::StrCat("out", id)));
          CHECK_EQ(Compare(got, expected, {1e-4, 1e-4}), "");
        }
      }
    }
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % n); }

  void AddLeaf(BufferKind kind, const std::string& name) {
    static const std::vector<Shape> shapes = {{4, 6}, {6}, {4, 1}, {24}, {4, 6}};
    const Tensor tensor =
        Fill(reference::Uniform(shapes[values_.size() % shapes.size()], -1, 1), random_());
    absl::StatusOr<ir::ValueId> id = graph_.AddStorage(kind, name, DType::F32, tensor.shape);
    REQUIRE(id.ok());
    if (kind == BufferKind::kInput) {
      inputs_[name] = ToBytes(tensor);
    } else {
      REQUIRE(graph_.SetInitialData(*id, Blob::Own(ToBytes(tensor)), "test").ok());
    }
    values_[*id] = tensor;
  }

  ir::ValueId AnyValue() {
    auto it = values_.begin();
    std::advance(it, Pick(static_cast<int>(values_.size())));
    return it->first;
  }

  // A value like the rows of `x`; any value when there is none.
  ir::ValueId AnyVectorFor(ir::ValueId x) {
    const Shape row = {values_.at(x).shape.back()};
    for (int i = 0; i < 50; ++i) {
      const ir::ValueId id = AnyValue();
      if (values_.at(id).shape == row) return id;
    }
    return AnyValue();
  }

  // Records a random call; calls the operator refuses (shapes, versions) are simply not made.
  void AddNode() {
    static const std::vector<std::string> ops = {
        "add", "sub", "mul", "tanh", "sigmoid", "gelu", "relu", "scale", "neg", "reshape",
        "transpose", "sum", "mean", "softmax", "accumulate", "accumulate", "fill", "concat",
        "slice", "mat_mul_nt", "detach", "swiglu", "rms_norm", "layer_norm"};
    const std::string& op = ops[Pick(static_cast<int>(ops.size()))];
    const bool norm = absl::EndsWith(op, "_norm");
    std::vector<ir::ValueId> operands = {AnyValue()};
    if (ir::FindOp(op)->operands.size() == 2 || op == "concat") operands.push_back(AnyValue());
    if (norm) operands.resize(ir::FindOp(op)->operands.size(), AnyVectorFor(operands[0]));
    const ir::Attributes attributes = RandomAttributes(op, values_.at(operands[0]));
    absl::StatusOr<std::vector<ir::ValueId>> results = graph_.Record(op, operands, attributes);
    if (!results.ok()) return;
    norms_ += norm ? 1 : 0;
    std::vector<Tensor> tensors;
    for (ir::ValueId id : operands) tensors.push_back(values_.at(id));
    values_[(*results)[0]] = Oracle(op).forward(tensors, attributes)[0];
  }

  ir::Attributes RandomAttributes(const std::string& op, const Tensor& x) {
    const int64_t axis = Pick(static_cast<int>(x.shape.size()));
    ir::Attributes attributes;
    if (op == "scale") attributes.F32("scalar", 0.5f);
    if (absl::EndsWith(op, "_norm")) attributes.F32("epsilon", 0.1f);  // small rows stay small
    if (op == "fill") attributes.F32("value", 0.25f);
    if (op == "reshape") attributes.List("shape", {-1, Pick(2) == 0 ? 2 : 6});
    if (op == "transpose") attributes.I64("axis0", 0).I64("axis1", axis);
    if (op == "sum" || op == "mean") attributes.Optional("axis", axis);
    if (op == "softmax" || op == "concat") attributes.I64("axis", axis);
    if (op == "slice") {
      attributes.I64("axis", axis).I64("start", 0).I64("end", int64_t(x.shape[axis] + 1) / 2);
    }
    return attributes;
  }

  std::mt19937_64 random_;
  ir::Graph graph_;
  std::map<ir::ValueId, Tensor> values_;
  std::map<std::string, Bytes> inputs_;
  std::vector<ir::ValueId> outputs_;
  int norms_ = 0;
};

TEST_CASE("random graphs equal node-by-node evaluation") {
  if (TestDevice() == nullptr) return;
  int norms = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    INFO("seed ", seed);
    RandomGraph graph(seed);
    graph.Grow(24);
    graph.Check();
    norms += graph.norms();
  }
  CHECK_GT(norms, 5);
}

}  // namespace
}  // namespace oa::testing
