#include "executor/profile.h"

namespace oa::exec {

Profile::Profile(uint32_t dispatches, double period_ns, uint32_t valid_bits)
    : times_(dispatches),
      period_ns_(period_ns),
      mask_(valid_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << valid_bits) - 1) {
  for (uint32_t i = 0; i < dispatches; ++i) times_[i].dispatch = i;
}

// The subtraction is modular, so a counter that wrapped once in between is no problem.
uint64_t Profile::ToNs(uint64_t from, uint64_t to) const {
  return static_cast<uint64_t>(static_cast<double>((to - from) & mask_) * period_ns_);
}

void Profile::Add(absl::Span<const uint64_t> ticks) {
  if (ticks.empty()) return;
  for (size_t i = 0; i < times_.size(); ++i) {
    const uint64_t start = ticks[2 * i];
    const uint64_t end = ticks[2 * i + 1];
    DispatchTime& time = times_[i];
    ++time.count;
    time.total_ns += ToNs(start, end);
    time.last_start_ns = ToNs(ticks[0], start);
    time.last_end_ns = time.last_start_ns + ToNs(start, end);
  }
}

}  // namespace oa::exec
