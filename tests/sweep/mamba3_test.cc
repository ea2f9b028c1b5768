// The Mamba-3 family beyond the sweep: golden values of its specification, and what its parts must
// agree on with each other.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/compile.h"
#include "ir/op.h"
#include "tests/reference/reference.h"
#include "tests/support/device.h"
#include "tests/support/must.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

using ir::Attributes;
using reference::Tensor;

struct Config {
  uint32_t batch, length, heads, groups, depth, width, angles, ranks;
  bool has_z = false, has_d = false, has_norm = false;
  bool mimo = false;

  Attributes attributes() const {
    return Attributes()
        .U32("batch_size", batch)
        .U32("sequence_length", length)
        .U32("num_heads", heads)
        .U32("num_groups", groups)
        .U32("head_dim", depth)
        .U32("state_size", width)
        .U32("num_rope_angles", angles)
        .U32("mimo_rank", ranks)
        .Bool("has_z", has_z)
        .Bool("has_d", has_d)
        .Bool("has_output_norm", has_norm);
  }
  std::string op() const { return mimo ? "mamba3_mimo" : "mamba3_siso"; }
};

constexpr const char* kNames[] = {"c",  "b",      "x",      "z",      "adt",
                                  "dt", "trap",   "angle",  "c_bias", "b_bias",
                                  "d",  "mimo_x", "mimo_z", "mimo_o", "norm_weight"};
constexpr size_t kX = 2, kZ = 3, kAdt = 4, kD = 10, kMimoZ = 12, kNorm = 14;

// Element i of operand o is base + amp * sin(0.7 i + 1.1 o + 0.3), as in the specification.
Tensor Wave(Shape shape, int o, double amp, double base) {
  Tensor tensor(DType::F32, std::move(shape));
  for (size_t i = 0; i < tensor.size(); ++i) {
    const double x = base + amp * std::sin(0.7 * static_cast<double>(i) + 1.1 * o + 0.3);
    tensor[i] = static_cast<float>(x);
  }
  return tensor;
}

std::vector<Tensor> Operands(const Config& s) {
  const uint64_t groups = s.groups == 0 ? s.heads : s.groups;
  const Shape vectors = {s.batch, s.length, s.ranks * groups, s.width};
  const Shape inputs = {s.batch, s.length, s.heads, s.depth}, gates = {s.batch, s.length, s.heads};
  const Shape bias = s.mimo ? Shape{s.heads, s.ranks, s.width} : Shape{s.heads, s.width};
  std::vector<Tensor> list = {
      Wave(vectors, 0, 1, 0),    Wave(vectors, 1, 1, 0),
      Wave(inputs, 2, 1, 0),     Wave(inputs, 3, 1, 0),
      Wave(gates, 4, 0.4, -0.6), Wave(gates, 5, 0.2, 0.3),
      Wave(gates, 6, 1, 0),      Wave({s.batch, s.length, s.angles}, 7, 2, 0),
      Wave(bias, 8, 0.5, 0),     Wave(bias, 9, 0.5, 0),
      Wave({s.heads}, 10, 1, 0)};
  if (!s.mimo) return list;
  const Shape projection = {s.heads, s.ranks, s.depth};
  list.push_back(Wave(projection, 11, 0.5, 0.5));
  list.push_back(Wave(projection, 12, 0.5, 0.8));
  list.push_back(Wave(projection, 13, 0.5, 0.4));
  list.push_back(Wave({s.heads, s.depth}, 14, 0.3, 1));
  return list;
}

Tensor OracleScan(const Config& s, const std::vector<Tensor>& operands) {
  for (const reference::ReferenceOp& row : reference::AllReferences()) {
    if (row.op == s.op()) return row.forward(operands, s.attributes())[0];
  }
  FAIL("no oracle");
  return {};
}

