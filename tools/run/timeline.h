// Timeline: what the host did when, for the trace file. Not thread-safe.
#ifndef OA_TOOLS_RUN_TIMELINE_H_
#define OA_TOOLS_RUN_TIMELINE_H_

#include <chrono>
#include <string>
#include <vector>

namespace oa::tools {

class Timeline {
 public:
  struct Event {
    std::string name;
    double start_us = 0;
    double end_us = 0;
  };

  // Microseconds since the timeline was made.
  double Now() const {
    return std::chrono::duration<double, std::micro>(Clock::now() - origin_).count();
  }

  // Records the time until the returned object is destroyed.
  class Scope {
   public:
    Scope(Timeline& timeline, std::string name)
        : timeline_(timeline), name_(std::move(name)), start_us_(timeline.Now()) {}
    ~Scope() { timeline_.Add(std::move(name_), start_us_, timeline_.Now()); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Timeline& timeline_;
    std::string name_;
    double start_us_;
  };

  // Long runs keep their first and, of steps, no more than the trace viewers can show.
  void Add(std::string name, double start_us, double end_us) {
    if (events_.size() < kMaxEvents) events_.push_back({std::move(name), start_us, end_us});
  }

  const std::vector<Event>& events() const { return events_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxEvents = 100'000;

  Clock::time_point origin_ = Clock::now();
  std::vector<Event> events_;
};

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_TIMELINE_H_
