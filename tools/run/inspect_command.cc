// `oa-run inspect`: shows what is in a file, as text, JSON, Graphviz or HTML.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/graph_io.h"
#include "schema/container.h"
#include "schema/file_io.h"
#include "schema/kernel_pack.h"
#include "schema/status_macros.h"
#include "tools/common/describe_json.h"
#include "tools/common/dot.h"
#include "tools/common/element.h"
#include "tools/common/exit_codes.h"
#include "tools/common/file_kind.h"
#include "tools/common/html.h"
#include "tools/common/npy.h"
#include "tools/common/pages.h"
#include "tools/common/safetensors.h"
#include "tools/common/table.h"
#include "tools/common/text.h"
#include "tools/common/writable.h"
#include "tools/run/command.h"

namespace oa::tools {
namespace {

struct InspectOptions {
  std::string file, output;
  std::string format = "text";
};

// What there is to show; a format that a file kind does not have is refused.
struct Views {
  std::string text;
  OrderedJson json;
  std::string dot;   // "" when there is no such view
  std::string html;  // the same
};

// "# model.oag: graph, format 1.0, 12.3 KiB, digest 0123456789abcdef".
std::string Summary(const std::string& path, AnyFile kind, const Blob& file) {
  std::string text = absl::StrCat("# ", path, ": ", AnyFileName(kind), ", ");
  const absl::Span<const uint8_t> b = file.bytes();
  if (kind == AnyFile::kGraph || kind == AnyFile::kPlan || kind == AnyFile::kKernelPack) {
    absl::StrAppend(&text, "format ", b[4] | b[5] << 8, ".", b[6] | b[7] << 8, ", ");
  }
  absl::StrAppendFormat(&text, "%s, xxh3 %016x\n", HumanBytes(file.size()), Digest(b));
  return text;
}

absl::StatusOr<Views> ViewGraph(const Blob& file, const std::string& path) {
  OA_ASSIGN_OR_RETURN(const ir::Graph graph, ir::ParseGraph(file, path));
  return Views{ir::DumpGraph(graph), GraphJson(graph), GraphDot(graph), GraphPage(graph)};
}

absl::StatusOr<Views> ViewPlan(const Blob& file, const std::string& path) {
  OA_ASSIGN_OR_RETURN(const Plan plan, ParsePlan(file, path));
  return Views{DumpPlan(plan), PlanJson(plan), PlanDot(plan), PlanPage(plan, {}, {})};
}

absl::StatusOr<Views> ViewPack(const Blob& file, const std::string& path) {
  OA_ASSIGN_OR_RETURN(const KernelPack pack, KernelPack::Parse(file, path));
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"kernel", Table::Align::kLeft, true},
               {"local", Table::Align::kLeft},
               {"shared", kRight},
               {"spirv", kRight},
               {"device", Table::Align::kLeft},
               {"features", Table::Align::kLeft, true}});
  const char* devices[] = {"any", "gpu", "cpu"};
  for (const Kernel& k : pack.kernels()) {
    std::string features;
    for (const std::string& f : k.features)
      absl::StrAppend(&features, features.empty() ? "" : " ", f);
    table.Add({k.name, absl::StrCat(k.local_size[0], "x", k.local_size[1], "x", k.local_size[2]),
               absl::StrCat(k.shared_bytes), HumanBytes(k.spirv.size()),
               devices[static_cast<int>(k.device)], features});
  }
  return Views{absl::StrCat(Counted(pack.kernels().size(), "kernel"), ", compiled by ",
                            Printable(pack.compiler()), "\n", table.Text()),
               PackJson(pack), "", ""};
}

// "0.1234 -1.5 ..": enough to tell tensors apart.
std::string FirstFigures(const Tensor& tensor) {
  constexpr uint64_t kShown = 3;
  const uint64_t count = tensor.data.size() / SizeOf(tensor.dtype);
  std::string text;
  for (uint64_t i = 0; i < std::min(count, kShown); ++i) {
    const double value = ElementAt(tensor.dtype, tensor.data.bytes(), i);
    absl::StrAppend(&text, HumanNumber(value), " ");
  }
  return text + (count > kShown ? ".." : "");
}

