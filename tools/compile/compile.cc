#include "tools/compile/compile.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/compile.h"
#include "schema/file_io.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/kernel_lookup.h"
#include "tools/common/model.h"
#include "tools/common/pages.h"
#include "tools/common/run_main.h"
#include "tools/common/table.h"
#include "tools/common/text.h"
#include "tools/common/writable.h"

namespace oa::tools {
namespace {

constexpr size_t kShownFusions = 8;

absl::StatusOr<DeviceProfile> ChooseProfile(const CompileFlags& flags) {
  if (!flags.device.empty()) return LoadProfile(flags.device);
  DeviceProfile profile;
  if (flags.target == "cpu") {
    profile.name = "cpu";
    profile.is_cpu = true;
  }
  return profile;
}

// model.oag -> model.oax when -o is not given.
std::string OutputPath(const CompileFlags& flags) {
  if (!flags.output.empty()) return flags.output;
  std::string path = flags.model;
  if (absl::EndsWith(path, ".oag")) path.resize(path.size() - 4);
  return path + ".oax";
}

// The kernels that `plan` uses, as a pack of their own.
Blob BundledPack(const Plan& plan, const KernelPack& pack) {
  std::set<std::string> used;
  for (const PlanKernel& kernel : plan.kernels) used.insert(kernel.name);
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : pack.kernels()) {
    if (used.count(kernel.name) > 0) kernels.push_back(kernel);
  }
  return Blob::Own(KernelPack(std::move(kernels), pack.compiler()).Serialize());
}

void PrintFusions(std::vector<ir::FusionNote> fusions) {
  if (fusions.empty()) return;
  std::stable_sort(fusions.begin(), fusions.end(),
                   [](const auto& a, const auto& b) { return a.bytes_saved > b.bytes_saved; });
  const size_t count = fusions.size();
  fusions.resize(std::min(count, kShownFusions));
  Table table({{"fused", Table::Align::kLeft, true},
               {"rule", Table::Align::kLeft, true},
               {"bytes saved", Table::Align::kRight}});
  for (const ir::FusionNote& f : fusions) table.Add({f.what, f.rule, HumanBytes(f.bytes_saved)});
  std::printf("\n%s", table.Text().c_str());
  if (count > fusions.size()) {
    std::printf("  and %zu more; --report FILE.html lists all\n", count - fusions.size());
  }
}

// "OP=ROUTE" each.
absl::StatusOr<ir::Routes> ParseRoutes(const std::vector<std::string>& texts) {
  ir::Routes routes;
  for (const std::string& text : texts) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    routes[parts.first] = parts.second;
  }
  const absl::Status status = ir::CheckRoutes(routes);
  if (!status.ok()) return WithExit(Annotate(status, "--route"), kExitUsage);
  return routes;
}

absl::StatusOr<ir::Compiled> Compile(const CompileFlags& flags, const ir::Graph& graph,
                                     const KernelPack& pack) {
  ir::CompileOptions options;
  OA_ASSIGN_OR_RETURN(options.profile, ChooseProfile(flags));
  options.fuse = !flags.no_fuse;
  OA_ASSIGN_OR_RETURN(options.routes, ParseRoutes(flags.routes));
  options.on_pass = [&](absl::string_view pass, const std::string& text) {
    if (!absl::c_linear_search(flags.dump_after, pass)) return;
    std::printf("# after %s\n%s", std::string(pass).c_str(), text.c_str());
  };
  absl::StatusOr<ir::Compiled> compiled = ir::Compile(graph, pack, options);
  if (compiled.ok()) return compiled;
  return WithExit(
      Annotate(compiled.status(), absl::StrCat("cannot compile '", flags.model,
                                               "' for the profile '", options.profile.name, "'")),
      kExitDevice);
}

absl::Status WriteReport(const CompileFlags& flags, const ir::Compiled& compiled) {
  if (flags.report.empty()) return absl::OkStatus();
  const std::string page = PlanPage(compiled.plan, compiled.passes, compiled.fusions);
  const absl::Span<const uint8_t> part(reinterpret_cast<const uint8_t*>(page.data()), page.size());
  return WithExit(WriteFileAtomically(flags.report, {part}), kExitFile);
}

