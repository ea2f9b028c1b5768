// Graphs made of an operator's samples: all samples of one operator in one graph, so that one
// compilation covers them.
#ifndef OA_TESTS_SWEEP_SAMPLE_GRAPH_H_
#define OA_TESTS_SWEEP_SAMPLE_GRAPH_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "tests/reference/reference.h"
#include "tests/support/tensors.h"

namespace oa::testing {

struct ExpectedOutput {
  std::string name;
  reference::Tensor tensor;
  reference::Tolerance tolerance;
};

struct SampleGraph {
  std::unique_ptr<ir::Graph> graph;
  std::map<std::string, std::vector<uint8_t>> inputs;
  std::vector<ExpectedOutput> expected;
};

// Operand values of sample `index`, the same in every graph built from it.
std::vector<reference::Tensor> SampleOperands(const reference::ReferenceOp& op, size_t index);

// Declares the operands in `graph` as inputs (as states where the row mutates them) named
// "s<index>.<position>", fills `inputs`, and returns their value ids.
std::vector<ir::ValueId> DeclareOperands(const reference::ReferenceOp& op, size_t index,
                                         const std::vector<reference::Tensor>& operands,
                                         SampleGraph& into);

// Every sample's results against the oracle.
SampleGraph BuildForward(const reference::ReferenceOp& op);

// Every differentiable sample's gradients against central differences of the oracle, for the loss
// sum over results of weight * result. Null graph when there is nothing to differentiate.
SampleGraph BuildAdjoint(const reference::ReferenceOp& op);

}  // namespace oa::testing

#endif  // OA_TESTS_SWEEP_SAMPLE_GRAPH_H_
