#include "tests/support/must.h"
#include "tests/sweep/sample_graph.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/differentiate.h"
#include "ir/op.h"

namespace oa::testing {
namespace {

using reference::ReferenceOp;
using reference::Sample;
using reference::Tensor;

// The scalar loss as the oracle sees it.
double WeightedSum(const std::vector<Tensor>& results, const std::vector<Tensor>& weights) {
  double sum = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    if (!weights[r].present()) continue;
    for (size_t i = 0; i < results[r].size(); ++i) sum += results[r][i] * weights[r][i];
  }
  return sum;
}

double CentralDifference(const ReferenceOp& op, const Sample& sample, std::vector<Tensor> operands,
                         const std::vector<Tensor>& weights, size_t operand, size_t element) {
  const double x = operands[operand][element];
  const double step = 1e-5 * std::max(1.0, std::abs(x));
  operands[operand][element] = x + step;
  const double above = WeightedSum(op.forward(operands, sample.attributes), weights);
  operands[operand][element] = x - step;
  const double below = WeightedSum(op.forward(operands, sample.attributes), weights);
  return (above - below) / (2 * step);
}

// A large operand's gradient is checked at every stride-th element: the oracle is a plain loop.
size_t ElementStride(size_t count) { return count <= 600 ? 1 : count / 150; }

// Gradient by differences; elements that are not checked are NaN.
Tensor NumericGradient(const ReferenceOp& op, const Sample& sample,
                       const std::vector<Tensor>& operands, const std::vector<Tensor>& weights,
                       size_t operand) {
  Tensor gradient(DType::F32, operands[operand].shape);
  const size_t stride = ElementStride(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = i % stride == 0 ? CentralDifference(op, sample, operands, weights, operand, i)
                                  : std::nan("");
  }
  return gradient;
}

// Weights of the loss: absent for results without gradient.
std::vector<Tensor> LossWeights(const ir::OpDef& row, const std::vector<Tensor>& results,
                                size_t index) {
  std::vector<Tensor> weights;
  for (size_t r = 0; r < results.size(); ++r) {
    const bool used = row.result(r).differentiable && results[r].dtype == DType::F32;
    weights.push_back(used ? Fill(reference::Uniform(results[r].shape, -1, 1), 7000 + index * 8 + r)
                           : Tensor());
  }
  return weights;
}

// sum_r sum(result_r * weight_r), recorded.
ir::ValueId RecordLoss(SampleGraph& into, const std::vector<ir::ValueId>& results,
                       const std::vector<Tensor>& weights, const std::string& prefix) {
  ir::ValueId loss = ir::kAbsent;
  for (size_t r = 0; r < results.size(); ++r) {
    if (!weights[r].present()) continue;
    const std::string name = absl::StrCat(prefix, ".weight", r);
    const ir::ValueId weight =
        Must(into.graph->AddStorage(BufferKind::kInput, name, DType::F32, weights[r].shape));
    into.inputs[name] = ToBytes(weights[r]);
    const ir::ValueId product = Must(into.graph->Record("mul", {results[r], weight}))[0];
    const ir::ValueId sum = Must(into.graph->Record(
        "sum", {product}, ir::Attributes().Optional("axis", std::nullopt)))[0];
    loss = loss == ir::kAbsent ? sum : Must(into.graph->Record("add", {loss, sum}))[0];
  }
  return loss;
}

void AddAdjointSample(const ReferenceOp& op, const ir::OpDef& row, size_t index,
                      SampleGraph& into) {
  const Sample& sample = op.samples[index];
  const std::vector<Tensor> operands = SampleOperands(op, index);
  const std::vector<Tensor> weights =
      LossWeights(row, op.forward(operands, sample.attributes), index);
  const std::string prefix = absl::StrCat("s", index);
  const std::vector<ir::ValueId> ids = DeclareOperands(op, index, operands, into);
  const std::vector<ir::ValueId> results = Must(into.graph->Record(op.op, ids, sample.attributes));
  const ir::ValueId loss = RecordLoss(into, results, weights, prefix);
  if (loss == ir::kAbsent) return;
  std::vector<size_t> wanted;
  std::vector<ir::ValueId> targets;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == ir::kAbsent || !row.operand(i).differentiable) continue;
    if (operands[i].dtype != DType::F32) continue;
    wanted.push_back(i);
    targets.push_back(ids[i]);
  }
  const std::vector<ir::ValueId> gradients = Must(ir::Differentiate(*into.graph, loss, targets));
  for (size_t t = 0; t < wanted.size(); ++t) {
    REQUIRE_NE(gradients[t], ir::kAbsent);
    const std::string name = absl::StrCat(prefix, ".gradient", wanted[t]);
    REQUIRE(into.graph->AddOutput(name, gradients[t]).ok());
    into.expected.push_back(
        {name, NumericGradient(op, sample, operands, weights, wanted[t]), sample.gradient});
  }
}

}  // namespace

