// `oa-run ops`: the operator table, and what this machine can run of it.
#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/device.h"
#include "ir/op.h"
#include "schema/status_macros.h"
#include "tools/common/describe_json.h"
#include "tools/common/exit_codes.h"
#include "tools/common/kernel_lookup.h"
#include "tools/common/run_main.h"
#include "tools/common/table.h"
#include "tools/run/command.h"

namespace oa::tools {
namespace {

struct OpsOptions {
  std::string name, kernels, device;
  bool json = false;
};

std::string DTypesText(ir::DTypeSet set) {
  if (set == ir::kAnyType) return "any";
  std::vector<std::string> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    if ((set & ir::Only(dtype)) != 0) names.emplace_back(DTypeName(dtype));
  }
  return absl::StrJoin(names, "|");
}

// "x", "bias?" (optional), "state!" (mutated), "parts.." (one or more).
std::string OperandText(const ir::OperandDef& operand) {
  return absl::StrCat(operand.name, operand.variadic ? ".." : "", operand.optional ? "?" : "",
                      operand.mutated ? "!" : "");
}

std::string OperandsText(const ir::OpDef& op) {
  std::vector<std::string> names;
  for (const ir::OperandDef& operand : op.operands) names.push_back(OperandText(operand));
  return absl::StrJoin(names, ", ");
}

std::string AttributesText(const ir::OpDef& op) {
  std::vector<std::string> names;
  for (const ir::AttributeDef& attribute : op.attributes) names.push_back(attribute.name);
  return absl::StrJoin(names, ", ");
}

std::string GradientsText(const ir::OpDef& op) {
  if (op.adjoint == nullptr) return "-";
  std::vector<std::string> names;
  for (const ir::OperandDef& operand : op.operands) {
    if (operand.differentiable) names.push_back(operand.name);
  }
  return absl::StrJoin(names, ", ");
}

const char* KindName(ir::AttributeKind kind) {
  switch (kind) {
    case ir::AttributeKind::kI64:
      return "i64";
    case ir::AttributeKind::kU64:
      return "u64";
    case ir::AttributeKind::kU32:
      return "u32";
    case ir::AttributeKind::kF32:
      return "f32";
    case ir::AttributeKind::kBool:
      return "bool";
    case ir::AttributeKind::kToken:
      return "token";
    case ir::AttributeKind::kI64List:
      return "list of i64";
    case ir::AttributeKind::kOptionalI64:
      return "optional i64";
  }
  return "?";
}

void PrintList() {
  Table table({{"operator", Table::Align::kLeft},
               {"operands", Table::Align::kLeft, true, true},
               {"attributes", Table::Align::kLeft, true, true},
               {"gradients", Table::Align::kLeft, true, true}});
  for (const ir::OpDef& op : ir::OpTable()) {
    table.Add({op.name, OperandsText(op), AttributesText(op), GradientsText(op)});
  }
  std::fputs(table.Text().c_str(), stdout);
  std::printf(
      "%zu operators; ? optional, ! updated in place, .. one or more. "
      "`oa-run ops NAME` says more.\n",
      ir::OpTable().size());
}

OrderedJson OpJson(const ir::OpDef& op) {
  OrderedJson operands = OrderedJson::array();
  for (const ir::OperandDef& o : op.operands) {
    operands.push_back({{"name", o.name},
                        {"dtypes", DTypesText(o.dtypes)},
                        {"optional", o.optional},
                        {"differentiable", op.adjoint != nullptr && o.differentiable},
                        {"mutated", o.mutated},
                        {"variadic", o.variadic}});
  }
  OrderedJson results = OrderedJson::array();
  for (const ir::ResultDef& r : op.results) results.push_back(r.name);
  OrderedJson attributes = OrderedJson::array();
  for (const ir::AttributeDef& a : op.attributes) {
    attributes.push_back({{"name", a.name}, {"kind", KindName(a.kind)}, {"tokens", a.tokens}});
  }
  return {{"name", op.name},
          {"family", op.family},
          {"version", op.version},
          {"equation", op.equation},
          {"shapes", op.shapes},
          {"operands", std::move(operands)},
          {"results", std::move(results)},
          {"attributes", std::move(attributes)}};
}

void PrintDetails(const ir::OpDef& op) {
  std::printf("%s (family %s, version %u)\n  %s\n  shapes: %s\n", op.name.c_str(),
              op.family.c_str(), op.version, op.equation.c_str(), op.shapes.c_str());
  for (const ir::OperandDef& o : op.operands) {
    std::vector<std::string> marks = {DTypesText(o.dtypes)};
    if (o.optional) marks.push_back("optional");
    if (o.variadic) marks.push_back("one or more");
    if (o.mutated) marks.push_back("updated in place");
    if (op.adjoint != nullptr && o.differentiable) marks.push_back("has a gradient");
    std::printf("  operand   %-16s %s\n", o.name.c_str(), absl::StrJoin(marks, ", ").c_str());
  }
  for (const ir::AttributeDef& a : op.attributes) {
    std::printf("  attribute %-16s %s%s%s\n", a.name.c_str(), KindName(a.kind),
                a.tokens.empty() ? "" : ": ", absl::StrJoin(a.tokens, ", ").c_str());
  }
  for (const ir::ResultDef& r : op.results) {
    std::printf("  result    %-16s %s\n", r.name.c_str(), r.optional ? "optional" : "");
  }
  if (op.adjoint == nullptr) std::printf("  has no gradient\n");
  if (op.lower == nullptr) std::printf("  is a view: it runs nothing\n");
}

// Kernels are called <op>_<dtype>..: the operator with the longest name that fits owns a kernel.
bool OwnsKernel(const ir::OpDef& op, const std::string& base) {
  const auto fits = [&](const std::string& name) {
    return base == name || absl::StartsWith(base, name + "_");
  };
  if (!fits(op.name)) return false;
  for (const ir::OpDef& other : ir::OpTable()) {
    if (other.name.size() > op.name.size() && fits(other.name)) return false;
  }
  return true;
}

// The profile of the chosen device; none when there is no Vulkan here.
absl::StatusOr<std::optional<DeviceProfile>> FindProfile(const std::string& request) {
  const auto instance = exec::Instance::Create({});
  if (!instance.ok()) return std::optional<DeviceProfile>();
  const auto devices = (*instance)->EnumerateDevices();
  if (!devices.ok()) return std::optional<DeviceProfile>();
  const absl::StatusOr<uint32_t> index = exec::SelectDevice(*devices, request);
  if (index.ok()) return std::optional<DeviceProfile>((*devices)[*index].profile);
  if (request.empty()) return std::optional<DeviceProfile>();
  return WithExit(index.status(), kExitUsage);
}

absl::Status PrintKernels(const OpsOptions& options, const ir::OpDef& op) {
  const absl::StatusOr<KernelPack> pack = LoadKernelPack(options.kernels);
  if (!pack.ok() && !options.kernels.empty()) return pack.status();
  if (!pack.ok()) {
    PrintNote(kProgram, pack.status().message());
    return absl::OkStatus();
  }
  OA_ASSIGN_OR_RETURN(const std::optional<DeviceProfile> profile, FindProfile(options.device));
  Table table(
      {{"kernel", Table::Align::kLeft, true},
       {"shared bytes", Table::Align::kRight},
       {profile ? absl::StrCat("on ", profile->name) : "needs", Table::Align::kLeft, true, true}});
  for (const Kernel& kernel : pack->kernels()) {
    if (!OwnsKernel(op, kernel.base)) continue;
    std::string remark = absl::StrJoin(kernel.features, ", ");
    if (profile) {
      const std::string reason = WhyNotRunnable(kernel, *profile);
      remark = reason.empty() ? "runs" : reason;
    }
    table.Add({kernel.name, absl::StrCat(kernel.shared_bytes), remark});
  }
  if (table.empty()) {
    std::printf("  no kernel of its own: it is lowered to elementwise programs or other kernels\n");
  } else {
    std::fputs(table.Text().c_str(), stdout);
  }
  return absl::OkStatus();
}

absl::StatusOr<int> ShowOps(const OpsOptions& options) {
  if (options.name.empty()) {
    if (options.json) {
      for (const ir::OpDef& op : ir::OpTable()) std::printf("%s\n", JsonText(OpJson(op)).c_str());
    } else {
      PrintList();
    }
    return kExitOk;
  }
  const ir::OpDef* op = ir::FindOp(options.name);
  if (op == nullptr) {
    return UsageError("there is no operator '", options.name, "'", ir::NearestOps(options.name),
                      ".");
  }
  if (options.json) {
    std::printf("%s\n", JsonText(OpJson(*op)).c_str());
    return kExitOk;
  }
  PrintDetails(*op);
  OA_RETURN_IF_ERROR(PrintKernels(options, *op));
  return kExitOk;
}

}  // namespace

Command AddOpsCommand(CLI::App& app) {
  CLI::App* ops = app.add_subcommand("ops", "List the operators, or explain one");
  auto o = std::make_shared<OpsOptions>();
  ops->add_option("name", o->name, "An operator");
  ops->add_option("--device", o->device, "Whose kernels to judge: index or part of a name");
  ops->add_option("--kernels", o->kernels, "Kernel pack");
  ops->add_flag("--json", o->json, "JSON Lines on stdout instead of text");
  ops->footer(std::string("Examples:\n"
                          "  oa-run ops\n"
                          "  oa-run ops softmax\n"
                          "  oa-run ops --json | grep '\"family\":\"loss\"'\n") +
              kExitCodeHelp);
  return {ops, [o] { return ShowOps(*o); }};
}

}  // namespace oa::tools
