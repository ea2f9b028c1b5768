// `oa-run ops`: the operator table, and what this machine can run of it.
#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/device.h"
#include "ir/op.h"
#include "schema/status_macros.h"
#include "tools/common/describe_json.h"
#include "tools/common/exit_codes.h"
#include "tools/common/kernel_lookup.h"
#include "tools/common/op_text.h"
#include "tools/common/run_main.h"
#include "tools/common/table.h"
#include "tools/common/text.h"
#include "tools/run/command.h"

namespace oa::tools {
namespace {

constexpr size_t kWidth = 80;

struct OpsOptions {
  std::string name, kernels, device;
  bool json = false;
};

// Whose kernels are judged: the chosen device, or without Vulkan the minimum of every device.
struct Judge {
  std::optional<KernelPack> pack;
  DeviceProfile profile;
  bool is_device = false;

  std::vector<KernelChoice> Choices(const ir::OpDef& op) const {
    return pack ? KernelChoices(op, *pack, profile) : std::vector<KernelChoice>();
  }
};

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

absl::StatusOr<Judge> FindJudge(const OpsOptions& options) {
  Judge judge;
  absl::StatusOr<KernelPack> pack = LoadKernelPack(options.kernels);
  if (pack.ok()) {
    judge.pack = *std::move(pack);
  } else if (options.kernels.empty()) {
    PrintNote(kProgram, pack.status().message());
  } else {
    return pack.status();
  }
  OA_ASSIGN_OR_RETURN(const std::optional<DeviceProfile> profile, FindProfile(options.device));
  if (profile) judge.profile = *profile;
  judge.is_device = profile.has_value();
  return judge;
}

// ---- Text ----

// `text` in lines of at most kWidth columns, all but the first further in.
void PrintWrapped(const std::string& text, size_t indent, size_t further) {
  std::string margin(indent, ' ');
  for (const std::string& line : WrapWords(text, kWidth - indent - further)) {
    std::printf("%s%s\n", margin.c_str(), line.c_str());
    margin.assign(indent + further, ' ');
  }
}

// "norm_f32_cpu, column_sum_f32_cpu", what the device would run.
std::string ChosenText(const ir::OpDef& op, const std::vector<KernelChoice>& choices) {
  if (op.lower == nullptr) return "a view, runs nothing";
  std::vector<std::string> names;
  for (const std::string& listed : op.kernels) {
    if (listed == ir::kElementwise) names.push_back("elementwise programs");
  }
  for (const KernelChoice& choice : choices) {
    if (choice.base.rfind("elementwise_", 0) == 0) continue;
    names.push_back(choice.chosen != nullptr ? choice.chosen->name
                                             : absl::StrCat("not ", choice.base));
  }
  return absl::StrJoin(names, ", ");
}

void PrintList(const Judge& judge) {
  for (const ir::OpDef& op : ir::OpTable()) {
    PrintWrapped(CallText(op), 0, 6);
    const std::string kernels = ChosenText(op, judge.Choices(op));
    if (!kernels.empty()) PrintWrapped(kernels, 4, 2);
  }
  PrintWrapped(
      absl::StrCat(ir::OpTable().size(),
                   " operators; * has a gradient, ? optional, ! updated in place, .. one or more. "
                   "Below each, the kernels that ",
                   judge.is_device ? judge.profile.name : "every device",
                   " would use, by shapes and wanted results; `not` marks those that it cannot "
                   "run. `oa-run ops NAME` says more."),
      0, 0);
}

void PrintField(const char* name, const std::string& text) {
  if (!text.empty()) PrintWrapped(absl::StrCat(name, ": ", text), 2, 2);
}

void PrintDetails(const ir::OpDef& op) {
  std::printf("%s (family %s, version %u)\n", op.name.c_str(), op.family.c_str(), op.version);
  PrintWrapped(op.equation, 2, 2);
  PrintField("shapes", op.shapes);
  for (const ir::OperandDef& o : op.operands) {
    std::printf("  operand   %-18s %s\n", o.name.c_str(),
                absl::StrJoin(OperandMarks(op, o), ", ").c_str());
  }
  for (const ir::AttributeDef& a : op.attributes) {
    std::printf("  attribute %-18s %s\n", a.name.c_str(), AttributeText(a).c_str());
  }
  for (const ir::ResultDef& r : op.results) {
    std::printf("  result    %-18s %s\n", r.name.c_str(), r.optional ? "optional" : "");
  }
  if (op.adjoint == nullptr) std::printf("  has no gradient\n");
  PrintField("rejects", op.rejects);
  PrintField("notes", op.notes);
}

std::string Remark(const Kernel& kernel, const KernelChoice& choice, const Judge& judge) {
  if (&kernel == choice.chosen) return "chosen";
  const std::string reason = WhyNotRunnable(kernel, judge.profile);
  return reason.empty() ? "runs, the chosen one is more special" : reason;
}

void PrintKernels(const Judge& judge, const ir::OpDef& op) {
  if (op.lower == nullptr) std::printf("  is a view: it runs nothing\n");
  Table table({{"kernel", Table::Align::kLeft, true},
               {"shared bytes", Table::Align::kRight},
               {absl::StrCat("on ", judge.is_device ? judge.profile.name : "every device"),
                Table::Align::kLeft, true, true}});
  for (const KernelChoice& choice : judge.Choices(op)) {
    for (const Kernel* kernel : choice.variants) {
      table.Add({kernel->name, absl::StrCat(kernel->shared_bytes), Remark(*kernel, choice, judge)});
    }
  }
  if (!table.empty()) std::fputs(table.Text(kWidth).c_str(), stdout);
}

// ---- JSON ----

OrderedJson KernelsJson(const Judge& judge, const ir::OpDef& op) {
  OrderedJson kernels = OrderedJson::array();
  for (const KernelChoice& choice : judge.Choices(op)) {
    OrderedJson variants = OrderedJson::array();
    for (const Kernel* kernel : choice.variants) {
      const std::string reason = WhyNotRunnable(*kernel, judge.profile);
      variants.push_back({{"name", kernel->name}, {"runs", reason.empty()}, {"reason", reason}});
    }
    OrderedJson entry = {{"base", choice.base}, {"variants", std::move(variants)}};
    entry["chosen"] = choice.chosen != nullptr ? OrderedJson(choice.chosen->name) : OrderedJson();
    kernels.push_back(std::move(entry));
  }
  return kernels;
}

OrderedJson OpJson(const ir::OpDef& op, const Judge& judge) {
  OrderedJson operands = OrderedJson::array();
  for (const ir::OperandDef& o : op.operands) {
    operands.push_back({{"name", o.name},
                        {"dtypes", DTypesText(o.dtypes)},
                        {"optional", o.optional},
                        {"differentiable", HasGradient(op, o)},
                        {"mutated", o.mutated},
                        {"variadic", o.variadic}});
  }
  OrderedJson results = OrderedJson::array();
  for (const ir::ResultDef& r : op.results) results.push_back(r.name);
  OrderedJson attributes = OrderedJson::array();
  for (const ir::AttributeDef& a : op.attributes) {
    attributes.push_back(
        {{"name", a.name}, {"kind", ir::AttributeKindName(a.kind)}, {"tokens", a.tokens}});
  }
  return {{"name", op.name},
          {"family", op.family},
          {"version", op.version},
          {"equation", op.equation},
          {"shapes", op.shapes},
          {"operands", std::move(operands)},
          {"results", std::move(results)},
          {"attributes", std::move(attributes)},
          {"rejects", op.rejects},
          {"notes", op.notes},
          {"device", judge.profile.name},
          {"kernels", KernelsJson(judge, op)}};
}

absl::StatusOr<int> ShowOps(const OpsOptions& options) {
  const ir::OpDef* one = nullptr;
  if (!options.name.empty()) {
    one = ir::FindOp(options.name);
    if (one == nullptr) {
      return UsageError("there is no operator '", options.name, "'", ir::NearestOps(options.name),
                        ".");
    }
  }
  OA_ASSIGN_OR_RETURN(const Judge judge, FindJudge(options));
  if (options.json) {
    for (const ir::OpDef& op : ir::OpTable()) {
      if (one == nullptr || one == &op) std::printf("%s\n", JsonText(OpJson(op, judge)).c_str());
    }
  } else if (one == nullptr) {
    PrintList(judge);
  } else {
    PrintDetails(*one);
    PrintKernels(judge, *one);
  }
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
