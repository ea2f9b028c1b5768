// The Mamba-3 selective scans (Lahoti et al. 2025). Conventions and errors as in frontend/matrix.h;
// everything is F32.
//
// Letters of the shapes: batch B, length L, heads H, groups G of heads that share c and b, width P
// of a head, state width N, rotary pairs A, rank R.
#ifndef OA_FRONTEND_MAMBA3_H_
#define OA_FRONTEND_MAMBA3_H_

#include <cstddef>
#include <vector>

#include "frontend/graph.h"

namespace oa::ml::matrix {

// Sizes and flags of a scan; its words in this order are the node's config_identity. A flag that is
// off leaves the operand in its place: the values are ignored and its gradient is zero.
struct SsmConfig {
  std::size_t batch_size = 0;
  std::size_t sequence_length = 0;
  std::size_t num_heads = 0;
  std::size_t num_groups = 0;  // 0: every head is its own group
  std::size_t head_dim = 0;
  std::size_t state_size = 0;
  std::size_t num_rope_angles = 0;
  std::size_t mimo_rank = 1;
  bool has_z = false;
  bool has_d = false;
  bool has_output_norm = false;  // mamba3_mimo only
};

// Sizes and bounds of the preprocessing. num_groups 0 is an error here.
struct Mamba3PreprocessConfig {
  std::size_t inner_size = 0;
  std::size_t state_size = 0;
  std::size_t num_heads = 0;
  std::size_t num_rope_angles = 0;
  std::size_t num_groups = 0;
  std::size_t mimo_rank = 1;
  float epsilon = 1e-5f;
  float dt_min = 1e-3f;
  float dt_max = 0.1f;
  float a_floor = 1e-4f;
};

struct Mamba3Preprocessed {
  Matrix x, z;           // [M, inner_size]
  Matrix bh, ch;         // [M, num_groups * mimo_rank * state_size]
  Matrix dt, adt, trap;  // [M, num_heads]
  Matrix angle;          // [M, num_rope_angles]
};
struct Mamba3PreprocessGradients {
  Matrix projected, dt_bias;
};

// Operands of a single-input scan, in contract order.
struct SisoOperands {
  Matrix c, b;            // [B, L, G, N]
  Matrix x, z;            // [B, L, H, P]
  Matrix adt, dt, trap;   // [B, L, H]
  Matrix angle;           // [B, L, A]
  Matrix c_bias, b_bias;  // [H, N]
  Matrix d;               // [H]
};
// Operands of a multi-input scan, in contract order.
struct MimoOperands {
  Matrix c, b;                    // [B, L, R * G, N], index r * G + g
  Matrix x, z;                    // [B, L, H, P]
  Matrix adt, dt, trap;           // [B, L, H]
  Matrix angle;                   // [B, L, A]
  Matrix c_bias, b_bias;          // [H, R, N]
  Matrix d;                       // [H]
  Matrix mimo_x, mimo_z, mimo_o;  // [H, R, P]
  Matrix norm_weight;             // [H, P]
};

// Recurrent states of the step forms, updated in place; zero before the first token. Declare them
// with Graph::State so that they persist between replays.
struct SsmStates {
  Matrix ssm_state;    // [B, H, P, N]
  Matrix angle_state;  // [B, H, A], not wrapped
  Matrix k_state;      // [B, H, N], or [B, H, R, N]
  Matrix v_state;      // [B, H, P], or [B, H, R, P]
};
struct SsmStepResult {
  Matrix y;          // [B, 1, H, P]
  SsmStates states;  // their next versions
};

// Cuts the packed projection [M, 2I + 2KN + 3H + A] into the operands of a scan: RMS-normalised
// rows of B and C, and per head dt = clamp(softplus(dd_dt + dt_bias), dt_min, dt_max) and adt.
Result<Mamba3Preprocessed> mamba3_preprocess(const Matrix& projected, const Matrix& dt_bias,
                                             const Mamba3PreprocessConfig& config);
// From the eight gradients in the order of Mamba3Preprocessed.
Result<Mamba3PreprocessGradients> mamba3_preprocess_backward(const Matrix& projected,
                                                             const Matrix& dt_bias,
                                                             const Mamba3Preprocessed& gradients,
                                                             const Mamba3PreprocessConfig& config);

// y [B, L, H, P] of a whole sequence, starting from zero states. head_dim and state_size are at
// most 128, num_rope_angles at most 64 and half of state_size; mimo_rank is 1.
Result<Matrix> mamba3_siso(const SisoOperands& operands, const SsmConfig& config);
// One token: sequence_length is 1, nothing gets a gradient. L steps from zero states give the L
// outputs of the scan.
Result<SsmStepResult> mamba3_siso_step(const SsmStates& states, const SisoOperands& operands,
                                       const SsmConfig& config);
// The gradients of all operands.
Result<SisoOperands> mamba3_siso_backward(const Matrix& output_gradient,
                                          const SisoOperands& operands, const SsmConfig& config);

// The same with mimo_rank inputs and outputs that share one state per head: head_dim * state_size
// is at most 4096, mimo_rank at most 8. The optional norm is taken per rank, before the gate.
Result<Matrix> mamba3_mimo(const MimoOperands& operands, const SsmConfig& config);
Result<SsmStepResult> mamba3_mimo_step(const SsmStates& states, const MimoOperands& operands,
                                       const SsmConfig& config);
Result<MimoOperands> mamba3_mimo_backward(const Matrix& output_gradient,
                                          const MimoOperands& operands, const SsmConfig& config);

}  // namespace oa::ml::matrix

#endif  // OA_FRONTEND_MAMBA3_H_
