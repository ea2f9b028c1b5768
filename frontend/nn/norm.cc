#include "frontend/nn/norm.h"

#include "frontend/matrix.h"
#include "frontend/norm.h"

namespace oa::ml::nn {
namespace {

// running += momentum * (batch - running).
absl::Status Track(const Parameter& running, const Matrix& batch, float momentum) {
  OA_ASSIGN_OR_RETURN(Matrix change, oa::matrix::sub(batch, running));
  OA_ASSIGN_OR_RETURN(change, oa::matrix::scale(change, momentum));
  return oa::matrix::accumulate(running, change).status();
}

}  // namespace

BatchNorm2d::BatchNorm2d(Graph& graph, absl::string_view name, uint64_t channels, Mode mode,
                         const BatchNorm2dOptions& options)
    : Layer(graph, name), mode_(mode), options_(options) {
  weight_ = Declare("weight", {channels}, init::Ones());
  bias_ = Declare("bias", {channels}, init::Zeros());
  running_mean_ = Declare("running_mean", {channels}, init::Zeros(), /*requires_grad=*/false);
  running_variance_ = Declare("running_variance", {channels}, init::Ones(),
                              /*requires_grad=*/false);
}

Result<Matrix> BatchNorm2d::operator()(const Matrix& x) const {
  return Record([&]() -> Result<Matrix> {
    if (mode_ == Mode::kEvaluation) {
      return ml::matrix::batch_norm_2d_with_stats(x, running_mean_, running_variance_, weight_,
                                                  bias_, options_.epsilon);
    }
    OA_ASSIGN_OR_RETURN(const ml::matrix::BatchNorm2dResult normalised,
                        ml::matrix::batch_norm_2d(x, weight_, bias_, options_.epsilon));
    OA_RETURN_IF_ERROR(Track(running_mean_, normalised.mean, options_.momentum));
    OA_RETURN_IF_ERROR(Track(running_variance_, normalised.variance, options_.momentum));
    return normalised.output;
  });
}

LayerNorm::LayerNorm(Graph& graph, absl::string_view name, uint64_t width, float epsilon)
    : Layer(graph, name), epsilon_(epsilon) {
  weight_ = Declare("weight", {width}, init::Ones());
  bias_ = Declare("bias", {width}, init::Zeros());
}

Result<Matrix> LayerNorm::operator()(const Matrix& x) const {
  return Record([&] { return oa::matrix::layer_norm(x, weight_, bias_, epsilon_); });
}

RmsNorm::RmsNorm(Graph& graph, absl::string_view name, uint64_t width, float epsilon)
    : Layer(graph, name), epsilon_(epsilon) {
  weight_ = Declare("weight", {width}, init::Ones());
}

Result<Matrix> RmsNorm::operator()(const Matrix& x) const {
  return Record([&] { return ml::matrix::rms_norm(x, weight_, epsilon_); });
}

}  // namespace oa::ml::nn
