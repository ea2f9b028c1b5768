#include "frontend/mamba3.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/record.h"

namespace oa::ml::matrix {
namespace {

using internal::Record;
using internal::RecordAll;
using Operands = std::vector<OptMatrix>;

// Sizes go into the file as 32-bit words.
absl::Status AddSize(absl::string_view op, absl::string_view name, std::size_t value,
                     ir::Attributes& attributes) {
  if (value > UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": ", name, " is ", value, ", the limit is ", UINT32_MAX));
  }
  attributes.U32(name, static_cast<uint32_t>(value));
  return absl::OkStatus();
}

Result<ir::Attributes> AttributesOf(absl::string_view op, const SsmConfig& config) {
  ir::Attributes attributes;
  const std::pair<const char*, std::size_t> sizes[] = {{"batch_size", config.batch_size},
                                                       {"sequence_length", config.sequence_length},
                                                       {"num_heads", config.num_heads},
                                                       {"num_groups", config.num_groups},
                                                       {"head_dim", config.head_dim},
                                                       {"state_size", config.state_size},
                                                       {"num_rope_angles", config.num_rope_angles},
                                                       {"mimo_rank", config.mimo_rank}};
  for (const auto& [name, value] : sizes) {
    OA_RETURN_IF_ERROR(AddSize(op, name, value, attributes));
  }
  return attributes.Bool("has_z", config.has_z)
      .Bool("has_d", config.has_d)
      .Bool("has_output_norm", config.has_output_norm);
}

Result<ir::Attributes> AttributesOf(absl::string_view op, const Mamba3PreprocessConfig& config) {
  ir::Attributes attributes;
  const std::pair<const char*, std::size_t> sizes[] = {
      {"inner_size", config.inner_size}, {"state_size", config.state_size},
      {"num_heads", config.num_heads},   {"num_rope_angles", config.num_rope_angles},
      {"num_groups", config.num_groups}, {"mimo_rank", config.mimo_rank}};
  for (const auto& [name, value] : sizes) {
    OA_RETURN_IF_ERROR(AddSize(op, name, value, attributes));
  }
  return attributes.F32("epsilon", config.epsilon)
      .F32("dt_min", config.dt_min)
      .F32("dt_max", config.dt_max)
      .F32("a_floor", config.a_floor);
}

Operands List(const SisoOperands& o) {
  return {&o.c, &o.b, &o.x, &o.z, &o.adt, &o.dt, &o.trap, &o.angle, &o.c_bias, &o.b_bias, &o.d};
}

Operands List(const MimoOperands& o) {
  return {&o.c,      &o.b,      &o.x, &o.z,      &o.adt,    &o.dt,     &o.trap,       &o.angle,
          &o.c_bias, &o.b_bias, &o.d, &o.mimo_x, &o.mimo_z, &o.mimo_o, &o.norm_weight};
}

Operands List(const SsmStates& s) { return {&s.ssm_state, &s.angle_state, &s.k_state, &s.v_state}; }

template <class T>
Operands Concat(Operands first, const T& rest) {
  const Operands more = List(rest);
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

template <class T>
Result<Matrix> Scan(const char* op, const T& operands, const SsmConfig& config) {
  OA_ASSIGN_OR_RETURN(const ir::Attributes attributes, AttributesOf(op, config));
  return Record(op, List(operands), attributes);
}

template <class T>
Result<SsmStepResult> Step(const char* op, const SsmStates& states, const T& operands,
                           const SsmConfig& config) {
  OA_ASSIGN_OR_RETURN(const ir::Attributes attributes, AttributesOf(op, config));
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> r,
                      RecordAll(op, Concat(List(states), operands), attributes));
  return SsmStepResult{r[0], {r[1], r[2], r[3], r[4]}};
}

template <class T>
Result<std::vector<Matrix>> Backward(const char* op, const Matrix& output_gradient,
                                     const T& operands, const SsmConfig& config) {
  OA_ASSIGN_OR_RETURN(const ir::Attributes attributes, AttributesOf(op, config));
  return RecordAll(op, Concat({&output_gradient}, operands), attributes);
}

}  // namespace

Result<Mamba3Preprocessed> mamba3_preprocess(const Matrix& projected, const Matrix& dt_bias,
                                             const Mamba3PreprocessConfig& config) {
  constexpr char kOp[] = "mamba3_preprocess";
  OA_ASSIGN_OR_RETURN(const ir::Attributes attributes, AttributesOf(kOp, config));
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> r,
                      RecordAll(kOp, {&projected, &dt_bias}, attributes));
  return Mamba3Preprocessed{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]};
}

Result<Mamba3PreprocessGradients> mamba3_preprocess_backward(const Matrix& projected,
                                                             const Matrix& dt_bias,
                                                             const Mamba3Preprocessed& gradients,
                                                             const Mamba3PreprocessConfig& config) {
  constexpr char kOp[] = "mamba3_preprocess_backward";
  const Mamba3Preprocessed& g = gradients;
  OA_ASSIGN_OR_RETURN(const ir::Attributes attributes, AttributesOf(kOp, config));
  OA_ASSIGN_OR_RETURN(
      const std::vector<Matrix> r,
      RecordAll(kOp,
                {&projected, &dt_bias, &g.x, &g.z, &g.bh, &g.ch, &g.dt, &g.adt, &g.trap, &g.angle},
                attributes));
  return Mamba3PreprocessGradients{r[0], r[1]};
}

Result<Matrix> mamba3_siso(const SisoOperands& operands, const SsmConfig& config) {
  return Scan("mamba3_siso", operands, config);
}

Result<SsmStepResult> mamba3_siso_step(const SsmStates& states, const SisoOperands& operands,
                                       const SsmConfig& config) {
  return Step("mamba3_siso_step", states, operands, config);
}

Result<SisoOperands> mamba3_siso_backward(const Matrix& output_gradient,
                                          const SisoOperands& operands, const SsmConfig& config) {
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> r,
                      Backward("mamba3_siso_backward", output_gradient, operands, config));
  return SisoOperands{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10]};
}

Result<Matrix> mamba3_mimo(const MimoOperands& operands, const SsmConfig& config) {
  return Scan("mamba3_mimo", operands, config);
}

Result<SsmStepResult> mamba3_mimo_step(const SsmStates& states, const MimoOperands& operands,
                                       const SsmConfig& config) {
  return Step("mamba3_mimo_step", states, operands, config);
}

Result<MimoOperands> mamba3_mimo_backward(const Matrix& output_gradient,
                                          const MimoOperands& operands, const SsmConfig& config) {
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> r,
                      Backward("mamba3_mimo_backward", output_gradient, operands, config));
  return MimoOperands{r[0], r[1], r[2],  r[3],  r[4],  r[5],  r[6], r[7],
                      r[8], r[9], r[10], r[11], r[12], r[13], r[14]};
}

}  // namespace oa::ml::matrix
