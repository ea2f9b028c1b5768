#include "frontend/nn/vq.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/loss.h"
#include "frontend/matrix.h"
#include "frontend/ml_matrix.h"
#include "frontend/vq.h"

namespace oa::ml::nn {
namespace {

// parameter = value, exactly.
absl::Status Overwrite(const Parameter& parameter, const Matrix& value) {
  OA_RETURN_IF_ERROR(oa::matrix::fill(parameter, 0).status());
  return oa::matrix::accumulate(parameter, value).status();
}

}  // namespace

VectorQuantizer::VectorQuantizer(Graph& graph, absl::string_view name, uint64_t entries,
                                 uint64_t width, Mode mode, const VectorQuantizerOptions& options)
    : Layer(graph, name), mode_(mode), options_(options) {
  const init::Initialiser codes =
      options.codebook.value_or(init::Normal(0, 1, SeedOf("codebook", options.seed)));
  codebook_ = Declare("codebook", {entries, width}, codes, /*requires_grad=*/false);
  // Each code starts as the mean of one row: itself.
  embed_sum_ = Declare("embed_sum", {entries, width}, codes, /*requires_grad=*/false);
  cluster_size_ = Declare("cluster_size", {entries}, init::Ones(), /*requires_grad=*/false);
}

absl::Status VectorQuantizer::Update(const Matrix& rows, const Matrix& indices) const {
  OA_ASSIGN_OR_RETURN(
      const ml::matrix::VqEmaState next,
      ml::matrix::vq_ema_update(rows, indices, embed_sum_, cluster_size_, codebook_, options_.decay,
                                options_.epsilon, options_.dead_threshold, options_.revival_seed,
                                options_.normalize));
  OA_RETURN_IF_ERROR(Overwrite(embed_sum_, next.embed_sum));
  OA_RETURN_IF_ERROR(Overwrite(cluster_size_, next.cluster_size));
  return Overwrite(codebook_, next.codebook);
}

absl::Status VectorQuantizer::Check(const Matrix& x) const {
  if (!x.valid()) return absl::OkStatus();  // the first operator says so
  if (x.graph() != &graph()) {
    return absl::InvalidArgumentError(absl::StrCat("the rows are of graph '", x.graph()->name(),
                                                   "', the codes of graph '", graph().name(), "'"));
  }
  const uint64_t width = codebook_.data().extent(1);
  if (x.shape().back() == width) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the rows have ", x.shape().back(), " columns, the codes ", width));
}

Result<Matrix> VectorQuantizer::RecordAll(const Matrix& x, Output& output) const {
  OA_RETURN_IF_ERROR(Check(x));
  const int64_t width = static_cast<int64_t>(codebook_.data().extent(1));
  OA_ASSIGN_OR_RETURN(const Matrix rows, oa::matrix::reshape(x, {-1, width}));
  OA_ASSIGN_OR_RETURN(const ml::matrix::VqAssignResult found,
                      ml::matrix::vq_assign(rows, codebook_));
  output.indices = found.indices;
  const std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
  OA_ASSIGN_OR_RETURN(const Matrix codes, oa::matrix::reshape(found.quantized, shape));
  OA_ASSIGN_OR_RETURN(output.commitment_loss, ml::loss::mse(x, codes));
  OA_ASSIGN_OR_RETURN(Matrix step, oa::matrix::sub(codes, x));
  OA_ASSIGN_OR_RETURN(step, ml::matrix::detach(step));
  if (mode_ == Mode::kTraining) OA_RETURN_IF_ERROR(Update(rows, found.indices));
  return oa::matrix::add(x, step);
}

Result<VectorQuantizer::Output> VectorQuantizer::Quantize(const Matrix& x) const {
  Output output;
  OA_ASSIGN_OR_RETURN(output.quantized, Record([&] { return RecordAll(x, output); }));
  return output;
}

Result<Matrix> VectorQuantizer::operator()(const Matrix& x) const {
  OA_ASSIGN_OR_RETURN(const Output output, Quantize(x));
  return output.quantized;
}

Result<Matrix> VectorQuantizer::Lookup(const Matrix& indices) const {
  return Record([&] { return ml::matrix::vq_lookup(codebook_, indices); });
}

}  // namespace oa::ml::nn
