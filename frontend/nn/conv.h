// Conv2d. What layers have in common is in frontend/nn/layer.h.
#ifndef OA_FRONTEND_NN_CONV_H_
#define OA_FRONTEND_NN_CONV_H_

#include <optional>

#include "frontend/nn/layer.h"

namespace oa::ml::nn {

struct Conv2dOptions {
  uint64_t stride = 1;
  uint64_t padding = 0;
  uint64_t groups = 1;                      // divides inputs and outputs
  std::optional<init::Initialiser> weight;  // the default is Kaiming uniform
  uint64_t seed = 1;                        // of the default
};

// A square window: [N, inputs, H, W] to [N, outputs, OH, OW].
// Parameters: weight [outputs, inputs / groups, kernel, kernel], bias [outputs], zeros at first.
class Conv2d : public Layer {
 public:
  Conv2d(Graph& graph, absl::string_view name, uint64_t inputs, uint64_t outputs, uint64_t kernel,
         const Conv2dOptions& options = {});
  Result<Matrix> operator()(const Matrix& x) const;

 private:
  uint64_t stride_, padding_, groups_;
  Parameter weight_, bias_;
};

}  // namespace oa::ml::nn

#endif  // OA_FRONTEND_NN_CONV_H_
