// BatchStream: cuts files into mini-batches of a plan's inputs. Not thread-safe.
#ifndef OA_TOOLS_COMMON_STREAM_H_
#define OA_TOOLS_COMMON_STREAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "schema/plan.h"
#include "tools/common/bind_inputs.h"
#include "tools/common/tensor_arg.h"

namespace oa::tools {

class BatchStream {
 public:
  // Every argument must be a file whose rows have the shape of its input without the first extent,
  // which is the batch. All inputs must agree on rows and batch; at least one batch must fit.
  static absl::StatusOr<BatchStream> Create(const Plan& plan, absl::Span<const TensorArg> args);

  uint64_t rows() const { return rows_; }
  uint64_t batch_rows() const { return batch_; }
  uint64_t batches() const { return rows_ / batch_; }
  // Rows of the last, incomplete batch: they are left out of every epoch.
  uint64_t dropped_rows() const { return rows_ % batch_; }
  std::vector<std::string> names() const;

  // Reorders the rows for `epoch`, see EpochOrder; without a call they keep the file's order.
  void Shuffle(uint64_t seed, uint64_t epoch);

  // Points the streamed inputs in `views` at batch `index`. Valid until the next call.
  void Fill(uint64_t index, ByteViews& views);

 private:
  struct Source {
    std::string name;
    Blob data;
    uint64_t row_bytes = 0;
    std::vector<uint8_t> gathered;  // the current batch, when the order is not the file's
  };

  BatchStream() = default;
  absl::Status Add(const PlanIo& io, const TensorArg& arg);

  std::vector<Source> sources_;
  uint64_t rows_ = 0;
  uint64_t batch_ = 0;
  std::vector<uint64_t> order_;
};

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_STREAM_H_
