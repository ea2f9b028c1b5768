#include "tools/common/set_element.h"

#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "tools/common/element.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {
namespace {

template <class T>
void Store(std::vector<uint8_t>& bytes, uint64_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

// False when `text` is no number of type `dtype`.
bool StoreText(absl::string_view text, DType dtype, uint64_t index, std::vector<uint8_t>& bytes) {
  float real = 0;
  int64_t integer = 0;
  const bool is_real = absl::SimpleAtof(text, &real);
  const bool is_integer = absl::SimpleAtoi(text, &integer);
  switch (dtype) {
    case DType::F32:
      if (is_real) Store(bytes, index, real);
      return is_real;
    case DType::BF16:
      if (is_real) Store(bytes, index, FloatToBf16(real));
      return is_real;
    case DType::U32:
      if (is_integer && !std::in_range<uint32_t>(integer)) return false;
      if (is_integer)
        Store(bytes, index, static_cast<uint32_t>(integer));
      else if (is_real)
        Store(bytes, index, std::bit_cast<uint32_t>(real));
      return is_integer || is_real;
    case DType::I32:
      if (!is_integer || !std::in_range<int32_t>(integer)) return false;
      Store(bytes, index, static_cast<int32_t>(integer));
      return true;
    case DType::U8:
      if (!is_integer || !std::in_range<uint8_t>(integer)) return false;
      Store(bytes, index, static_cast<uint8_t>(integer));
      return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<SetArg> ParseSetArg(absl::string_view text) {
  const auto malformed = [&] {
    return UsageError("'", text, "' is not NAME[INDEX]=VALUE, for example adamw.hyper[1]=1e-4.");
  };
  const size_t equals = text.rfind('=');
  if (equals == absl::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return malformed();
  }
  SetArg arg;
  absl::string_view target = text.substr(0, equals);
  arg.value = std::string(text.substr(equals + 1));
  if (absl::EndsWith(target, "]")) {
    const size_t open = target.rfind('[');
    uint64_t index = 0;
    if (open == absl::string_view::npos || open == 0 ||
        !absl::SimpleAtoi(target.substr(open + 1, target.size() - open - 2), &index)) {
      return malformed();
    }
    arg.index = index;
    target = target.substr(0, open);
  }
  arg.name = std::string(target);
  return arg;
}

absl::Status SetElement(const SetArg& arg, DType dtype, std::vector<uint8_t>& bytes) {
  const uint64_t count = bytes.size() / SizeOf(dtype);
  if (!arg.index && count != 1) {
    return UsageError("'", arg.name, "' has ", count, " elements; say which: --set ", arg.name,
                      "[0]=", arg.value, ".");
  }
  const uint64_t index = arg.index.value_or(0);
  if (index >= count) {
    return UsageError("'", arg.name, "' has ", count, " elements, so there is no element ", index,
                      ".");
  }
  if (StoreText(arg.value, dtype, index, bytes)) return absl::OkStatus();
  return UsageError("'", arg.value, "' is not a number of type ", DTypeName(dtype), ", which '",
                    arg.name, "' has.");
}

}  // namespace oa::tools
