#include "tools/common/tensor_arg.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "schema/status_macros.h"
#include "tools/common/element.h"
#include "tools/common/exit_codes.h"
#include "tools/common/shuffle.h"

namespace oa::tools {

const char kTensorArgHelp[] =
    "Values: NAME=@file.npy        a NumPy file (the type must fit, see below)\n"
    "        NAME=@file.npy[0:32]  rows 0 to 31; negative bounds count from the end\n"
    "        NAME=4xi32=1,2,3,4    numbers; the type may be left out\n"
    "        NAME=0.5              one number for every element\n"
    "        NAME=random:7         seed 7: floats uniform in [-1, 1), integers zero\n"
    "Integers in files are converted if every element fits; bf16 is stored as '<u2'.";

namespace {

template <class T>
void Append(std::vector<uint8_t>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

// "4xi32" or "f32".
bool ParseType(absl::string_view text, DType& dtype, Shape& shape) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, 'x');
  const std::optional<DType> parsed = ParseDType(parts.back());
  if (!parsed || parts.size() > static_cast<size_t>(kMaxRank) + 1) return false;
  dtype = *parsed;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    uint64_t extent = 0;
    if (!absl::SimpleAtoi(parts[i], &extent)) return false;
    shape.push_back(extent);
  }
  return true;
}

// Appends one element; false when `text` is not a number of this type.
bool ParseElement(absl::string_view text, DType dtype, std::vector<uint8_t>& bytes) {
  if (dtype == DType::F32 || dtype == DType::BF16) {
    float value = 0;
    if (!absl::SimpleAtof(text, &value)) return false;
    if (dtype == DType::F32) {
      Append(bytes, value);
    } else {
      Append(bytes, FloatToBf16(value));
    }
    return true;
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) return false;
  if (dtype == DType::I32 && std::in_range<int32_t>(value)) {
    Append(bytes, static_cast<int32_t>(value));
  } else if (dtype == DType::U32 && std::in_range<uint32_t>(value)) {
    Append(bytes, static_cast<uint32_t>(value));
  } else if (dtype == DType::U8 && std::in_range<uint8_t>(value)) {
    Append(bytes, static_cast<uint8_t>(value));
  } else {
    return false;
  }
  return true;
}

absl::StatusOr<std::vector<uint8_t>> ParseValues(const TensorArg& arg, DType dtype) {
  std::vector<uint8_t> bytes;
  size_t index = 0;
  for (absl::string_view text : absl::StrSplit(arg.values, ',')) {
    if (!ParseElement(text, dtype, bytes)) {
      return UsageError("value ", index, " of '", arg.name, "' is '", text,
                        "', which is not a number of type ", DTypeName(dtype), ".");
    }
    ++index;
  }
  return bytes;
}

absl::Status WrongType(const TensorArg& arg, const std::string& got, const std::string& wanted) {
  return UsageError("'", arg.name, "' wants ", wanted, " but ", got, " was given.");
}

absl::StatusOr<Blob> LoadValues(const TensorArg& arg, DType dtype, const Shape& shape,
                                uint64_t count) {
  if (arg.has_type && (arg.dtype != dtype || (arg.shape != shape && !arg.shape.empty()))) {
    return WrongType(arg, TypeText(arg.dtype, arg.shape), TypeText(dtype, shape));
  }
  OA_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ParseValues(arg, dtype));
  const uint64_t given = bytes.size() / SizeOf(dtype);
  if (given == 1 && count > 1) {
    const std::vector<uint8_t> one = bytes;
    bytes.resize(count * one.size());
    for (uint64_t i = 1; i < count; ++i) {
      std::memcpy(bytes.data() + i * one.size(), one.data(), one.size());
    }
  } else if (given != count) {
    return WrongType(arg, absl::StrCat(given, " numbers"), TypeText(dtype, shape));
  }
  return Blob::Own(std::move(bytes));
}

