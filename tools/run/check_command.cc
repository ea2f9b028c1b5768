// `oa-run check`: replays the test vectors a file carries and compares.
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "executor/session.h"
#include "schema/status_macros.h"
#include "tools/common/bind_inputs.h"
#include "tools/common/compare.h"
#include "tools/common/describe_json.h"
#include "tools/common/exit_codes.h"
#include "tools/common/model.h"
#include "tools/common/run_main.h"
#include "tools/common/table.h"
#include "tools/common/text.h"
#include "tools/run/command.h"
#include "tools/run/device_context.h"

namespace oa::tools {
namespace {

struct CheckOptions {
  std::string model, kernels, rtol, atol;
  DeviceFlags device;
  bool no_fuse = false;
  bool json = false;
};

// The result of one output of one vector.
struct CheckRow {
  std::string vector, output, type;
  Comparison comparison;
  std::string mismatch;  // "" when it agrees
};

absl::StatusOr<exec::TensorMap> ReplayVector(exec::Program& program, const TestVector& vector) {
  // A fresh session: the vector starts from the initial parameters and states.
  OA_ASSIGN_OR_RETURN(const auto session, exec::Session::Create(program));
  exec::InputMap inputs;
  for (const TestTensor& input : vector.inputs) inputs[input.name] = input.data.bytes();
  exec::TensorMap outputs;
  for (uint32_t i = 0; i < vector.replays; ++i) {
    OA_ASSIGN_OR_RETURN(outputs, session->Run(inputs));
  }
  return outputs;
}

absl::StatusOr<CheckRow> CompareOutput(const Plan& plan, const TestVector& vector,
                                       const TestTensor& expected, const exec::TensorMap& outputs,
                                       const ToleranceOverrides& overrides) {
  OA_ASSIGN_OR_RETURN(const PlanIo* io, FindIo(plan.outputs, expected.name, "output"));
  const auto got = outputs.find(expected.name);
  if (got == outputs.end()) {
    return BadFile("the test vector '", vector.name, "' was not replayed: it asks for ",
                   vector.replays, " replays.");
  }
  CheckRow row = {vector.name, expected.name, TypeText(io->dtype, io->shape), {}, ""};
  const Tolerance tolerance = overrides.Apply(io->dtype, {expected.atol, expected.rtol});
  const absl::Span<const uint8_t> wanted = expected.data.bytes();
  OA_ASSIGN_OR_RETURN(row.comparison, Compare(io->dtype, got->second, wanted, tolerance));
  if (!row.comparison.ok()) {
    row.mismatch = absl::StrCat(row.comparison.mismatches, " of ", row.comparison.count, "; ",
                                MismatchText(io->dtype, got->second, wanted, row.comparison));
  }
  return row;
}

absl::StatusOr<std::vector<CheckRow>> CheckAll(exec::Program& program,
                                               const ToleranceOverrides& overrides) {
  std::vector<CheckRow> rows;
  for (const TestVector& vector : program.plan().test_vectors) {
    absl::StatusOr<exec::TensorMap> outputs = ReplayVector(program, vector);
    if (!outputs.ok()) return WithExit(outputs.status(), kExitDevice);
    for (const TestTensor& expected : vector.outputs) {
      absl::StatusOr<CheckRow> row =
          CompareOutput(program.plan(), vector, expected, *outputs, overrides);
      if (!row.ok()) return WithExit(row.status(), kExitFile);
      rows.push_back(*std::move(row));
    }
  }
  return rows;
}

void PrintText(const std::vector<CheckRow>& rows) {
  Table table({{"vector", Table::Align::kLeft, true},
               {"output", Table::Align::kLeft, true},
               {"type", Table::Align::kLeft, true},
               {"max abs", Table::Align::kRight},
               {"max rel", Table::Align::kRight},
               {"result"}});
  for (const CheckRow& row : rows) {
    table.Add({row.vector, row.output, row.type, HumanNumber(row.comparison.max_abs),
               HumanNumber(row.comparison.max_rel), row.mismatch.empty() ? "ok" : "DIFFERS"});
  }
  std::fputs(table.Text().c_str(), stdout);
  for (const CheckRow& row : rows) {
    if (row.mismatch.empty()) continue;
    std::fprintf(stdout, "%s %s: %s\n", Printable(row.vector).c_str(),
                 Printable(row.output).c_str(), row.mismatch.c_str());
  }
}

void PrintJson(const std::vector<CheckRow>& rows) {
  for (const CheckRow& row : rows) {
    const OrderedJson line = {{"event", "check"},
                              {"vector", row.vector},
                              {"output", row.output},
                              {"type", row.type},
                              {"ok", row.mismatch.empty()},
                              {"mismatches", row.comparison.mismatches},
                              {"max_abs", row.comparison.max_abs},
                              {"max_rel", row.comparison.max_rel}};
    std::printf("%s\n", JsonText(line).c_str());
  }
}

absl::StatusOr<int> CheckOnDevice(const CheckOptions& options, Model model, exec::Device& device,
                                  const ToleranceOverrides& overrides) {
  PlanOptions compile;
  compile.profile = device.info().profile;
  compile.fuse = !options.no_fuse;
  compile.kernels = options.kernels;
  OA_ASSIGN_OR_RETURN(ReadyPlan ready, PreparePlan(std::move(model), compile));
  auto program = exec::Program::Create(device, std::move(ready.plan), ready.pack);
  if (!program.ok()) return WithExit(program.status(), kExitDevice);
  OA_ASSIGN_OR_RETURN(const std::vector<CheckRow> rows, CheckAll(**program, overrides));
  int code = kExitOk;
  for (const CheckRow& row : rows) {
    if (!row.mismatch.empty()) code = kExitMismatch;
  }
  options.json ? PrintJson(rows) : PrintText(rows);
  return code;
}

absl::StatusOr<int> CheckModel(const CheckOptions& options) {
  OA_ASSIGN_OR_RETURN(const ToleranceOverrides overrides,
                      ToleranceOverrides::Parse(options.rtol, options.atol));
  OA_ASSIGN_OR_RETURN(Model model, LoadModel(options.model));
  const bool empty =
      model.graph ? model.graph->test_vectors().empty() : model.plan->test_vectors.empty();
  if (empty) {
    return BadFile("'", options.model,
                   "' has no test vectors; the recording program adds them with "
                   "oa::Graph::AddTestVector.");
  }
  OA_ASSIGN_OR_RETURN(const auto context, DeviceContext::Open(options.device));
  const absl::StatusOr<int> code =
      CheckOnDevice(options, std::move(model), context->device(), overrides);
  OA_RETURN_IF_ERROR(code.status());
  OA_RETURN_IF_ERROR(context->Close());
  return code;
}

}  // namespace

Command AddCheckCommand(CLI::App& app) {
  CLI::App* check = app.add_subcommand("check", "Replay the test vectors inside a file");
  auto o = std::make_shared<CheckOptions>();
  check->add_option("model", o->model, "A graph (.oag) or a plan (.oax)")->required();
  check->add_option("--rtol", o->rtol,
                    "Instead of the stored tolerances: 1e-4, or by\ntype: f32=1e-4,bf16=1e-2");
  check->add_option("--atol", o->atol, "The same for the absolute tolerance");
  check->add_option("--kernels", o->kernels, "Kernel pack");
  check->add_flag("--no-fuse", o->no_fuse, "Compile a graph without fusing operators");
  check->add_flag("--json", o->json, "JSON Lines on stdout instead of text");
  AddDeviceFlags(*check, o->device);
  check->footer(std::string("Examples:\n"
                            "  oa-run check model.oag\n"
                            "  oa-run check model.oax --device llvmpipe --validate\n"
                            "  oa-run check model.oag --rtol f32=1e-5 --atol f32=1e-6\n") +
                kExitCodeHelp);
  return {check, [o] { return CheckModel(*o); }};
}

}  // namespace oa::tools
