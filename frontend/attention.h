// Attention operators. Conventions and errors as in frontend/matrix.h.
#ifndef OA_FRONTEND_ATTENTION_H_
#define OA_FRONTEND_ATTENTION_H_

#include <cstddef>
#include <cstdint>

#include "frontend/graph.h"

namespace oa::ml::matrix {

using oa::OptMatrix;

// [B*S, D] -> [B*H, S, D/H], and back. Views when there is one head.
Result<Matrix> split_heads(const Matrix& input, std::size_t batch, std::size_t sequence_length,
                           std::size_t num_heads);
Result<Matrix> merge_heads(const Matrix& input, std::size_t batch, std::size_t sequence_length,
                           std::size_t num_heads);
// softmax(scores * scale + mask) along the last axis; rows of -inf give zeros.
Result<Matrix> softmax_scaled_masked(const Matrix& scores, const Matrix& mask, float scale);
// query, key, value [N, S, D], additive_mask [N*S, S] or absent -> [N, S, D].
Result<Matrix> scaled_dot_product_attention(const Matrix& query, const Matrix& key,
                                            const Matrix& value, OptMatrix additive_mask,
                                            float scale, bool causal);
// The same of packed heads, query, key and value [B*S, H*Dh] -> [B*S, H*Dh]: causal, with the scale
// 1 / sqrt(Dh). Five nodes: split_heads three times, attention, merge_heads.
Result<Matrix> scaled_dot_product_attention_causal(const Matrix& query, const Matrix& key,
                                                   const Matrix& value, std::size_t sequence_length,
                                                   std::size_t num_heads);
// Causal attention without a mask that never stores scores, S at most 1024. Longer sequences and
// masks: scaled_dot_product_attention takes the same route by itself where that is faster.
Result<Matrix> flash_attention_causal(const Matrix& query, const Matrix& key, const Matrix& value,
                                      float scale);
// Rotary positions on split halves: [T, H*Dh], row t at position t + position_offset.
Result<Matrix> rope(const Matrix& input, std::size_t num_heads, std::size_t head_dim,
                    float theta_base, std::uint32_t position_offset);
// An extension: rope of a packed batch of sequences, row t at position t mod sequence_length +
// position_offset, where rope counts positions over the whole first extent.
Result<Matrix> rope_sequences(const Matrix& input, std::size_t sequence_length,
                              std::size_t num_heads, std::size_t head_dim, float theta_base,
                              std::uint32_t position_offset);

}  // namespace oa::ml::matrix

#endif  // OA_FRONTEND_ATTENTION_H_
