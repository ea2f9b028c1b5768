// The loop limit of CPU devices (kLoopBudget, ir/grid.h): many rows are divided among enough
// workgroups, and what cannot be divided is refused instead of being computed wrongly.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "ir/compile.h"
#include "tests/support/device.h"
#include "tests/support/must.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

using ir::Attributes;
using reference::Tensor;

DeviceProfile TwoCores() {
  DeviceProfile profile;
  profile.name = "two cores";
  profile.is_cpu = true;
  profile.compute_units = 2;
  profile.subgroup_size = 8;
  profile.features = {"subgroup_arithmetic"};
  profile.max_allocation_bytes = uint64_t{1} << 36;
  return profile;
}

struct Operand {
  Shape shape;
  DType dtype = DType::F32;
  bool state = false;
};

// The plan of one call, all results outputs.
absl::StatusOr<ir::Compiled> CompileCall(const std::string& op,
                                         const std::vector<Operand>& operands,
                                         const Attributes& attributes) {
  ir::Graph graph("call");
  std::vector<ir::ValueId> ids;
  for (const Operand& operand : operands) {
    const BufferKind kind = operand.state ? BufferKind::kState : BufferKind::kInput;
    ids.push_back(Must(
        graph.AddStorage(kind, "x" + std::to_string(ids.size()), operand.dtype, operand.shape)));
  }
  const std::vector<ir::ValueId> results = Must(graph.Record(op, ids, attributes));
  for (size_t i = 0; i < results.size(); ++i) {
    REQUIRE(graph.AddOutput("y" + std::to_string(i), results[i]).ok());
  }
  ir::CompileOptions options;
  options.profile = TwoCores();
  return ir::Compile(graph, TestKernels(), options);
}

uint64_t Workgroups(const PlanDispatch& dispatch) {
  return uint64_t{dispatch.grid[0]} * dispatch.grid[1] * dispatch.grid[2];
}

// Workgroups of the dispatches labelled `label`, which there must be one of.
uint64_t GroupsOf(const ir::Compiled& compiled, const std::string& label) {
  uint64_t groups = 0;
  int found = 0;
  for (const PlanDispatch& dispatch : compiled.plan.dispatches) {
    if (dispatch.label != label) continue;
    groups = Workgroups(dispatch);
    ++found;
  }
  CHECK_EQ(found, 1);
  return groups;
}

TEST_CASE("loop limit: many rows get more workgroups than cores ask for") {
  const uint64_t rows = 100'000'000;
  const Attributes epsilon = Attributes().F32("epsilon", 1e-5f);
  // Two passes over one block of four elements a lane, their tests, and the loop over rows.
  CHECK_GE(GroupsOf(Must(CompileCall("rms_norm", {{{rows, 8}}, {{8}}}, epsilon)), "rms_norm"),
           rows / (65535 / 5) / 8);
  CHECK_GE(GroupsOf(Must(CompileCall("cross_entropy_masked_backward",
                                     {{{1}}, {{rows, 9}}, {{rows}, DType::U32}, {{rows}}},
                                     Attributes().I64("valid_count", 5))),
                    "cross_entropy_masked_backward"),
           rows / (65535 / 6));
  // Blocks of 1024 elements, four for each of eight lanes at a time.
  CHECK_GE(GroupsOf(Must(CompileCall(
                        "sgd_step",
                        {{{rows}, DType::F32, true}, {{rows}}, {{rows}, DType::F32, true}, {{3}}},
                        Attributes()
                            .F32("lr", 1)
                            .F32("momentum", 1)
                            .F32("weight_decay", 0)
                            .Bool("nesterov", false))),
                    "sgd_step"),
           rows / 1024 / (65535 / 33));
}

