// Follows the one-element outputs of a training or evaluation run. Not thread-safe.
#ifndef OA_TOOLS_COMMON_SCALARS_H_
#define OA_TOOLS_COMMON_SCALARS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "schema/plan.h"

namespace oa::tools {

// Bytes by output name; the same type as the executor's TensorMap.
using OutputBytes = absl::flat_hash_map<std::string, std::vector<uint8_t>>;

// Float outputs ("loss") are averaged over the steps, integer outputs ("correct") are summed.
class Scalars {
 public:
  struct Value {
    std::string name;
    bool is_count = false;  // an integer output
    double last = 0;
    double sum = 0;
    uint64_t steps = 0;
    double Mean() const { return steps == 0 ? 0 : sum / static_cast<double>(steps); }
  };

  explicit Scalars(const std::vector<PlanIo>& outputs);

  void Add(const OutputBytes& outputs);
  // Starts a new epoch.
  void Reset();

  const std::vector<Value>& values() const { return values_; }
  bool empty() const { return values_.empty(); }

  // Of the latest step: "loss 0.1234  correct 30".
  std::string LastText() const;
  // Of all steps since Reset: "loss 0.1234  correct 1380 (96.0% of 1437)"; the rate is left out
  // when `rows` is 0 or smaller than the sum, which is then no count of rows.
  std::string EpochText(uint64_t rows) const;

 private:
  std::vector<Value> values_;
  std::vector<DType> dtypes_;
};

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_SCALARS_H_
