// `oa-run verify`: the full verification that loading does, and nothing else.
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/graph.h"
#include "ir/graph_io.h"
#include "schema/file_io.h"
#include "schema/kernel_pack.h"
#include "schema/plan.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/file_kind.h"
#include "tools/common/kernel_lookup.h"
#include "tools/common/npy.h"
#include "tools/common/safetensors.h"
#include "tools/common/text.h"
#include "tools/run/command.h"

namespace oa::tools {
namespace {

struct VerifyOptions {
  std::string file, kernels;
};

// A plan is checked against its own pack, against --kernels, or without kernels.
absl::StatusOr<std::string> VerifyPlanFile(const VerifyOptions& options, Blob file) {
  OA_ASSIGN_OR_RETURN(const Plan plan, ParsePlan(std::move(file), options.file));
  const char* against = "not checked against kernels (give --kernels FILE)";
  if (!options.kernels.empty()) {
    OA_ASSIGN_OR_RETURN(const KernelPack pack, LoadKernelPack(options.kernels));
    OA_RETURN_IF_ERROR(VerifyPlanKernels(plan, pack, options.file));
    against = "kernels agree";
  } else if (!plan.bundled_pack.empty()) {
    OA_ASSIGN_OR_RETURN(const KernelPack pack,
                        KernelPack::Parse(plan.bundled_pack, options.file + " (bundled kernels)"));
    OA_RETURN_IF_ERROR(VerifyPlanKernels(plan, pack, options.file));
    against = "bundled kernels agree";
  }
  return absl::StrFormat("plan '%s', %s in %s, graph %016x, %s", Printable(plan.name),
                         Counted(plan.dispatches.size(), "dispatch"),
                         Counted(plan.stages.size(), "stage"), plan.graph_identity, against);
}

absl::StatusOr<std::string> VerifyAny(const VerifyOptions& options) {
  OA_ASSIGN_OR_RETURN(Blob file, ReadFile(options.file));
  OA_ASSIGN_OR_RETURN(const AnyFile kind, DetectFile(file.bytes(), options.file));
  switch (kind) {
    case AnyFile::kGraph: {
      OA_ASSIGN_OR_RETURN(const ir::Graph graph, ir::ParseGraph(std::move(file), options.file));
      return absl::StrFormat("graph '%s', %s, identity %016x", Printable(graph.name()),
                             Counted(graph.nodes().size(), "node"), ir::GraphIdentity(graph));
    }
    case AnyFile::kPlan:
      return VerifyPlanFile(options, std::move(file));
    case AnyFile::kKernelPack: {
      OA_ASSIGN_OR_RETURN(const KernelPack pack, KernelPack::Parse(std::move(file), options.file));
      return absl::StrCat("kernel pack, ", Counted(pack.kernels().size(), "kernel"),
                          ", compiled by ", Printable(pack.compiler()));
    }
    case AnyFile::kSafetensors: {
      OA_ASSIGN_OR_RETURN(const Safetensors content,
                          ParseSafetensors(std::move(file), options.file));
      return absl::StrCat("safetensors, ", Counted(content.tensors.size(), "tensor"));
    }
    case AnyFile::kNpy: {
      OA_ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(std::move(file), options.file));
      return absl::StrCat("NPY array, ", NpyTypeName(array.header), ShapeText(array.header.shape));
    }
  }
  return absl::InternalError("unknown file kind");
}

absl::StatusOr<int> Verify(const VerifyOptions& options) {
  const absl::StatusOr<std::string> summary = VerifyAny(options);
  if (!summary.ok()) return WithExit(summary.status(), kExitFile);
  std::printf("ok: %s: %s\n", options.file.c_str(), summary->c_str());
  return kExitOk;
}

}  // namespace

Command AddVerifyCommand(CLI::App& app) {
  CLI::App* verify = app.add_subcommand("verify", "Check a file completely");
  auto o = std::make_shared<VerifyOptions>();
  verify->add_option("file", o->file, "An .oag, .oax, .oak, .safetensors or .npy file")->required();
  verify->add_option("--kernels", o->kernels, "Check a plan also against this kernel pack");
  verify->footer(std::string("Prints one line that begins with 'ok:', or the first problem.\n"
                             "Examples:\n"
                             "  oa-run verify model.oag\n"
                             "  oa-run verify model.oax --kernels kernels.oak\n") +
                 kExitCodeHelp);
  return {verify, [o] { return Verify(*o); }};
}

}  // namespace oa::tools
