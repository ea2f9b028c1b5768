#include "frontend/moe.h"

#include <vector>

#include "frontend/record.h"

namespace oa {

using internal::Record;
using internal::RecordAll;
using internal::Signed;
using ir::Attributes;

namespace matrix {

Result<MoeExpertPlan> moe_expert_plan(const Matrix& expert_indices, std::size_t num_experts) {
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> maps,
                      RecordAll("moe_expert_plan", {&expert_indices},
                                Attributes().I64("num_experts", Signed(num_experts))));
  return MoeExpertPlan{maps[0], maps[1], maps[2], maps[3], maps[4], maps[5]};
}

Result<Matrix> moe_routing_bias_update(const Matrix& selection_mask, const Matrix& bias,
                                       std::size_t experts_per_token, float gamma) {
  return Record(
      "moe_routing_bias_update", {&selection_mask, &bias},
      Attributes().I64("experts_per_token", Signed(experts_per_token)).F32("gamma", gamma));
}

}  // namespace matrix

namespace ml::matrix {

Result<Matrix> moe_route_weights(const Matrix& probabilities, const Matrix& expert_indices) {
  return Record("moe_route_weights", {&probabilities, &expert_indices});
}

Result<Matrix> moe_gather(const Matrix& input, const Matrix& packed_token, const Matrix& inverse) {
  return Record("moe_gather", {&input, &packed_token, &inverse});
}

Result<Matrix> moe_gather_backward(const Matrix& source, const Matrix& inverse,
                                   std::size_t output_rows) {
  return Record("moe_gather_backward", {&source, &inverse},
                Attributes().I64("output_rows", Signed(output_rows)));
}

Result<Matrix> moe_combine(const Matrix& packed, const Matrix& route_gate, const Matrix& inverse,
                           const Matrix& packed_slot) {
  return Record("moe_combine", {&packed, &route_gate, &inverse, &packed_slot});
}

Result<Matrix> grouped_gemm_m(const Matrix& input, const Matrix& weight, const Matrix& offsets) {
  return Record("grouped_gemm_m", {&input, &weight, &offsets});
}

Result<Matrix> grouped_linear_m(const Matrix& input, const Matrix& weight, const Matrix& bias,
                                const Matrix& offsets) {
  return Record("grouped_linear_m", {&input, &weight, &bias, &offsets});
}

}  // namespace ml::matrix
}  // namespace oa