// A graph whose nodes are the calls under test.
class Program {
 public:
  ir::ValueId Input(const Tensor& x) {
    const std::string name = absl::StrCat("in", inputs_.size());
    inputs_[name] = ToBytes(x);
    return Must(graph_.AddStorage(BufferKind::kInput, name, x.dtype, x.shape));
  }
  ir::ValueId State(const std::string& name, const Shape& shape) {
    return Must(graph_.AddStorage(BufferKind::kState, name, DType::F32, shape));
  }
  std::vector<ir::ValueId> Inputs(const std::vector<Tensor>& tensors) {
    std::vector<ir::ValueId> ids;
    for (const Tensor& tensor : tensors) ids.push_back(Input(tensor));
    return ids;
  }
  std::vector<ir::ValueId> Record(const std::string& op, const std::vector<ir::ValueId>& operands,
                                  const Attributes& attributes) {
    return Must(graph_.Record(op, operands, attributes));
  }
  void Output(const std::string& name, ir::ValueId value) {
    REQUIRE(graph_.AddOutput(name, value).ok());
    shapes_[name] = graph_.value(value).shape;
  }
  // The scan and the gradients of its operands for the output gradient `dy`, named `prefix` + "y",
  // + "d_c" and so on.
  void Scan(const Config& s, const std::vector<Tensor>& operands, const Tensor& dy,
            const std::string& prefix) {
    std::vector<ir::ValueId> ids = Inputs(operands);
    Output(prefix + "y", Record(s.op(), ids, s.attributes())[0]);
    ids.insert(ids.begin(), Input(dy));
    const std::vector<ir::ValueId> gradients = Record(s.op() + "_backward", ids, s.attributes());
    for (size_t i = 0; i < gradients.size(); ++i) {
      Output(prefix + "d_" + kNames[i], gradients[i]);
    }
  }
  std::map<std::string, Tensor> Run(const RunOptions& options = {}) {
    const exec::TensorMap outputs = Must(RunGraph(graph_, inputs_, options));
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, shape] : shapes_) {
      tensors[name] = FromBytes(DType::F32, shape, outputs.at(name));
    }
    return tensors;
  }

 private:
  ir::Graph graph_{"mamba3"};
  std::map<std::string, Bytes> inputs_;
  std::map<std::string, Shape> shapes_;
};

double LargestMagnitude(const Tensor& x) {
  double largest = 0;
  for (double value : x.data) largest = std::max(largest, std::abs(value));
  return largest;
}

// Close in units of the largest element, as the specification measures.
void CheckClose(const Tensor& got, const Tensor& expected, double relative) {
  const double scale = std::max(LargestMagnitude(expected), 1e-3);
  CHECK_EQ(Compare(got, expected, {relative * scale, 0}), "");
}

// ---- Golden values ----

struct Golden {
  const char* name;
  double first, last, sum, absolute;
};

void CheckGolden(const Tensor& got, const Golden& golden, double tolerance) {
  INFO(golden.name);
  double sum = 0, absolute = 0;
  for (double value : got.data) {
    sum += value;
    absolute += std::abs(value);
  }
  const double terms = static_cast<double>(got.size());
  CHECK(std::abs(got.data.front() - golden.first) <= tolerance);
  CHECK(std::abs(got.data.back() - golden.last) <= tolerance);
  CHECK(std::abs(sum - golden.sum) <= tolerance * terms);
  CHECK(std::abs(absolute - golden.absolute) <= tolerance * terms);
}

constexpr Config kSiso = {2, 5, 4, 2, 3, 6, 2, 1, true, true};
constexpr Config kMimo = {2, 5, 4, 2, 3, 6, 2, 3, true, true, true, true};

const Golden kSisoGolden[] = {{"y", 0.08659385492, 0.1260759713, -9.273472766, 21.80029731},
                              {"d_c", -0.06170580514, 0.05329413198, 1.936896124, 10.98827133},
                              {"d_b", -0.4599889715, 0.1271931561, 0.05231602075, 12.3383805},
                              {"d_x", -0.2711562838, 0.1401738557, 9.156425684, 24.23509357},
                              {"d_z", 0.1268864067, 0.02305220892, -11.95019151, 20.12965461},
                              {"d_adt", 0, 0.3567067445, -5.838022143, 10.07549446},
                              {"d_dt", -0.5728760874, 0.1071208105, -10.72720791, 24.56100477},
                              {"d_trap", -0.04262310664, -0.1614494354, 0.1365725549, 2.881483948},
                              {"d_angle", 0, 0.002743041753, -0.6018745949, 0.6487636328},
                              {"d_c_bias", -0.1560617213, 0.5765501284, 1.936896124, 12.86839941},
                              {"d_b_bias", -0.07160520709, 0.2771284967, 0.05231602075, 5.2936667},
                              {"d_d", 0.3809165068, 0.3780091834, 1.847222143, 1.847222143}};
