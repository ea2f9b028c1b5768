#include "tools/common/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/common/text.h"

namespace oa::tools {
namespace {

constexpr std::chrono::milliseconds kRedraw(100);
constexpr std::chrono::seconds kSparse(30);
constexpr size_t kBarWidth = 20;

size_t StderrWidth() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string Bar(uint64_t done, uint64_t total) {
  const double part = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
  const size_t filled = static_cast<size_t>(std::min(part, 1.0) * kBarWidth);
  std::string bar(filled, '=');
  if (filled < kBarWidth) bar.push_back('>');
  bar.resize(kBarWidth, ' ');
  return bar;
}

}  // namespace

bool StderrIsTerminal() { return isatty(STDERR_FILENO) == 1; }

std::string ProgressLine(absl::string_view what, uint64_t done, uint64_t total,
                         absl::string_view note, double seconds, uint64_t items_per_step,
                         absl::string_view item, size_t width) {
  std::string line = absl::StrCat(what, " ", done, "/", total, " [", Bar(done, total), "]");
  std::string tail;
  if (seconds > 0 && items_per_step > 0 && done > 0) {
    const double rate = static_cast<double>(done * items_per_step) / seconds;
    absl::StrAppendFormat(&tail, "  %s %s/s", HumanNumber(rate), item);
  }
  if (done > 0 && done < total) {
    const double left = seconds / static_cast<double>(done) * static_cast<double>(total - done);
    absl::StrAppend(&tail, "  ", HumanSeconds(left), " left");
  }
  // The note gives way first: it is the part whose length nobody controls.
  const size_t used = DisplayWidth(line) + DisplayWidth(tail) + 1;
  if (!note.empty() && used < width) absl::StrAppend(&line, " ", Shorten(note, width - used));
  return Shorten(absl::StrCat(line, tail), width);
}

Progress::Progress(Options options)
    : options_(std::move(options)), terminal_(StderrIsTerminal()), start_(Clock::now()) {
  last_ = start_;
}

bool Progress::Due() {
  if (!options_.enabled) return false;
  const Clock::time_point now = Clock::now();
  if (now - last_ < (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kSparse))) return false;
  last_ = now;
  return true;
}

void Progress::Draw(uint64_t done, absl::string_view note) {
  const double seconds = std::chrono::duration<double>(last_ - start_).count();
  // One column stays free: a full line makes some terminals wrap.
  const size_t width = terminal_ ? StderrWidth() - 1 : 100;
  const std::string line = ProgressLine(options_.what, done, options_.total, note, seconds,
                                        options_.items_per_step, options_.item, width);
  std::fprintf(stderr, terminal_ ? "\r\x1b[K%s" : "%s\n", line.c_str());
  std::fflush(stderr);
  drawn_ = terminal_;
}

void Progress::Clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace oa::tools