TEST_CASE("loop limit: joined optimiser updates keep to it") {
  const uint64_t count = 60'000'000;
  ir::Graph graph("steps");
  const ir::ValueId hyper = Must(graph.AddStorage(BufferKind::kState, "hyper", DType::F32, {3}));
  for (const std::string name : {"a", "b"}) {
    const auto declare = [&](BufferKind kind, const char* suffix) {
      return Must(graph.AddStorage(kind, name + suffix, DType::F32, {count}));
    };
    const ir::ValueId weight = declare(BufferKind::kState, ""),
                      gradient = declare(BufferKind::kInput, ".gradient");
    Must(graph.Record("sgd_step", {weight, gradient, ir::kAbsent, hyper},
                      Attributes()
                          .F32("lr", 1)
                          .F32("momentum", 0)
                          .F32("weight_decay", 0)
                          .Bool("nesterov", false)));
  }
  ir::CompileOptions options;
  options.profile = TwoCores();
  const ir::Compiled compiled = Must(ir::Compile(graph, TestKernels(), options));
  CHECK_GE(GroupsOf(compiled, "sgd_step x 2"), 2 * count / 1024 / (65535 / 33));
}

// Workgroups of the dispatches of kernel `name`, the fewest of any.
uint64_t GroupsOfKernel(const ir::Compiled& compiled, const std::string& name) {
  uint64_t groups = UINT64_MAX;
  for (const PlanDispatch& dispatch : compiled.plan.dispatches) {
    if (absl::StartsWith(compiled.plan.kernels[dispatch.kernel].name, name)) {
      groups = std::min(groups, Workgroups(dispatch));
    }
  }
  REQUIRE_NE(groups, UINT64_MAX);
  return groups;
}

TEST_CASE("loop limit: mamba3 counts nested loops and branches of lanes in lock step") {
  const uint64_t length = 100'000, heads = 4, width = 128, rows = length * heads;
  const Shape vectors = {1, length, 1, width}, inputs = {1, length, heads, 1};
  const Shape gates = {1, length, heads};
  const ir::Compiled scan = Must(CompileCall("mamba3_siso_backward",
                                             {{inputs},
                                              {vectors},
                                              {vectors},
                                              {inputs},
                                              {inputs},
                                              {gates},
                                              {gates},
                                              {gates},
                                              {{1, length, 64}},
                                              {{heads, width}},
                                              {{heads, width}},
                                              {{heads}}},
                                             Attributes()
                                                 .U32("batch_size", 1)
                                                 .U32("sequence_length", length)
                                                 .U32("num_heads", heads)
                                                 .U32("num_groups", 1)
                                                 .U32("head_dim", 1)
                                                 .U32("state_size", width)
                                                 .U32("num_rope_angles", 64)
                                                 .U32("mimo_rank", 1)
                                                 .Bool("has_z", true)
                                                 .Bool("has_d", true)
                                                 .Bool("has_output_norm", false)));
  // 64 tokens of three branches with a block of one element each.
  CHECK_GE(GroupsOfKernel(scan, "mamba3_pairs"), rows / 8 / (65535 / (64 * 16 + 8)));
  // 64 pairs of elements on eight lanes, one rank.
  CHECK_GE(GroupsOfKernel(scan, "mamba3_rotate_backward"), rows / (65535 / (8 * 3 + 3)));
  // 32 short vectors a row, each with four loops over eight elements.
  const ir::Compiled split = Must(CompileCall("mamba3_preprocess", {{{rows, 535}}, {{2}}},
                                              Attributes()
                                                  .U32("inner_size", 8)
                                                  .U32("state_size", 8)
                                                  .U32("num_heads", 2)
                                                  .U32("num_rope_angles", 1)
                                                  .U32("num_groups", 4)
                                                  .U32("mimo_rank", 8)
                                                  .F32("epsilon", 1e-5f)
                                                  .F32("dt_min", 1e-3f)
                                                  .F32("dt_max", 0.1f)
                                                  .F32("a_floor", 1e-4f)));
  CHECK_GE(GroupsOfKernel(split, "mamba3_preprocess"), rows / (65535 / (32 * 9 + 16)));
}

