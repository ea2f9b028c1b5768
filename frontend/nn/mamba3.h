// Mamba3Block. What layers have in common is in frontend/nn/layer.h.
#ifndef OA_FRONTEND_NN_MAMBA3_H_
#define OA_FRONTEND_NN_MAMBA3_H_

#include <optional>

#include "frontend/mamba3.h"
#include "frontend/nn/linear.h"

namespace oa::ml::nn {

struct Mamba3BlockOptions {
  uint64_t expand = 2;     // inner width over outer width
  uint64_t head_dim = 32;  // divides the inner width
  uint64_t state_size = 32;
  uint64_t num_groups = 1;     // of heads that share B and C
  uint64_t mimo_rank = 1;      // above 1: the multi-input scan
  double rope_fraction = 0.5;  // of the state that is rotated
  bool output_norm = false;    // RMS norm of each head before the gate
  float dt_min = 1e-3f;        // bounds of the step size
  float dt_max = 0.1f;
  float a_floor = 1e-4f;
  uint64_t seed = 1;  // of the projections and the step sizes
};

// A sequence mixer: projection, preprocessing, selective scan, gate, projection; [B, L, width] to
// the same. Step computes one token from recurrent states with the same parameters, so that a graph
// can generate token by token what the other form computes at once.
// Parameters: in_proj.weight, dt_bias, B_bias, C_bias, (mimo_x, mimo_z, mimo_o,) D,
// out_proj.weight, (norm_weight). Source: Lahoti et al. 2025, "Mamba-3".
class Mamba3Block : public Layer {
 public:
  // Persist between replays; zero before the first token.
  struct States {
    State ssm, angle, k, v;
  };

  Mamba3Block(Graph& graph, absl::string_view name, uint64_t width,
              const Mamba3BlockOptions& options = {});
  Result<Matrix> operator()(const Matrix& x) const;

  // Declares `<layer>.ssm_state` and so on, for `batch` sequences.
  States DeclareStates(uint64_t batch) const;
  // x [B, 1, width]; moves the states on. No gradient passes.
  Result<Matrix> Step(const Matrix& x, const States& states) const;

 private:
  bool mimo() const { return options_.mimo_rank > 1; }
  uint64_t heads() const { return inner_ / options_.head_dim; }
  matrix::SsmConfig ScanConfig(uint64_t batch, uint64_t length) const;
  matrix::Mamba3PreprocessConfig PreprocessConfig() const;
  uint64_t PackedWidth() const;
  void DeclareScanParameters();
  // The preprocessed rows [batch * length, ..] as operands [batch, length, ..].
  absl::Status Unpack(matrix::Mamba3Preprocessed& parts, uint64_t batch, uint64_t length) const;
  Result<Matrix> Run(const Matrix& x, const States* states) const;
  // The scan, or its step when there are states.
  Result<Matrix> Scan(const matrix::Mamba3Preprocessed& parts, const matrix::SsmConfig& config,
                      const States* states) const;

  Mamba3BlockOptions options_;
  uint64_t width_, inner_, angles_;
  Linear in_proj_;
  Parameter dt_bias_, b_bias_, c_bias_, d_;
  std::optional<Parameter> mimo_x_, mimo_z_, mimo_o_, norm_weight_;
  Linear out_proj_;
};

}  // namespace oa::ml::nn

#endif  // OA_FRONTEND_NN_MAMBA3_H_