const Golden kMimoGolden[] = {
    {"y", 0.1405349198, 0.03927005284, 2.84880478, 30.68229027},
    {"d_c", -0.008528139993, -0.1148537057, -0.6673892708, 21.45102528},
    {"d_b", -0.3230108913, 0.01572223294, 3.328615341, 48.3283792},
    {"d_x", -0.377780514, -0.2597820658, -34.85841559, 42.31640831},
    {"d_z", 0.1957200089, 0.004022196159, 13.02371204, 29.39617079},
    {"d_adt", 0, -0.2566839706, -2.031408306, 9.788404484},
    {"d_dt", -0.2346471846, 0.3762304692, -0.2879186189, 36.22465903},
    {"d_trap", -0.01745821164, 0.217185032, 0.2739778945, 5.770704108},
    {"d_angle", 0, 0.06973056558, -0.03734191511, 1.076068482},
    {"d_c_bias", 0.05752698485, -0.4729895737, -0.6673892708, 12.62712331},
    {"d_b_bias", 0.1615345468, -0.01430744749, 3.328615341, 17.91999643},
    {"d_d", 0.01674689714, 0.8920323788, -6.275849968, 8.093408519},
    {"d_mimo_x", -1.764218174, -3.697079543, -4.56414871, 33.47655382},
    {"d_mimo_z", -0.578766759, 0.5608927528, 4.335557635, 10.4601148},
    {"d_mimo_o", -0.9191474678, 0.4220878288, 0.4920305206, 21.88276625},
    {"d_norm_weight", -0.9208949066, -0.04142004101, 1.820077747, 8.343982014}};

template <size_t n>
void CheckScanGolden(const Config& s, const Golden (&golden)[n]) {
  const std::vector<Tensor> operands = Operands(s);
  CheckGolden(OracleScan(s, operands), golden[0], 1e-7);  // operands are rounded to F32
  if (TestDevice() == nullptr) return;
  Program program;
  program.Scan(s, operands, Wave(operands[kX].shape, 15, 1, 0), "");
  const std::map<std::string, Tensor> results = program.Run();
  for (const Golden& row : golden) CheckGolden(results.at(row.name), row, 5e-6);
  CHECK_EQ(results.at("d_adt")[0], 0.0);
}

TEST_CASE("mamba3: golden values of the scans and their gradients") {
  SUBCASE("siso") { CheckScanGolden(kSiso, kSisoGolden); }
  SUBCASE("mimo") { CheckScanGolden(kMimo, kMimoGolden); }
}

Attributes PreprocessAttributes() {
  return Attributes()
      .U32("inner_size", 5)
      .U32("state_size", 3)
      .U32("num_heads", 2)
      .U32("num_rope_angles", 1)
      .U32("num_groups", 1)
      .U32("mimo_rank", 2)
      .F32("epsilon", 1e-5f)
      .F32("dt_min", 0.2f)
      .F32("dt_max", 1.8f)
      .F32("a_floor", 0.8f);
}

