#include <algorithm>

#include "frontend/examples/benchmarks/benchmarks.h"

namespace oa::examples {
namespace {

namespace mm = ml::matrix;

mm::SsmConfig Config(uint64_t batch, uint64_t length, uint64_t heads, uint64_t depth,
                     uint64_t width, uint64_t ranks) {
  mm::SsmConfig config;
  config.batch_size = batch;
  config.sequence_length = length;
  config.num_heads = heads;
  config.num_groups = 1;
  config.head_dim = depth;
  config.state_size = width;
  config.num_rope_angles = width / 4;
  config.mimo_rank = ranks;
  config.has_z = true;
  config.has_d = true;
  return config;
}

// The first eleven operands of either scan.
mm::SisoOperands Operands(Graph& g, const mm::SsmConfig& s, const Shape& bias) {
  const uint64_t b = s.batch_size, l = s.sequence_length, h = s.num_heads;
  const auto vectors = [&](const char* name) {
    return g.Input(name, F32, {b, l, s.mimo_rank, s.state_size});
  };
  const auto gate = [&](const char* name) { return g.Input(name, F32, {b, l, h}); };
  const auto input = [&](const char* name) { return g.Input(name, F32, {b, l, h, s.head_dim}); };
  return {vectors("c"),
          vectors("b"),
          input("x"),
          input("z"),
          gate("adt"),
          gate("dt"),
          gate("trap"),
          g.Input("angle", F32, {b, l, s.num_rope_angles}),
          g.Input("c_bias", F32, bias),
          g.Input("b_bias", F32, bias),
          g.Input("d", F32, {h})};
}

mm::SisoOperands Siso(Graph& g, const mm::SsmConfig& s) {
  return Operands(g, s, {s.num_heads, s.state_size});
}

mm::MimoOperands Mimo(Graph& g, const mm::SsmConfig& s) {
  const uint64_t h = s.num_heads, r = s.mimo_rank, p = s.head_dim;
  const mm::SisoOperands o = Operands(g, s, {h, r, s.state_size});
  const auto projection = [&](const char* name) { return g.Input(name, F32, {h, r, p}); };
  return {o.c,
          o.b,
          o.x,
          o.z,
          o.adt,
          o.dt,
          o.trap,
          o.angle,
          o.c_bias,
          o.b_bias,
          o.d,
          projection("mimo_x"),
          projection("mimo_z"),
          projection("mimo_o"),
          g.Input("norm_weight", F32, {h, p})};
}

Matrix OutputGradient(Graph& g, const mm::SsmConfig& s) {
  return g.Input("dy", F32, {s.batch_size, s.sequence_length, s.num_heads, s.head_dim});
}

absl::Status SisoForward(Graph& g, const mm::SsmConfig& s) {
  OA_ASSIGN_OR_RETURN(const Matrix y, mm::mamba3_siso(Siso(g, s), s));
  g.Output("y", y);
  return absl::OkStatus();
}

absl::Status SisoTrain(Graph& g, const mm::SsmConfig& s) {
  const mm::SisoOperands operands = Siso(g, s);
  OA_ASSIGN_OR_RETURN(const Matrix y, mm::mamba3_siso(operands, s));
  g.Output("y", y);
  OA_ASSIGN_OR_RETURN(const mm::SisoOperands d,
                      mm::mamba3_siso_backward(OutputGradient(g, s), operands, s));
  const std::pair<const char*, Matrix> gradients[] = {
      {"d_c", d.c},           {"d_b", d.b},           {"d_x", d.x},       {"d_z", d.z},
      {"d_adt", d.adt},       {"d_dt", d.dt},         {"d_trap", d.trap}, {"d_angle", d.angle},
      {"d_c_bias", d.c_bias}, {"d_b_bias", d.b_bias}, {"d_d", d.d}};
  for (const auto& [name, value] : gradients) g.Output(name, value);
  return absl::OkStatus();
}

absl::Status MimoForward(Graph& g, const mm::SsmConfig& s) {
  OA_ASSIGN_OR_RETURN(const Matrix y, mm::mamba3_mimo(Mimo(g, s), s));
  g.Output("y", y);
  return absl::OkStatus();
}

absl::Status MimoTrain(Graph& g, const mm::SsmConfig& s) {
  const mm::MimoOperands operands = Mimo(g, s);
  OA_ASSIGN_OR_RETURN(const Matrix y, mm::mamba3_mimo(operands, s));
  g.Output("y", y);
  OA_ASSIGN_OR_RETURN(const mm::MimoOperands d,
                      mm::mamba3_mimo_backward(OutputGradient(g, s), operands, s));
  const std::pair<const char*, Matrix> gradients[] = {
      {"d_c", d.c},           {"d_b", d.b},          {"d_x", d.x},       {"d_z", d.z},
      {"d_dt", d.dt},         {"d_adt", d.adt},      {"d_trap", d.trap}, {"d_angle", d.angle},
      {"d_mimo_x", d.mimo_x}, {"d_mimo_o", d.mimo_o}};
  for (const auto& [name, value] : gradients) g.Output(name, value);
  return absl::OkStatus();
}

}  // namespace

std::vector<Benchmark> Mamba3Benchmarks(uint64_t scale) {
  const uint64_t length = std::max<uint64_t>(2048 / scale, 64);
  const mm::SsmConfig siso = Config(std::max<uint64_t>(8 / scale, 1), length,
                                    std::max<uint64_t>(32 / scale, 2), 64, 128, 1);
  const mm::SsmConfig mimo = Config(std::max<uint64_t>(4 / scale, 1), length,
                                    std::max<uint64_t>(16 / scale, 2), 64, 64, 4);
  return {{"mamba3_siso", [=](Graph& g) { return SisoForward(g, siso); }},
          {"mamba3_siso_train", [=](Graph& g) { return SisoTrain(g, siso); }},
          {"mamba3_mimo", [=](Graph& g) { return MimoForward(g, mimo); }},
          {"mamba3_mimo_train", [=](Graph& g) { return MimoTrain(g, mimo); }}};
}

}  // namespace oa::examples
