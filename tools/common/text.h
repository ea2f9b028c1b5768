// Numbers, sizes and names as text for people. Stateless.
#ifndef OA_TOOLS_COMMON_TEXT_H_
#define OA_TOOLS_COMMON_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace oa::tools {

// "640 B", "1.5 MiB", "12.0 GiB".
std::string HumanBytes(uint64_t bytes);

// "850 us", "12.3 ms", "4.56 s", "3 min 20 s".
std::string HumanSeconds(double seconds);

// Four significant digits without an exponent: "0.1234", "12.34", "1234", "1.234e+09" when larger.
std::string HumanNumber(double value);

// Columns the text takes on a terminal: its UTF-8 code points.
size_t DisplayWidth(absl::string_view text);

// At most `width` columns; the middle of a longer text becomes "..", so that both the beginning
// and the end, which tells long names apart, stay readable.
std::string Shorten(absl::string_view text, size_t width);

// `text` broken at spaces into lines of at most `width` columns; longer words are shortened.
// At least one line.
std::vector<std::string> WrapWords(absl::string_view text, size_t width);

// Names come from files: control characters are escaped so that they cannot steer a terminal.
std::string Printable(absl::string_view text);

// "1 row", "2 rows", "3 dispatches".
std::string Counted(uint64_t count, absl::string_view noun);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_TEXT_H_