TEST_CASE("mamba3: golden values of the preprocessing") {
  if (TestDevice() == nullptr) return;
  const Golden golden[] = {{"x", -1.223715782, -0.3277042561, -3.907965357, 31.44604037},
                           {"z", 0.5910404133, 0.9989655646, 4.005161804, 30.8435145},
                           {"bh", 1.006543623, -1.439392438, 0.456922194, 27.51298602},
                           {"ch", -1.514819835, 1.12593736, 0.04369914472, 27.31335081},
                           {"dt", 0.9794708127, 0.699898352, 9.976156079, 9.976156079},
                           {"adt", -0.7835766501, -0.5599186816, -15.11971907, 15.11971907},
                           {"trap", -0.6849612369, -0.2611817099, -0.6278631217, 11.68845374},
                           {"angle", 1.735288201, 1.07763887, 1.016960911, 6.999934699},
                           {"d_projected", -0.4425204433, 0.4201670368, -0.1652357267, 60.18259702},
                           {"d_dt_bias", 0.6714649029, 1.732405043, 2.403869946, 2.403869946}};
  Program program;
  std::vector<ir::ValueId> ids = {program.Input(Wave({5, 29}, 0, 2, 0)),
                                  program.Input(Wave({2}, 1, 0.5, 0))};
  const std::vector<ir::ValueId> values =
      program.Record("mamba3_preprocess", ids, PreprocessAttributes());
  const uint64_t widths[] = {5, 5, 6, 6, 2, 2, 2, 1};
  for (size_t i = 0; i < 8; ++i) {
    program.Output(golden[i].name, values[i]);
    ids.push_back(program.Input(Wave({5, widths[i]}, static_cast<int>(2 + i), 1, 0)));
  }
  const std::vector<ir::ValueId> gradients =
      program.Record("mamba3_preprocess_backward", ids, PreprocessAttributes());
  program.Output("d_projected", gradients[0]);
  program.Output("d_dt_bias", gradients[1]);
  const std::map<std::string, Tensor> results = program.Run();
  for (const Golden& row : golden) CheckGolden(results.at(row.name), row, 5e-6);
}

TEST_CASE("mamba3: config_identity") {
  const auto identity = [](const std::string& op, const Attributes& attributes) {
    return ir::ConfigIdentity(ir::FindOp(op)->attributes, attributes);
  };
  CHECK_EQ(identity("mamba3_siso", Config{2, 6, 2, 0, 3, 4, 2, 1, true, true}.attributes()),
           0xe5612ecfc3d349d7u);
  CHECK_EQ(
      identity("mamba3_siso_backward", Config{2, 6, 2, 2, 3, 4, 2, 1, true, true}.attributes()),
      0xad00ec0291d0d955u);
  CHECK_EQ(identity("mamba3_mimo", Config{1, 3, 2, 1, 2, 3, 1, 2, true, true, true}.attributes()),
           0xf478a6b32ecf9577u);
  CHECK_EQ(identity("mamba3_mimo", Config{4, 2048, 16, 1, 64, 64, 16, 4, true, true}.attributes()),
           0x647fc7c2b4f8821cu);
  CHECK_EQ(identity("mamba3_mimo_step", Config{1, 1, 1, 1, 1, 1, 0, 1}.attributes()),
           0xe10d2c64a0c68924u);
  const Attributes preprocess = Attributes()
                                    .U32("inner_size", 2048)
                                    .U32("state_size", 128)
                                    .U32("num_heads", 32)
                                    .U32("num_rope_angles", 32)
                                    .U32("num_groups", 1)
                                    .U32("mimo_rank", 1)
                                    .F32("epsilon", 1e-5f)
                                    .F32("dt_min", 1e-3f)
                                    .F32("dt_max", 0.1f)
                                    .F32("a_floor", 1e-4f);
  CHECK_EQ(identity("mamba3_preprocess", preprocess), 0x71838baf273268bdu);
  CHECK_EQ(identity("mamba3_preprocess_backward", preprocess), 0x71838baf273268bdu);
}

// ---- Steps ----

// Token t of a [B, L, ..] tensor as [B, 1, ..].
Tensor TokenOf(const Tensor& x, size_t t) {
  Shape shape = x.shape;
  const size_t length = shape[1];
  shape[1] = 1;
  Tensor token(DType::F32, shape);
  const size_t row = token.size() / shape[0];
  for (size_t i = 0; i < token.size(); ++i) {
    token[i] = x[(i / row * length + t) * row + i % row];
  }
  return token;
}

std::vector<ir::ValueId> ZeroStates(Program& program, const Config& s) {
  const Shape k =
      s.mimo ? Shape{s.batch, s.heads, s.ranks, s.width} : Shape{s.batch, s.heads, s.width};
  const Shape v =
      s.mimo ? Shape{s.batch, s.heads, s.ranks, s.depth} : Shape{s.batch, s.heads, s.depth};
  return {program.State("ssm", {s.batch, s.heads, s.depth, s.width}),
          program.State("angle", {s.batch, s.heads, s.angles}), program.State("k", k),
          program.State("v", v)};
}

