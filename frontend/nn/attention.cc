#include "frontend/nn/attention.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/attention.h"
#include "frontend/matrix.h"

namespace oa::ml::nn {
namespace {

LinearOptions Projection(const MultiHeadAttentionOptions& options) {
  return {.bias = options.bias, .weight = options.weight, .seed = options.seed};
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(Graph& graph, absl::string_view name, uint64_t width,
                                       uint64_t heads, const MultiHeadAttentionOptions& options)
    : Layer(graph, name),
      width_(width),
      heads_(heads),
      options_(options),
      query_(graph, Inner("query"), width, width, Projection(options)),
      key_(graph, Inner("key"), width, width, Projection(options)),
      value_(graph, Inner("value"), width, width, Projection(options)),
      out_(graph, Inner("out"), width, width, Projection(options)) {
  for (const Linear* inner : {&query_, &key_, &value_, &out_}) Adopt(*inner);
  if (heads == 0 || width % heads != 0) {
    Refuse(absl::StrCat(heads, " heads do not divide a width of ", width));
  }
}

Result<Matrix> MultiHeadAttention::Heads(const Linear& projection, const Matrix& rows,
                                         uint64_t sequence_length, bool rotate) const {
  OA_ASSIGN_OR_RETURN(Matrix y, projection(rows));
  if (rotate && options_.rope_theta) {
    OA_ASSIGN_OR_RETURN(y, ml::matrix::rope_sequences(y, sequence_length, heads_, width_ / heads_,
                                                      *options_.rope_theta, 0));
  }
  return ml::matrix::split_heads(y, rows.extent(0) / sequence_length, sequence_length, heads_);
}

Result<Matrix> MultiHeadAttention::operator()(const Matrix& x, OptMatrix additive_mask) const {
  return Record([&]() -> Result<Matrix> {
    if (!x.valid() || x.rank() != 3 || x.extent(2) != width_ || x.extent(1) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("x ", x.valid() ? ShapeText(x.shape()) : "without a graph",
                       " is not [B, S, ", width_, "]"));
    }
    const uint64_t length = x.extent(1);
    OA_ASSIGN_OR_RETURN(const Matrix rows,
                        oa::matrix::reshape(x, {-1, static_cast<int64_t>(width_)}));
    OA_ASSIGN_OR_RETURN(const Matrix query, Heads(query_, rows, length, true));
    OA_ASSIGN_OR_RETURN(const Matrix key, Heads(key_, rows, length, true));
    OA_ASSIGN_OR_RETURN(const Matrix value, Heads(value_, rows, length, false));
    const double head_width = static_cast<double>(width_ / heads_);
    OA_ASSIGN_OR_RETURN(Matrix y,
                        ml::matrix::scaled_dot_product_attention(
                            query, key, value, additive_mask,
                            static_cast<float>(1 / std::sqrt(head_width)), options_.causal));
    OA_ASSIGN_OR_RETURN(y, ml::matrix::merge_heads(y, x.extent(0), length, heads_));
    OA_ASSIGN_OR_RETURN(y, out_(y));
    return oa::matrix::reshape(y, {static_cast<int64_t>(x.extent(0)), static_cast<int64_t>(length),
                                   static_cast<int64_t>(width_)});
  });
}

}  // namespace oa::ml::nn
