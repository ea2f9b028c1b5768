// Profile: the times of every dispatch, summed over replays. Not thread-safe.
#ifndef OA_EXECUTOR_PROFILE_H_
#define OA_EXECUTOR_PROFILE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "executor/session.h"

namespace oa::exec {

class Profile {
 public:
  Profile() = default;
  // Ticks are `period_ns` apart and only their low `valid_bits` count.
  Profile(uint32_t dispatches, double period_ns, uint32_t valid_bits);

  // Adds one replay: ticks before and after every dispatch, in plan order.
  void Add(absl::Span<const uint64_t> ticks);

  const std::vector<DispatchTime>& times() const { return times_; }

 private:
  uint64_t ToNs(uint64_t from, uint64_t to) const;

  std::vector<DispatchTime> times_;
  double period_ns_ = 1;
  uint64_t mask_ = 0;
};

}  // namespace oa::exec

#endif  // OA_EXECUTOR_PROFILE_H_