void CheckRefused(const std::string& op, const std::vector<Operand>& operands,
                  const Attributes& attributes) {
  INFO(op);
  const absl::Status status = CompileCall(op, operands, attributes).status();
  CHECK_EQ(status.code(), absl::StatusCode::kUnimplemented);
  CHECK_MESSAGE(absl::StrContains(status.message(), op), status.ToString());
  CHECK_MESSAGE(absl::StrContains(status.message(), "CPU devices are limited to 60000"),
                status.ToString());
}

TEST_CASE("loop limit: a row that alone takes too many iterations is refused") {
  CheckRefused("avg_pool_2d", {{{1, 1, 300, 300}}},
               Attributes().I64("kernel_size", 300).I64("stride", 1).I64("padding", 0));
  CheckRefused("cross_entropy", {{{2, 1'000'000}}, {{2}, DType::U32}},
               Attributes().Optional("ignore_index", std::nullopt));
  CheckRefused("layer_norm", {{{2, 1'000'000}}, {{1'000'000}}, {{1'000'000}}},
               Attributes().F32("epsilon", 1));
  CheckRefused("batch_norm_2d", {{{64, 2, 100, 100}}, {{2}}, {{2}}},
               Attributes().F32("epsilon", 1));
  CheckRefused("conv_1d_backward", {{{40000, 1, 4}}, {{40000, 1, 4}}, {{1, 1, 1}}},
               Attributes().I64("stride", 1).I64("padding", 0).I64("dilation", 1));
}

// Every workgroup of a CPU device works on thousands of rows here.
TEST_CASE("loop limit: rows at the end are computed") {
  if (TestDevice() == nullptr) return;
  constexpr uint64_t kRows = 400'000, kColumns = 2;
  ir::Graph graph("rows");
  const auto input = [&](const char* name, DType dtype, const Shape& shape) {
    return Must(graph.AddStorage(BufferKind::kInput, name, dtype, shape));
  };
  const ir::ValueId logits = input("logits", DType::F32, {kRows, kColumns}),
                    labels = input("labels", DType::U32, {kRows}),
                    mask = input("mask", DType::F32, {kRows}), g = input("g", DType::F32, {1});
  const Attributes count = Attributes().I64("valid_count", kRows);
  const ir::ValueId loss =
      Must(graph.Record("cross_entropy_masked", {logits, labels, mask}, count))[0];
  const ir::ValueId gradient =
      Must(graph.Record("cross_entropy_masked_backward", {g, logits, labels, mask}, count))[0];
  REQUIRE(graph.AddOutput("loss", loss).ok());
  REQUIRE(graph.AddOutput("gradient", gradient).ok());

  Tensor x(DType::F32, {kRows, kColumns}), zeros(DType::U32, {kRows}), ones(DType::F32, {kRows}),
      scale(DType::F32, {1});
  std::fill(ones.data.begin(), ones.data.end(), 1);
  scale[0] = kRows;
  RunOptions options;
  options.guarded = false;
  const exec::TensorMap outputs = Must(RunGraph(graph,
                                                {{"logits", ToBytes(x)},
                                                 {"labels", ToBytes(zeros)},
                                                 {"mask", ToBytes(ones)},
                                                 {"g", ToBytes(scale)}},
                                                options));
  // Equal logits: every row loses ln 2, and its gradient is softmax minus the label's one.
  CHECK_EQ(FromBytes(DType::F32, {1}, outputs.at("loss"))[0], doctest::Approx(0.693147));
  const Tensor got = FromBytes(DType::F32, {kRows, kColumns}, outputs.at("gradient"));
  uint64_t wrong = 0;
  for (uint64_t r = 0; r < kRows; ++r) {
    wrong += std::abs(got[2 * r] + 0.5) > 1e-5 || std::abs(got[2 * r + 1] - 0.5) > 1e-5 ? 1 : 0;
  }
  CHECK_EQ(wrong, 0);
}

}  // namespace
}  // namespace oa::testing
