#include "frontend/nn/conv.h"

#include "absl/strings/str_cat.h"
#include "frontend/conv.h"

namespace oa::ml::nn {

Conv2d::Conv2d(Graph& graph, absl::string_view name, uint64_t inputs, uint64_t outputs,
               uint64_t kernel, const Conv2dOptions& options)
    : Layer(graph, name),
      stride_(options.stride),
      padding_(options.padding),
      groups_(options.groups) {
  if (groups_ == 0 || inputs % groups_ != 0 || outputs % groups_ != 0) {
    Refuse(absl::StrCat(groups_, " groups do not divide ", inputs, " input and ", outputs,
                        " output channels"));
  }
  weight_ = Declare("weight", {outputs, groups_ == 0 ? inputs : inputs / groups_, kernel, kernel},
                    options.weight.value_or(init::KaimingUniform(SeedOf("weight", options.seed))));
  bias_ = Declare("bias", {outputs}, init::Zeros());
}

Result<Matrix> Conv2d::operator()(const Matrix& x) const {
  return Record([&] { return ml::matrix::conv_2d(x, weight_, bias_, stride_, padding_, groups_); });
}

}  // namespace oa::ml::nn
