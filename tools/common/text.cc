#include "tools/common/text.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace oa::tools {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Byte position of code point `index`, or the size of the text.
size_t BytePosition(absl::string_view text, size_t index) {
  size_t points = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsContinuation(text[i])) continue;
    if (points == index) return i;
    ++points;
  }
  return text.size();
}

}  // namespace

std::string HumanBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string HumanSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 1e-3) return absl::StrFormat("%.0f us", seconds * 1e6);
  if (seconds < 1) return absl::StrFormat("%.3g ms", seconds * 1e3);
  if (seconds < 120) return absl::StrFormat("%.2f s", seconds);
  const uint64_t whole = static_cast<uint64_t>(std::llround(std::min(seconds, 1e12)));
  if (whole < 7200) return absl::StrFormat("%u min %u s", whole / 60, whole % 60);
  return absl::StrFormat("%u h %u min", whole / 3600, whole / 60 % 60);
}

std::string HumanNumber(double value) {
  if (std::abs(value) >= 1e4 && std::abs(value) < 1e7) return absl::StrFormat("%.0f", value);
  return absl::StrFormat("%.4g", value);
}

size_t DisplayWidth(absl::string_view text) {
  size_t points = 0;
  for (char c : text) points += !IsContinuation(c);
  return points;
}

std::string Shorten(absl::string_view text, size_t width) {
  constexpr size_t kGap = 2;
  const size_t points = DisplayWidth(text);
  if (points <= width) return std::string(text);
  if (width <= kGap) return std::string(text.substr(0, BytePosition(text, width)));
  const size_t front = (width - kGap) / 2;
  const size_t back = width - kGap - front;
  return absl::StrCat(text.substr(0, BytePosition(text, front)), "..",
                      text.substr(BytePosition(text, points - back)));
}

std::vector<std::string> WrapWords(absl::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const size_t used = DisplayWidth(lines.back());
    if (used > 0 && used + 1 + DisplayWidth(word) > width) lines.emplace_back();
    absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", Shorten(word, width));
  }
  return lines;
}

std::string Printable(absl::string_view text) {
  std::string out;
  for (char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      absl::StrAppendFormat(&out, "\\x%02x", byte);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string Counted(uint64_t count, absl::string_view noun) {
  const bool sibilant = absl::EndsWith(noun, "s") || absl::EndsWith(noun, "ch");
  return absl::StrCat(count, " ", noun, count == 1 ? "" : sibilant ? "es" : "s");
}

}  // namespace oa::tools
