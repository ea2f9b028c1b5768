#include "frontend/nn/mamba3.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/matrix.h"
#include "frontend/norm.h"

namespace oa::ml::nn {
namespace {

constexpr float kEpsilon = 1e-5f;

// Biases such that softplus(bias) is log-uniform in [dt_min, dt_max], at least 1e-4.
std::vector<float> StepBiases(uint64_t heads, float dt_min, float dt_max, uint64_t seed) {
  const std::vector<float> units = init::Materialise(init::Uniform(0, 1, seed), {heads});
  std::vector<float> biases;
  for (float unit : units) {
    const double low = std::log(dt_min), high = std::log(dt_max);
    const double dt = std::max(std::exp(low + unit * (high - low)), 1e-4);
    biases.push_back(static_cast<float>(dt + std::log(-std::expm1(-dt))));
  }
  return biases;
}

uint64_t Angles(const Mamba3BlockOptions& options) {
  const double rotated = std::floor(static_cast<double>(options.state_size) *
                                    std::clamp(options.rope_fraction, 0.0, 1.0));
  return static_cast<uint64_t>(rotated) / 2;
}

Result<Matrix> View(const Matrix& x, const Shape& shape) {
  return oa::matrix::reshape(x, {shape.begin(), shape.end()});
}

}  // namespace

Mamba3Block::Mamba3Block(Graph& graph, absl::string_view name, uint64_t width,
                         const Mamba3BlockOptions& options)
    : Layer(graph, name),
      options_(options),
      width_(width),
      inner_(options.expand * width),
      angles_(Angles(options)),
      in_proj_(graph, Inner("in_proj"), width, PackedWidth(),
               {.bias = false, .seed = options.seed}),
      out_proj_(graph, Inner("out_proj"), inner_, width, {.bias = false, .seed = options.seed}) {
  if (options.head_dim == 0 || inner_ % options.head_dim != 0) {
    Refuse(
        absl::StrCat("head_dim ", options.head_dim, " does not divide the inner width ", inner_));
    return;
  }
  Adopt(in_proj_);
  DeclareScanParameters();
  Adopt(out_proj_);
  if (options.output_norm) {
    norm_weight_ = Declare("norm_weight", {heads(), options.head_dim}, init::Ones());
  }
}

uint64_t Mamba3Block::PackedWidth() const {
  const uint64_t vectors = options_.num_groups * options_.mimo_rank * options_.state_size;
  const uint64_t heads = inner_ / std::max<uint64_t>(options_.head_dim, 1);
  return 2 * inner_ + 2 * vectors + 3 * heads + angles_;
}

void Mamba3Block::DeclareScanParameters() {
  const uint64_t r = options_.mimo_rank, n = options_.state_size, p = options_.head_dim;
  dt_bias_ = Declare("dt_bias", {heads()},
                     init::Values(StepBiases(heads(), options_.dt_min, options_.dt_max,
                                             SeedOf("dt_bias", options_.seed))));
  const Shape bias = mimo() ? Shape{heads(), r, n} : Shape{heads(), n};
  b_bias_ = Declare("B_bias", bias, init::Ones());
  c_bias_ = Declare("C_bias", bias, init::Ones());
  if (mimo()) {
    const float share = 1.0f / static_cast<float>(r);
    mimo_x_ = Declare("mimo_x", {heads(), r, p}, init::Constant(share));
    mimo_z_ = Declare("mimo_z", {heads(), r, p}, init::Ones());
    mimo_o_ = Declare("mimo_o", {heads(), r, p}, init::Constant(share));
  }
  d_ = Declare("D", {heads()}, init::Ones());
}

matrix::SsmConfig Mamba3Block::ScanConfig(uint64_t batch, uint64_t length) const {
  matrix::SsmConfig config;
  config.batch_size = batch;
  config.sequence_length = length;
  config.num_heads = heads();
  config.num_groups = options_.num_groups;
  config.head_dim = options_.head_dim;
  config.state_size = options_.state_size;
  config.num_rope_angles = angles_;
  config.mimo_rank = options_.mimo_rank;
  // A single-input scan has no norm of its own: norm and gate follow it.
  config.has_z = mimo() || !options_.output_norm;
  config.has_d = true;
  config.has_output_norm = mimo() && options_.output_norm;
  return config;
}

matrix::Mamba3PreprocessConfig Mamba3Block::PreprocessConfig() const {
  matrix::Mamba3PreprocessConfig config;
  config.inner_size = inner_;
  config.state_size = options_.state_size;
  config.num_heads = heads();
  config.num_rope_angles = angles_;
  config.num_groups = options_.num_groups;
  config.mimo_rank = options_.mimo_rank;
  config.epsilon = kEpsilon;
  config.dt_min = options_.dt_min;
  config.dt_max = options_.dt_max;
  config.a_floor = options_.a_floor;
  return config;
}

Mamba3Block::States Mamba3Block::DeclareStates(uint64_t batch) const {
  const uint64_t h = heads(), r = options_.mimo_rank, n = options_.state_size;
  const uint64_t p = options_.head_dim;
  const auto declare = [&](const char* suffix, const Shape& shape) {
    return graph().State(Inner(suffix), F32, shape);
  };
  return {declare("ssm_state", {batch, h, p, n}), declare("angle_state", {batch, h, angles_}),
          declare("k_state", mimo() ? Shape{batch, h, r, n} : Shape{batch, h, n}),
          declare("v_state", mimo() ? Shape{batch, h, r, p} : Shape{batch, h, p})};
}

Result<Matrix> Mamba3Block::Scan(const matrix::Mamba3Preprocessed& parts,
                                 const matrix::SsmConfig& config, const States* states) const {
  matrix::SsmStates begin;
  if (states != nullptr) begin = {states->ssm, states->angle, states->k, states->v};
  if (!mimo()) {
    const matrix::SisoOperands operands = {parts.ch,  parts.bh, parts.x,    parts.z,
                                           parts.adt, parts.dt, parts.trap, parts.angle,
                                           c_bias_,   b_bias_,  d_};
    if (states == nullptr) return matrix::mamba3_siso(operands, config);
    OA_ASSIGN_OR_RETURN(const matrix::SsmStepResult step,
                        matrix::mamba3_siso_step(begin, operands, config));
    return step.y;
  }
  // The norm's weight is bound even where there is no norm.
  Matrix norm_weight = d_;
  if (norm_weight_) {
    norm_weight = *norm_weight_;
  } else {
    OA_ASSIGN_OR_RETURN(norm_weight, oa::matrix::full(graph(), {heads(), options_.head_dim}, 1.0f));
  }
  const matrix::MimoOperands operands = {parts.ch, parts.bh,   parts.x,     parts.z,  parts.adt,
                                         parts.dt, parts.trap, parts.angle, c_bias_,  b_bias_,
                                         d_,       *mimo_x_,   *mimo_z_,    *mimo_o_, norm_weight};
  if (states == nullptr) return matrix::mamba3_mimo(operands, config);
  OA_ASSIGN_OR_RETURN(const matrix::SsmStepResult step,
                      matrix::mamba3_mimo_step(begin, operands, config));
  return step.y;
}

absl::Status Mamba3Block::Unpack(matrix::Mamba3Preprocessed& parts, uint64_t batch,
                                 uint64_t length) const {
  const uint64_t vectors = options_.num_groups * options_.mimo_rank;
  const auto view = [&](Matrix& value, std::initializer_list<uint64_t> rest) -> absl::Status {
    Shape shape = {batch, length};
    shape.insert(shape.end(), rest);
    OA_ASSIGN_OR_RETURN(value, View(value, shape));
    return absl::OkStatus();
  };
  for (Matrix* value : {&parts.x, &parts.z}) {
    OA_RETURN_IF_ERROR(view(*value, {heads(), options_.head_dim}));
  }
  for (Matrix* value : {&parts.bh, &parts.ch}) {
    OA_RETURN_IF_ERROR(view(*value, {vectors, options_.state_size}));
  }
  for (Matrix* value : {&parts.dt, &parts.adt, &parts.trap}) {
    OA_RETURN_IF_ERROR(view(*value, {heads()}));
  }
  return view(parts.angle, {angles_});
}

Result<Matrix> Mamba3Block::Run(const Matrix& x, const States* states) const {
  if (x.rank() != 3 || x.extent(2) != width_) {
    return absl::InvalidArgumentError(
        absl::StrCat("expects [batch, length, ", width_, "], got ", ShapeText(x.shape())));
  }
  const uint64_t batch = x.extent(0), length = x.extent(1), rows = batch * length;
  OA_ASSIGN_OR_RETURN(const Matrix flat, View(x, {rows, width_}));
  OA_ASSIGN_OR_RETURN(const Matrix projected, in_proj_(flat));
  OA_ASSIGN_OR_RETURN(matrix::Mamba3Preprocessed parts,
                      matrix::mamba3_preprocess(projected, dt_bias_, PreprocessConfig()));
  OA_RETURN_IF_ERROR(Unpack(parts, batch, length));
  OA_ASSIGN_OR_RETURN(Matrix y, Scan(parts, ScanConfig(batch, length), states));
  if (options_.output_norm && !mimo()) {
    OA_ASSIGN_OR_RETURN(y, matrix::rms_norm_gated(y, *norm_weight_, nullptr, parts.z, kEpsilon));
  }
  OA_ASSIGN_OR_RETURN(y, View(y, {rows, inner_}));
  OA_ASSIGN_OR_RETURN(y, out_proj_(y));
  return View(y, {batch, length, width_});
}

Result<Matrix> Mamba3Block::operator()(const Matrix& x) const {
  return Record([&] { return Run(x, nullptr); });
}

Result<Matrix> Mamba3Block::Step(const Matrix& x, const States& states) const {
  return Record([&] { return Run(x, &states); });
}

}  // namespace oa::ml::nn
