// JSON descriptions of every file kind, for `oa-run inspect --format json`. Field names are stable.
#ifndef OA_TOOLS_COMMON_DESCRIBE_JSON_H_
#define OA_TOOLS_COMMON_DESCRIBE_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "ir/graph.h"
#include "schema/kernel_pack.h"
#include "schema/plan.h"
#include "tools/common/npy.h"
#include "tools/common/safetensors.h"

namespace oa::tools {

// Keeps the order in which fields were added, which is the order people read.
using OrderedJson = nlohmann::ordered_json;

OrderedJson GraphJson(const ir::Graph& graph);
OrderedJson PlanJson(const Plan& plan);
OrderedJson PackJson(const KernelPack& pack);
OrderedJson SafetensorsJson(const Safetensors& file);
OrderedJson NpyJson(const NpyArray& array);

// Text that never fails: invalid UTF-8 becomes the replacement character, NaN becomes null.
// `indent` -1 writes one line.
std::string JsonText(const OrderedJson& json, int indent = -1);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_DESCRIBE_JSON_H_
