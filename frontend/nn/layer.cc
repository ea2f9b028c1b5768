#include "frontend/nn/layer.h"

#include "absl/strings/str_cat.h"
#include "frontend/record.h"
#include "schema/fnv.h"

namespace oa::ml::nn {

Parameter Layer::Declare(absl::string_view suffix, const Shape& shape,
                         const init::Initialiser& initialiser, bool requires_grad) {
  parameters_.push_back(graph_->Param(Inner(suffix), shape, initialiser, requires_grad));
  return parameters_.back();
}

void Layer::Adopt(const Layer& inner) {
  parameters_.insert(parameters_.end(), inner.parameters_.begin(), inner.parameters_.end());
}

std::string Layer::Inner(absl::string_view suffix) const {
  return absl::StrCat(name_, ".", suffix);
}

uint64_t Layer::SeedOf(absl::string_view suffix, uint64_t seed) const {
  Fnv1a64 hash;
  hash.Word64(seed);
  hash.Text(Inner(suffix));
  return hash.value();
}

void Layer::Refuse(absl::string_view reason) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrCat("layer '", name_, "': ", reason));
}

Result<Matrix> Layer::Record(const std::function<Result<Matrix>()>& operators) const {
  OA_RETURN_IF_ERROR(graph_->status());
  OA_RETURN_IF_ERROR(status_);
  const std::string outer_label = graph_->label();
  graph_->SetLabel(name_);
  Result<Matrix> result = internal::Atomically(*graph_, operators);
  graph_->SetLabel(outer_label);
  if (result.ok()) return result;
  return Annotate(result.status(), absl::StrCat("layer '", name_, "'"));
}

}  // namespace oa::ml::nn