// Runs the scan's tokens one by one from zero states; outputs "y<t>" and the final states.
std::map<std::string, Tensor> RunSteps(const Config& s, const std::vector<Tensor>& operands) {
  Program program;
  Config step = s;
  step.length = 1;
  std::vector<ir::ValueId> states = ZeroStates(program, s);
  for (size_t t = 0; t < s.length; ++t) {
    std::vector<ir::ValueId> ids = states;
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool per_token = i < 8;
      ids.push_back(program.Input(per_token ? TokenOf(operands[i], t) : operands[i]));
    }
    const std::vector<ir::ValueId> results =
        program.Record(s.op() + "_step", ids, step.attributes());
    program.Output(absl::StrCat("y", t), results[0]);
    states.assign(results.begin() + 1, results.end());
  }
  const char* names[] = {"ssm_state", "angle_state", "k_state", "v_state"};
  for (size_t i = 0; i < 4; ++i) program.Output(names[i], states[i]);
  return program.Run();
}

TEST_CASE("mamba3: five steps reach the golden states") {
  if (TestDevice() == nullptr) return;
  const Golden siso[] = {{"ssm_state", 0.07828584314, 0.0391759846, 3.352547594, 21.91733508},
                         {"angle_state", 0.03120649507, 0.123028116, 5.042174162, 5.042174162},
                         {"k_state", -0.7338287411, 0.5825305468, -2.287417285, 34.11322468},
                         {"v_state", -0.9995991426, -0.8288216466, -2.650807523, 14.96930182}};
  const Golden mimo[] = {{"ssm_state", 0.01091429404, 0.01151917237, 0.5912687838, 7.164453812},
                         {"angle_state", 0.03120649507, 0.123028116, 5.042174162, 5.042174162},
                         {"k_state", 0.6386788362, 0.8763183007, 0.2604669042, 95.60530614},
                         {"v_state", -0.4170306754, -0.1173872434, -3.972281924, 22.42371947}};
  for (const Config& s : {kSiso, kMimo}) {
    const std::map<std::string, Tensor> results = RunSteps(s, Operands(s));
    for (const Golden& row : s.mimo ? mimo : siso) CheckGolden(results.at(row.name), row, 5e-6);
  }
}

TEST_CASE("mamba3: steps equal the scan, for all flags") {
  if (TestDevice() == nullptr) return;
  for (int flags = 0; flags < 12; ++flags) {
    const bool mimo = flags >= 4;
    // Longer than a chunk of the scan.
    Config s = {2, 70, 2, 1, 3, 5, 2, mimo ? 3u : 1u};
    s.mimo = mimo;
    s.has_z = (flags & 1) != 0;
    s.has_d = (flags & 2) != 0;
    s.has_norm = mimo && flags >= 8;
    INFO(s.op(), " z ", s.has_z, " d ", s.has_d, " norm ", s.has_norm);
    const std::vector<Tensor> operands = Operands(s);
    Program program;
    program.Output("y", program.Record(s.op(), program.Inputs(operands), s.attributes())[0]);
    const Tensor y = program.Run().at("y");
    const std::map<std::string, Tensor> steps = RunSteps(s, operands);
    for (size_t t = 0; t < s.length; ++t) {
      CheckClose(steps.at(absl::StrCat("y", t)), TokenOf(y, t), 1e-5);
    }
  }
}

// ---- Agreement between forms ----

void CheckSame(const std::map<std::string, Tensor>& results, const std::string& a,
               const std::string& b, double relative) {
  for (const auto& [name, tensor] : results) {
    if (name.rfind(a, 0) != 0) continue;
    const auto other = results.find(b + name.substr(a.size()));
    if (other == results.end()) continue;
    INFO(name);
    if (relative == 0) {
      CHECK_EQ(tensor.data, other->second.data);
    } else {
      Tensor reshaped = other->second;
      reshaped.shape = tensor.shape;
      CheckClose(tensor, reshaped, relative);
    }
  }
}