absl::StatusOr<Views> ViewSafetensors(const Blob& file, const std::string& path) {
  OA_ASSIGN_OR_RETURN(const Safetensors content, ParseSafetensors(file, path));
  Table table({{"tensor", Table::Align::kLeft, true},
               {"type", Table::Align::kLeft},
               {"size", Table::Align::kRight},
               {"first elements", Table::Align::kLeft, true}});
  for (const Tensor& t : content.tensors) {
    table.Add({t.name, TypeText(t.dtype, t.shape), HumanBytes(t.data.size()), FirstFigures(t)});
  }
  std::string text = absl::StrCat(Counted(content.tensors.size(), "tensor"), "\n");
  for (const auto& [key, value] : content.metadata) {
    absl::StrAppend(&text, "  ", Printable(key), " = ", Printable(value), "\n");
  }
  return Views{text + table.Text(), SafetensorsJson(content), "", ""};
}

absl::StatusOr<Views> ViewNpy(const Blob& file, const std::string& path) {
  OA_ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(file, path));
  std::string text = absl::StrCat(NpyTypeName(array.header), ShapeText(array.header.shape), "\n");
  return Views{std::move(text), NpyJson(array), "", ""};
}

absl::StatusOr<Views> ViewFile(const Blob& file, const std::string& path, AnyFile kind) {
  switch (kind) {
    case AnyFile::kGraph:
      return ViewGraph(file, path);
    case AnyFile::kPlan:
      return ViewPlan(file, path);
    case AnyFile::kKernelPack:
      return ViewPack(file, path);
    case AnyFile::kSafetensors:
      return ViewSafetensors(file, path);
    case AnyFile::kNpy:
      return ViewNpy(file, path);
  }
  return absl::InternalError("unknown file kind");
}

absl::StatusOr<std::string> Choose(const InspectOptions& options, const std::string& summary,
                                   AnyFile kind, const Views& views) {
  if (options.format == "text") return summary + views.text;
  if (options.format == "json") return JsonText(views.json, 2) + "\n";
  const std::string& view = options.format == "dot" ? views.dot : views.html;
  if (!view.empty()) return view;
  return UsageError("a file of kind '", AnyFileName(kind), "' has no ", options.format,
                    " view; use --format text or json.");
}

absl::StatusOr<int> Inspect(const InspectOptions& options) {
  absl::StatusOr<Blob> file = ReadFile(options.file);
  if (!file.ok()) return WithExit(file.status(), kExitFile);
  OA_ASSIGN_OR_RETURN(const AnyFile kind, DetectFile(file->bytes(), options.file));
  const absl::StatusOr<Views> views = ViewFile(*file, options.file, kind);
  if (!views.ok()) return WithExit(views.status(), kExitFile);
  OA_ASSIGN_OR_RETURN(const std::string shown,
                      Choose(options, Summary(options.file, kind, *file), kind, *views));
  if (options.output.empty()) {
    std::fwrite(shown.data(), 1, shown.size(), stdout);
    return kExitOk;
  }
  OA_RETURN_IF_ERROR(CheckWritable({options.output}));
  const absl::Span<const uint8_t> part(reinterpret_cast<const uint8_t*>(shown.data()),
                                       shown.size());
  OA_RETURN_IF_ERROR(WithExit(WriteFileAtomically(options.output, {part}), kExitFile));
  std::printf("wrote %s\n", options.output.c_str());
  return kExitOk;
}

}  // namespace

Command AddInspectCommand(CLI::App& app) {
  CLI::App* inspect = app.add_subcommand("inspect", "Show what is in a file");
  auto o = std::make_shared<InspectOptions>();
  inspect->add_option("file", o->file, "An .oag, .oax, .oak, .safetensors or .npy file")
      ->required();
  inspect->add_option("--format", o->format, "text, json, dot or html")
      ->check(CLI::IsMember({"text", "json", "dot", "html"}));
  inspect->add_option("-o,--output", o->output, "Write to this file instead of stdout");
  inspect->footer(
      std::string("Examples:\n"
                  "  oa-run inspect model.oag | less\n"
                  "  oa-run inspect model.oax --format html -o plan.html\n"
                  "  oa-run inspect model.oag --format dot | dot -Tsvg -o model.svg\n") +
      kExitCodeHelp);
  return {inspect, [o] { return Inspect(*o); }};
}

}  // namespace oa::tools
