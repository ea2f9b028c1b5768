// The HTML pages of plans and graphs: `oa-compile --report` and `oa-run inspect --format html`.
#ifndef OA_TOOLS_COMMON_PAGES_H_
#define OA_TOOLS_COMMON_PAGES_H_

#include <string>
#include <vector>

#include "ir/compile.h"
#include "ir/graph.h"
#include "schema/plan.h"

namespace oa::tools {

// Summary, passes and fusions (when given), memory maps, dispatches by stage, values.
std::string PlanPage(const Plan& plan, const std::vector<ir::PassReport>& passes,
                     const std::vector<ir::FusionNote>& fusions);

// Summary, operators used, nodes, storages.
std::string GraphPage(const ir::Graph& graph);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_PAGES_H_
