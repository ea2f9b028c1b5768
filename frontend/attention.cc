#include "frontend/attention.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/record.h"

namespace oa::ml::matrix {
namespace {

using internal::Record;
using internal::Signed;
using ir::Attributes;

Attributes Heads(std::size_t batch, std::size_t sequence_length, std::size_t num_heads) {
  return Attributes()
      .I64("batch", Signed(batch))
      .I64("sequence_length", Signed(sequence_length))
      .I64("num_heads", Signed(num_heads));
}

Attributes AttentionAttributes(float scale, bool causal, const char* provider) {
  return Attributes().F32("scale", scale).Bool("causal", causal).Token("provider", provider);
}

Attributes RopeAttributes(std::size_t num_heads, std::size_t head_dim, float theta_base,
                          std::uint32_t position_offset) {
  return Attributes()
      .I64("num_heads", Signed(num_heads))
      .I64("head_dim", Signed(head_dim))
      .F32("theta_base", theta_base)
      .I64("position_offset", position_offset);
}

}  // namespace

Result<Matrix> split_heads(const Matrix& input, std::size_t batch, std::size_t sequence_length,
                           std::size_t num_heads) {
  return Record("split_heads", {&input}, Heads(batch, sequence_length, num_heads));
}
Result<Matrix> merge_heads(const Matrix& input, std::size_t batch, std::size_t sequence_length,
                           std::size_t num_heads) {
  return Record("merge_heads", {&input}, Heads(batch, sequence_length, num_heads));
}
Result<Matrix> softmax_scaled_masked(const Matrix& scores, const Matrix& mask, float scale) {
  return Record("softmax_scaled_masked", {&scores, &mask}, Attributes().F32("scale", scale));
}
Result<Matrix> scaled_dot_product_attention(const Matrix& query, const Matrix& key,
                                            const Matrix& value, OptMatrix additive_mask,
                                            float scale, bool causal) {
  return Record("scaled_dot_product_attention", {&query, &key, &value, additive_mask},
                AttentionAttributes(scale, causal, "any"));
}
Result<Matrix> flash_attention_causal(const Matrix& query, const Matrix& key, const Matrix& value,
                                      float scale) {
  Result<Matrix> result = Record("scaled_dot_product_attention", {&query, &key, &value, nullptr},
                                 AttentionAttributes(scale, true, "flash"));
  if (result.ok()) return result;
  return Annotate(result.status(), "flash_attention_causal");
}
Result<Matrix> scaled_dot_product_attention_causal(const Matrix& query, const Matrix& key,
                                                   const Matrix& value, std::size_t sequence_length,
                                                   std::size_t num_heads) {
  constexpr char kOp[] = "scaled_dot_product_attention_causal";
  if (sequence_length == 0 || num_heads == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(kOp, ": sequence_length and num_heads must not be 0"));
  }
  return internal::RecordAtomically(query, kOp, [&]() -> Result<Matrix> {
    if (query.rank() != 2 || query.extent(0) % sequence_length != 0) {
      return absl::InvalidArgumentError(absl::StrCat("query ", ShapeText(query.shape()),
                                                     " is not [B * ", sequence_length, ", D]"));
    }
    const std::size_t batch = query.extent(0) / sequence_length;
    const double width = static_cast<double>(query.extent(1)) / static_cast<double>(num_heads);
    std::vector<Matrix> heads;
    for (const Matrix* packed : {&query, &key, &value}) {
      OA_ASSIGN_OR_RETURN(const Matrix split,
                          split_heads(*packed, batch, sequence_length, num_heads));
      heads.push_back(split);
    }
    const float scale = static_cast<float>(1 / std::sqrt(width));
    OA_ASSIGN_OR_RETURN(const Matrix y, scaled_dot_product_attention(heads[0], heads[1], heads[2],
                                                                     nullptr, scale, true));
    return merge_heads(y, batch, sequence_length, num_heads);
  });
}
Result<Matrix> rope(const Matrix& input, std::size_t num_heads, std::size_t head_dim,
                    float theta_base, std::uint32_t position_offset) {
  return Record("rope", {&input}, RopeAttributes(num_heads, head_dim, theta_base, position_offset));
}
Result<Matrix> rope_sequences(const Matrix& input, std::size_t sequence_length,
                              std::size_t num_heads, std::size_t head_dim, float theta_base,
                              std::uint32_t position_offset) {
  return Record("rope_sequences", {&input},
                RopeAttributes(num_heads, head_dim, theta_base, position_offset)
                    .I64("sequence_length", Signed(sequence_length)));
}

}  // namespace oa::ml::matrix
