// Progress of a long run on stderr: a bar that redraws itself on a terminal, a line now and then
// elsewhere. Not thread-safe.
#ifndef OA_TOOLS_COMMON_PROGRESS_H_
#define OA_TOOLS_COMMON_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace oa::tools {

bool StderrIsTerminal();

// One line of a bar, at most `width` columns:
// "step  12/300 [=====>          ] loss 0.1234  2764 rows/s  3.20 s left".
std::string ProgressLine(absl::string_view what, uint64_t done, uint64_t total,
                         absl::string_view note, double seconds, uint64_t items_per_step,
                         absl::string_view item, size_t width);

class Progress {
 public:
  struct Options {
    bool enabled = true;
    std::string what = "step";
    uint64_t total = 0;
    uint64_t items_per_step = 0;  // 0: no throughput is shown
    std::string item = "rows";
  };

  explicit Progress(Options options);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap: redraws at most ten times a second, prints a line at most every half minute.
  // `note` is only called when something is drawn.
  template <class Note>
  void Update(uint64_t done, Note note) {
    if (Due()) Draw(done, note());
  }

  // Removes the bar, so that other text can be printed.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool Due();
  void Draw(uint64_t done, absl::string_view note);

  Options options_;
  bool terminal_ = false;
  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point last_;
};

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_PROGRESS_H_
