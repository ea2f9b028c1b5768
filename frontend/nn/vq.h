// VectorQuantizer. What layers have in common is in frontend/nn/layer.h.
#ifndef OA_FRONTEND_NN_VQ_H_
#define OA_FRONTEND_NN_VQ_H_

#include <cstdint>
#include <optional>

#include "frontend/nn/layer.h"

namespace oa::ml::nn {

struct VectorQuantizerOptions {
  float decay = 0.99f;
  float epsilon = 1e-5f;
  float dead_threshold = 0;  // codes that fewer latents use are revived; 0: none
  uint32_t revival_seed = 1;
  bool normalize = false;                     // codes to root mean square 1
  std::optional<init::Initialiser> codebook;  // the default is normal with deviation 1
  uint64_t seed = 1;                          // of the default
};

// Replaces each row of [.., width] by the nearest of `entries` codes. Gradients pass straight
// through to x. In training every call moves the codes it used towards the mean of their rows and
// keeps the running sums for that; evaluation changes nothing. The codebook gets no gradient; what
// keeps the rows near their codes is the commitment loss, the mean of (x - quantised code)^2.
// Frozen parameters: codebook and embed_sum [entries, width], cluster_size [entries].
// Source: van den Oord et al. 2017, "Neural Discrete Representation Learning", appendix A.1.
class VectorQuantizer : public Layer {
 public:
  VectorQuantizer(Graph& graph, absl::string_view name, uint64_t entries, uint64_t width, Mode mode,
                  const VectorQuantizerOptions& options = {});

  struct Output {
    Matrix quantized;        // shaped like x; gradient of x
    Matrix indices;          // I32 [rows of x]
    Matrix commitment_loss;  // [1]; gradient of x, none of the codes
  };
  Result<Output> Quantize(const Matrix& x) const;
  // Quantize(x).quantized.
  Result<Matrix> operator()(const Matrix& x) const;
  // The codes of I32 indices [n], [n, width]: what a decoder starts from.
  Result<Matrix> Lookup(const Matrix& indices) const;

  const Parameter& codebook() const { return codebook_; }

 private:
  absl::Status Check(const Matrix& x) const;
  // Fills the other members of `output` and returns the quantised rows.
  Result<Matrix> RecordAll(const Matrix& x, Output& output) const;
  absl::Status Update(const Matrix& rows, const Matrix& indices) const;

  Mode mode_;
  VectorQuantizerOptions options_;
  Parameter codebook_, embed_sum_, cluster_size_;
};

}  // namespace oa::ml::nn

#endif  // OA_FRONTEND_NN_VQ_H_