absl::StatusOr<Blob> LoadFile(const TensorArg& arg, DType dtype, const Shape& shape) {
  OA_ASSIGN_OR_RETURN(const NpyArray array, LoadArray(arg));
  const Shape& got = array.header.shape;
  const bool scalar = got.empty() && shape.size() == 1 && shape[0] == 1;  // NumPy's rank 0
  if (got != shape && !scalar) {
    const std::string text =
        absl::StrCat(NpyTypeName(array.header), ShapeText(got), " from '", arg.file.path, "'");
    return WrongType(arg, text, TypeText(dtype, shape));
  }
  return ConvertElements(array, dtype);
}

}  // namespace

absl::StatusOr<TensorArg> ParseTensorArg(absl::string_view text) {
  constexpr absl::string_view kRandom = "random:";
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return UsageError("'", text, "' is not NAME=VALUE, for example x=@x.npy or x=4xf32=1,2,3,4.");
  }
  TensorArg arg;
  arg.name = std::string(text.substr(0, equals));
  const absl::string_view value = text.substr(equals + 1);
  if (value[0] == '@') {
    arg.kind = TensorArg::Kind::kFile;
    OA_ASSIGN_OR_RETURN(arg.file, SplitRows(value.substr(1)));
    if (arg.file.path.empty()) return UsageError("'", text, "' names no file after '@'.");
    return arg;
  }
  if (absl::StartsWith(value, kRandom)) {
    arg.kind = TensorArg::Kind::kRandom;
    if (absl::SimpleAtoi(value.substr(kRandom.size()), &arg.seed)) return arg;
    return UsageError("'", text, "' needs a whole number as its seed, for example random:7.");
  }
  const size_t second = value.find('=');
  arg.has_type = second != absl::string_view::npos;
  if (arg.has_type && !ParseType(value.substr(0, second), arg.dtype, arg.shape)) {
    return UsageError("'", value.substr(0, second), "' in '", text,
                      "' is not a type; write extents and element type as in 2x3xf32 (f32, i32, "
                      "u32, u8, bf16).");
  }
  arg.values = std::string(arg.has_type ? value.substr(second + 1) : value);
  if (arg.values.empty()) return UsageError("'", text, "' has no values.");
  return arg;
}

absl::StatusOr<NpyArray> LoadArray(const TensorArg& arg) {
  if (arg.kind != TensorArg::Kind::kFile) {
    return UsageError("'", arg.name, "' must come from a file: ", arg.name, "=@file.npy.");
  }
  OA_ASSIGN_OR_RETURN(NpyArray array, ReadNpy(arg.file.path));
  if (!arg.file.rows) return array;
  return TakeRows(array, *arg.file.rows);
}

absl::StatusOr<Blob> LoadTensor(const TensorArg& arg, DType dtype, const Shape& shape) {
  OA_ASSIGN_OR_RETURN(const uint64_t count, ElementCount(shape));
  OA_RETURN_IF_ERROR(ByteSize(dtype, shape).status());
  switch (arg.kind) {
    case TensorArg::Kind::kFile:
      return LoadFile(arg, dtype, shape);
    case TensorArg::Kind::kRandom:
      return RandomTensor(arg.seed, dtype, count);
    case TensorArg::Kind::kValues:
      break;
  }
  return LoadValues(arg, dtype, shape, count);
}

Blob RandomTensor(uint64_t seed, DType dtype, uint64_t count) {
  std::vector<uint8_t> bytes(count * SizeOf(dtype));
  if (dtype != DType::F32 && dtype != DType::BF16) return Blob::Own(std::move(bytes));
  SplitMix64 generator(seed);
  for (uint64_t i = 0; i < count; ++i) {
    // 24 random bits make every multiple of 2^-23 in [-1, 1) equally likely.
    const float value = static_cast<float>(generator.Next() >> 40) * 0x1p-23f - 1.0f;
    if (dtype == DType::F32) {
      std::memcpy(bytes.data() + i * 4, &value, 4);
    } else {
      const uint16_t bits = FloatToBf16(value);
      std::memcpy(bytes.data() + i * 2, &bits, 2);
    }
  }
  return Blob::Own(std::move(bytes));
}

}  // namespace oa::tools
