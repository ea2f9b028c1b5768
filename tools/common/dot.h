// Graphviz text of graphs and plans: `oa-run inspect --format dot model.oag | dot -Tsvg`.
#ifndef OA_TOOLS_COMMON_DOT_H_
#define OA_TOOLS_COMMON_DOT_H_

#include <string>

#include "ir/graph.h"
#include "schema/plan.h"

namespace oa::tools {

// Operators as boxes (views dashed, in-place ones bold), inputs and persistent values as ellipses,
// edges labelled with the type that flows.
std::string GraphDot(const ir::Graph& graph);

// Dispatches as boxes in one cluster a stage, an edge wherever one reads bytes another wrote.
std::string PlanDot(const Plan& plan);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_DOT_H_