TEST_CASE("mamba3: no groups and one group a head are the same bits") {
  if (TestDevice() == nullptr) return;
  for (bool mimo : {false, true}) {
    Config s = {1, 70, 4, 0, 3, 5, 2, mimo ? 2u : 1u, true, true, mimo, mimo};
    const std::vector<Tensor> operands = Operands(s);
    const Tensor dy = Wave(operands[kX].shape, 15, 1, 0);
    Program program;
    program.Scan(s, operands, dy, "a.");
    s.groups = s.heads;
    program.Scan(s, operands, dy, "b.");
    CheckSame(program.Run(), "a.", "b.", 0);
  }
}

TEST_CASE("mamba3: mimo of rank 1 with unit projections is siso") {
  if (TestDevice() == nullptr) return;
  Config s = {2, 70, 4, 2, 3, 5, 2, 1, true, true};
  std::vector<Tensor> operands = Operands(s);
  const Tensor dy = Wave(operands[kX].shape, 15, 1, 0);
  Program program;
  program.Scan(s, operands, dy, "siso.");
  s.mimo = true;
  for (size_t i : {8, 9}) operands[i].shape = {s.heads, 1, s.width};
  for (int i = 0; i < 3; ++i) {
    Tensor ones(DType::F32, {s.heads, 1, s.depth});
    std::fill(ones.data.begin(), ones.data.end(), 1.0);
    operands.push_back(ones);
  }
  operands.push_back(Wave({s.heads, s.depth}, 14, 0.3, 1));
  program.Scan(s, operands, dy, "mimo.");
  CheckSame(program.Run(), "siso.", "mimo.", 2e-6);
}

// [B, L, R * G, N] with one row a head instead of a group.
Tensor ExpandGroups(const Tensor& x, const Config& s) {
  Tensor out(DType::F32, {s.batch, s.length, uint64_t{s.ranks} * s.heads, s.width});
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t n = i % s.width, h = i / s.width % s.heads, rest = i / s.width / s.heads;
    out[i] = x[(rest * s.groups + h / (s.heads / s.groups)) * s.width + n];
  }
  return out;
}

TEST_CASE("mamba3: groups equal their expansion to heads, gradients are summed") {
  if (TestDevice() == nullptr) return;
  for (bool mimo : {false, true}) {
    Config s = {1, 70, 6, 2, 3, 5, 2, mimo ? 2u : 1u, true, true, mimo, mimo};
    std::vector<Tensor> operands = Operands(s);
    const Tensor dy = Wave(operands[kX].shape, 15, 1, 0);
    Program program;
    program.Scan(s, operands, dy, "grouped.");
    for (size_t i : {0, 1}) operands[i] = ExpandGroups(operands[i], s);
    Config expanded = s;
    expanded.groups = 0;
    program.Scan(expanded, operands, dy, "expanded.");
    std::map<std::string, Tensor> results = program.Run();
    for (const char* name : {"d_c", "d_b"}) {
      const Tensor heads = results.at(std::string("expanded.") + name);
      Tensor sum(DType::F32, results.at(std::string("grouped.") + name).shape);
      for (size_t i = 0; i < heads.size(); ++i) {
        const size_t n = i % s.width, h = i / s.width % s.heads, rest = i / s.width / s.heads;
        sum[(rest * s.groups + h / (s.heads / s.groups)) * s.width + n] += heads[i];
      }
      results[std::string("expanded.") + name] = sum;
    }
    CheckSame(results, "grouped.", "expanded.", 2e-6);
  }
}