std::vector<Tensor> SampleOperands(const ReferenceOp& op, size_t index) {
  std::vector<Tensor> operands;
  const Sample& sample = op.samples[index];
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    operands.push_back(Fill(sample.inputs[i], index * 16 + i));
  }
  return operands;
}

std::vector<ir::ValueId> DeclareOperands(const ReferenceOp& op, size_t index,
                                         const std::vector<Tensor>& operands, SampleGraph& into) {
  const ir::OpDef& row = *ir::FindOp(op.op);
  std::vector<ir::ValueId> ids;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor& operand = operands[i];
    if (!operand.present()) {
      ids.push_back(ir::kAbsent);
      continue;
    }
    const bool mutated = row.operand(i).mutated;
    const std::string name = absl::StrCat("s", index, ".", i);
    ids.push_back(Must(into.graph->AddStorage(mutated ? BufferKind::kState : BufferKind::kInput,
                                              name, operand.dtype, operand.shape)));
    if (mutated) {
      REQUIRE(into.graph->SetInitialData(ids.back(), Blob::Own(ToBytes(operand)), "test").ok());
    } else {
      into.inputs[name] = ToBytes(operand);
    }
  }
  return ids;
}

SampleGraph BuildForward(const ReferenceOp& op) {
  SampleGraph built;
  built.graph = std::make_unique<ir::Graph>(op.op);
  for (size_t s = 0; s < op.samples.size(); ++s) {
    const std::vector<Tensor> operands = SampleOperands(op, s);
    const std::vector<ir::ValueId> ids = DeclareOperands(op, s, operands, built);
    const std::vector<ir::ValueId> results =
        Must(built.graph->Record(op.op, ids, op.samples[s].attributes));
    const std::vector<Tensor> expected = op.forward(operands, op.samples[s].attributes);
    REQUIRE_EQ(expected.size(), results.size());
    for (size_t r = 0; r < results.size(); ++r) {
      const std::string name = absl::StrCat("s", s, ".result", r);
      REQUIRE(built.graph->AddOutput(name, results[r]).ok());
      CHECK_EQ(built.graph->value(results[r]).shape, expected[r].shape);
      CHECK_EQ(built.graph->value(results[r]).dtype, expected[r].dtype);
      built.expected.push_back({name, expected[r], op.samples[s].tolerance});
    }
  }
  return built;
}

SampleGraph BuildAdjoint(const ReferenceOp& op) {
  SampleGraph built;
  const ir::OpDef& row = *ir::FindOp(op.op);
  if (row.adjoint == nullptr) return built;
  built.graph = std::make_unique<ir::Graph>(op.op + "_adjoint");
  for (size_t s = 0; s < op.samples.size(); ++s) {
    if (op.samples[s].differentiate) AddAdjointSample(op, row, s, built);
  }
  if (built.expected.empty()) built.graph.reset();
  return built;
}

}  // namespace oa::testing