void PrintSummary(const CompileFlags& flags, const ir::Compiled& compiled,
                  const std::string& output, uint64_t bytes) {
  if (flags.quiet) return;
  std::fputs(ir::ReportTable(compiled.passes).c_str(), stdout);
  PrintFusions(compiled.fusions);
  std::printf("\nwrote %s, %s, for the profile '%s'%s\n", output.c_str(), HumanBytes(bytes).c_str(),
              Printable(compiled.plan.profile.name).c_str(),
              flags.bundle ? ", with its kernels" : "");
  if (!flags.report.empty()) std::printf("wrote %s\n", flags.report.c_str());
}

}  // namespace

void AddCompileFlags(CLI::App& app, CompileFlags& f) {
  app.add_option("model", f.model, "A recorded graph (.oag)")->required();
  app.add_option("-o,--output", f.output,
                 "The plan to write (default: the graph's name\nwith .oax)");
  CLI::Option* device = app.add_option(
      "--device", f.device, "Profile of the device, made there by\n`oa-run devices --profile`");
  app.add_option("--target", f.target,
                 "Without a profile: portable (every device) or cpu\n(software drivers)")
      ->check(CLI::IsMember({"portable", "cpu"}))
      ->excludes(device);
  app.add_option("--kernels", f.kernels,
                 "Kernel pack (default: $OA_KERNELS, then\nkernels.oak beside the program)");
  app.add_flag("--no-fuse", f.no_fuse, "One operator, one kernel: for finding faults");
  AddRepeated(
      app, "--route", f.routes,
      "Lower an operator by this route, as OP=ROUTE;\n`oa-run ops OP` lists them; repeatable");
  app.add_flag("--bundle", f.bundle, "Put the kernels that are used into the plan");
  app.add_option("--report", f.report,
                 "Write a page with passes, memory map, fusions and\n"
                 "dispatches");
  AddRepeated(app, "--dump-after", f.dump_after,
              "Print the program after a pass: prune, lower,\nfuse, schedule or place; repeatable")
      ->check(CLI::IsMember({"prune", "lower", "fuse", "schedule", "place"}));
  app.add_flag("--quiet", f.quiet, "Print errors only");
  app.footer(std::string("Examples:\n"
                         "  oa-compile model.oag -o model.oax\n"
                         "  oa-run devices --profile > device.json\n"
                         "  oa-compile model.oag -o model.oax --device device.json --bundle\n"
                         "  oa-compile model.oag --report report.html --dump-after fuse\n") +
             kExitCodeHelp);
}

absl::StatusOr<int> CompileFile(const CompileFlags& flags) {
  OA_ASSIGN_OR_RETURN(const Model model, LoadModel(flags.model));
  if (!model.graph) {
    return BadFile("'", flags.model,
                   "' is a plan already; give the graph (.oag) it was made from.");
  }
  const std::string output = OutputPath(flags);
  std::vector<std::string> files = {output};
  if (!flags.report.empty()) files.push_back(flags.report);
  OA_RETURN_IF_ERROR(CheckWritable(files));
  OA_ASSIGN_OR_RETURN(const KernelPack pack, LoadKernelPack(flags.kernels));
  OA_ASSIGN_OR_RETURN(ir::Compiled compiled, Compile(flags, *model.graph, pack));
  if (flags.bundle) compiled.plan.bundled_pack = BundledPack(compiled.plan, pack);
  OA_RETURN_IF_ERROR(WithExit(SavePlan(compiled.plan, output), kExitFile));
  OA_RETURN_IF_ERROR(WriteReport(flags, compiled));
  OA_ASSIGN_OR_RETURN(const Blob written, ReadFile(output));
  PrintSummary(flags, compiled, output, written.size());
  return kExitOk;
}

}  // namespace oa::tools