TEST_CASE("mamba3: operands of flags that are off are not read, their gradients are zero") {
  if (TestDevice() == nullptr) return;
  for (uint32_t length : {5u, 70u}) {
    const Config s = {1, length, 2, 1, 3, 5, 2, 2, false, false, false, true};
    std::vector<Tensor> operands = Operands(s);
    const Tensor dy = Wave(operands[kX].shape, 15, 1, 0);
    const Tensor expected = OracleScan(s, operands);
    for (size_t i : {kZ, kD, kMimoZ, kNorm}) {
      std::fill(operands[i].data.begin(), operands[i].data.end(), std::nan(""));
    }
    Program program;
    program.Scan(s, operands, dy, "");
    const std::map<std::string, Tensor> results = program.Run();
    CheckClose(results.at("y"), expected, 1e-5);
    for (const char* name : {"d_z", "d_d", "d_mimo_z", "d_norm_weight"}) {
      INFO(name);
      CHECK_EQ(LargestMagnitude(results.at(name)), 0.0);
    }
    for (const char* name : {"d_c", "d_x", "d_dt", "d_mimo_x"}) {
      CHECK(std::isfinite(LargestMagnitude(results.at(name))));
    }
  }
}

TEST_CASE("mamba3: an angle that all tokens share changes nothing") {
  if (TestDevice() == nullptr) return;
  const Config s = {1, 70, 2, 1, 3, 6, 2, 1, true, true};
  std::vector<Tensor> operands = Operands(s);
  const Tensor dy = Wave(operands[kX].shape, 15, 1, 0);
  Program program;
  program.Scan(s, operands, dy, "a.");
  for (size_t k = 0; k < s.angles; ++k) operands[7][k] += 1.5;
  program.Scan(s, operands, dy, "b.");
  std::map<std::string, Tensor> results = program.Run();
  // theta_0 is angle_0 * dt_0: its own gradients are the only ones that see the change.
  for (const char* name : {"a.d_dt", "a.d_angle"}) results.erase(name);
  CheckSame(results, "a.", "b.", 1e-5);
}

// ---- Routes ----

TEST_CASE("mamba3: all routes agree, on both sides of every chunk's end") {
  if (TestDevice() == nullptr) return;
  for (bool mimo : {false, true}) {
    for (uint32_t length : {1u, 16u, 17u, 33u, 65u}) {
      const Config s = {1, length, 2, 1, 3, 5, 2, mimo ? 3u : 1u, true, true, mimo, mimo};
      INFO(s.op(), " of length ", length);
      const std::vector<Tensor> operands = Operands(s);
      Program program;
      program.Scan(s, operands, Wave(operands[kX].shape, 15, 1, 0), "");
      const std::map<std::string, Tensor> expected = program.Run();
      for (const std::string& op : {s.op(), s.op() + "_backward"}) {
        for (const std::string& route : ir::FindOp(op)->routes) {
          INFO("route ", route);
          RunOptions options;
          options.routes = {{op, route}};
          for (const auto& [name, tensor] : program.Run(options)) {
            INFO(name);
            CheckClose(tensor, expected.at(name), 3e-6);
          }
        }
      }
    }
  }
}

// Compiles only: the chunked form of this scan would take 2^32 products.
TEST_CASE("mamba3: a scan too long for products of chunks is compiled token by token") {
  const Config s = {1, 1u << 26, 1, 1, 1, 2, 1, 1, true, true};
  ir::Graph graph("long");
  const Shape vectors = {1, s.length, 1, 2}, inputs = {1, s.length, 1, 1}, gates = {1, s.length, 1};
  std::vector<ir::ValueId> ids;
  for (const Shape& shape : {vectors, vectors, inputs, inputs, gates, gates, gates, gates,
                             Shape{1, 2}, Shape{1, 2}, Shape{1}}) {
    ids.push_back(Must(
        graph.AddStorage(BufferKind::kInput, absl::StrCat("x", ids.size()), DType::F32, shape)));
  }
  REQUIRE(graph.AddOutput("y", Must(graph.Record(s.op(), ids, s.attributes()))[0]).ok());
  ir::CompileOptions options;
  options.profile.name = "gpu";
  options.profile.subgroup_size = 32;
  options.profile.features = {"subgroup_arithmetic"};
  options.profile.max_allocation_bytes = uint64_t{1} << 36;
  const ir::Compiled compiled = Must(ir::Compile(graph, TestKernels(), options));
  CHECK_EQ(compiled.plan.dispatches.size(), 2);  // zero states, all tokens
}

// ---- Long sequences ----

TEST_CASE("mamba3: long sequences stay accurate") {
  if (TestDevice() == nullptr) return;
  for (const Config& s : {Config{1, 4096, 2, 1, 4, 8, 4, 1, true, true},
                          Config{1, 3000, 1, 1, 4, 8, 4, 4, true, true, true, true}}) {
    const std::vector<Tensor> operands = Operands(s);
    Program program;
    program.Output("y", program.Record(s.op(), program.Inputs(operands), s.attributes())[0]);
    CheckClose(program.Run().at("y"), OracleScan(s, operands), 5e-6);
  }
}

// CPU drivers end an invocation silently after so many loop iterations: lowerings must stay below.
TEST_CASE("mamba3: gradients of long sequences do not depend on the length of a chunk") {
  if (TestDevice() == nullptr) return;
  for (const Config& s : {Config{1, 4097, 1, 1, 4, 5, 2, 8, true, true, true, true},
                          Config{1, 32768, 1, 1, 2, 4, 2, 1, true, true}}) {
    const std::vector<Tensor> operands = Operands(s);
    Program program;
    program.Scan(s, operands, Wave(operands[kX].shape, 15, 1, 0), "");
    RunOptions other;
    other.routes = {{s.op() + "_backward", s.mimo ? "staged" : "chunked"}};
    const std::map<std::string, Tensor> expected = program.Run(other);
    for (const auto& [name, tensor] : program.Run()) {
      INFO(s.op(), " ", name);
      CheckClose(tensor, expected.at(name), 1e-4);
    }
  }
}

TEST_CASE("mamba3: angles after 65,536 tokens of one sign are accurate to 1e-5") {
  if (TestDevice() == nullptr) return;
  const Config s = {1, 65536, 1, 1, 1, 2, 1, 1};
  std::vector<Tensor> operands = Operands(s);
  operands[7] = Wave({1, s.length, 1}, 7, 0.5, 2);      // rates near 2
  operands[5] = Wave({1, s.length, 1}, 5, 0.02, 0.03);  // steps near 0.03
  operands[kAdt] = Wave({1, s.length, 1}, 4, 0.4, -2);  // forget soon: the angle alone decides
  Program program;
  program.Output("y", program.Record(s.op(), program.Inputs(operands), s.attributes())[0]);
  CheckClose(program.Run().at("y"), OracleScan(s, operands), 1e-5);
}

// Products of rate and step of thousands of turns: what they round away is part of the angle.
TEST_CASE("mamba3: angles of thousands of radians a token") {
  if (TestDevice() == nullptr) return;
  for (uint32_t length : {1u, 12u, 70u}) {
    const Config s = {1, length, 2, 1, 3, 4, 2, 1, true, true};
    std::vector<Tensor> operands = Operands(s);
    operands[7] = Wave({1, length, 2}, 7, 90, 10);
    operands[5] = Wave({1, length, 2}, 5, 40, 60);
    const Tensor expected = OracleScan(s, operands);
    Program program;
    program.Output("y", program.Record(s.op(), program.Inputs(operands), s.attributes())[0]);
    for (const std::string& route : ir::FindOp(s.op())->routes) {
      INFO("length ", length, " route ", route);
      RunOptions options;
      options.routes = {{s.op(), route}};
      CheckClose(program.Run(options).at("y"), expected, 1e-5);
    }
  }
}

TEST_CASE("mamba3: strong decay and no decay") {
  if (TestDevice() == nullptr) return;
  for (double adt : {-200.0, -12.0, 0.0}) {
    INFO("adt ", adt);
    const Config s = {1, 130, 2, 1, 3, 5, 1, 1, true, true};
    std::vector<Tensor> operands = Operands(s);
    operands[kAdt] = Wave({1, s.length, 2}, 4, adt / 10, adt);
    const Tensor dy = Wave(operands[kX].shape, 15, 1, 0);
    Program program;
    program.Scan(s, operands, dy, "");
    const std::map<std::string, Tensor> results = program.Run();
    CheckClose(results.at("y"), OracleScan(s, operands), 5e-6);
    for (const auto& [name, tensor] : results) {
      INFO(name);
      CHECK(std::isfinite(LargestMagnitude(tensor)));
    }
  }
}

}  // namespace
}  // namespace oa::testing
