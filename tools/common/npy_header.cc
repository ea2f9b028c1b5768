// Parses the header of an NPY file: a Python dictionary literal with three known keys.
#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/npy.h"

namespace oa::tools {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

struct Fields {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<uint64_t>> shape;
  bool structured = false;  // descr is a list of fields
};

// A cursor over the dictionary. Every Read* returns false when the text is not what it expects.
class DictReader {
 public:
  explicit DictReader(absl::string_view text) : text_(text) {}

  bool Read(Fields& fields) {
    if (!Take('{')) return false;
    while (!Take('}')) {
      std::string key;
      if (!ReadString(key) || !Take(':') || !ReadValue(key, fields)) return false;
      if (fields.structured) return true;  // the rest cannot matter
      if (!Take(',') && !Peek('}')) return false;
    }
    SkipSpace();
    return text_.empty();
  }

 private:
  bool ReadValue(const std::string& key, Fields& fields) {
    if (key == "descr") {
      fields.structured = Peek('[');
      return fields.structured || ReadString(fields.descr.emplace());
    }
    if (key == "fortran_order") return ReadBool(fields.fortran_order.emplace());
    if (key == "shape") return ReadTuple(fields.shape.emplace());
    return false;
  }

  bool ReadString(std::string& out) {
    SkipSpace();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return false;
    const size_t end = text_.find(text_[0], 1);
    if (end == absl::string_view::npos) return false;
    out = std::string(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return true;
  }

  bool ReadBool(bool& out) {
    SkipSpace();
    out = absl::StartsWith(text_, "True");
    if (!out && !absl::StartsWith(text_, "False")) return false;
    text_.remove_prefix(out ? 4 : 5);
    return true;
  }

  bool ReadTuple(std::vector<uint64_t>& out) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      uint64_t extent = 0;
      if (!ReadInteger(extent)) return false;
      out.push_back(extent);
      if (!Take(',') && !Peek(')')) return false;
    }
    return true;
  }

  bool ReadInteger(uint64_t& out) {
    SkipSpace();
    size_t digits = 0;
    while (digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9') {
      const auto product = CheckedMul(out, 10);
      const auto sum = product ? CheckedAdd(*product, text_[digits] - '0') : std::nullopt;
      if (!sum) return false;
      out = *sum;
      ++digits;
    }
    text_.remove_prefix(digits);
    if (digits > 0 && absl::StartsWith(text_, "L")) text_.remove_prefix(1);  // Python 2
    return digits > 0;
  }

  bool Peek(char c) {
    SkipSpace();
    return !text_.empty() && text_[0] == c;
  }
  bool Take(char c) {
    if (!Peek(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void SkipSpace() {
    while (!text_.empty() && absl::ascii_isspace(text_[0])) text_.remove_prefix(1);
  }

  absl::string_view text_;
};

absl::Status Damaged(const std::string& name, absl::string_view reason) {
  return absl::DataLossError(absl::StrCat("'", name, "' ", reason));
}

struct HeaderText {
  absl::string_view dict;
  uint64_t data_offset = 0;
};

absl::StatusOr<HeaderText> FindHeader(absl::Span<const uint8_t> file, const std::string& name) {
  if (file.size() < kMagicBytes + 4 || std::memcmp(file.data(), kMagic, kMagicBytes) != 0) {
    return Damaged(name, "is not an NPY file: it is shorter than a header or lacks the magic.");
  }
  const int major = file[kMagicBytes];
  if (major < 1 || major > 3) {
    return Damaged(name, absl::StrCat("has NPY version ", major, "; versions 1 to 3 are read."));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t begin = kMagicBytes + 2 + length_bytes;
  if (file.size() < begin) return Damaged(name, "ends inside its NPY header; it is truncated.");
  uint64_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= uint64_t{file[kMagicBytes + 2 + i]} << (8 * i);
  }
  if (length > file.size() - begin) {
    return Damaged(name, absl::StrCat("declares a header of ", length, " bytes but only ",
                                      file.size() - begin, " follow; it is truncated."));
  }
  const char* text = reinterpret_cast<const char*>(file.data()) + begin;
  return HeaderText{absl::string_view(text, length), begin + length};
}

absl::Status CheckOrder(const Fields& fields, const std::string& name) {
  if (!*fields.fortran_order) return absl::OkStatus();
  return BadFile("'", name,
                 "' is in Fortran order; save np.ascontiguousarray(array) to get C order.");
}

absl::Status ReadDescr(const Fields& fields, const std::string& name, NpyHeader& header) {
  const std::string& descr = *fields.descr;
  const auto unsupported = [&](absl::string_view advice) {
    return BadFile("'", name, "' has element type '", absl::CHexEscape(descr), "'; ", advice, ".");
  };
  if (descr.size() < 3) return unsupported("this type is not read");
  header.kind = descr[1];
  const absl::string_view item = absl::string_view(descr).substr(2);
  const bool one = item == "1", two = item == "2", four = item == "4", eight = item == "8";
  header.item_bytes = static_cast<uint32_t>(item[0] - '0');
  if (descr[0] == '>' && !one) {
    return unsupported("big-endian; save array.astype(array.dtype.newbyteorder('<'))");
  }
  if (descr[0] != '<' && descr[0] != '|' && descr[0] != '=' && descr[0] != '>') {
    return unsupported("this type is not read");
  }
  const bool integer = (header.kind == 'i' || header.kind == 'u') && (one || two || four || eight);
  const bool real = header.kind == 'f' && (four || eight);
  if (integer || real || (header.kind == 'b' && one)) return absl::OkStatus();
  if (header.kind == 'f') return unsupported("save array.astype(np.float32)");
  return unsupported("only numbers and booleans are read");
}

// The elements must fill the rest of the file exactly.
absl::Status ReadShape(const Fields& fields, const std::string& name, uint64_t available,
                       NpyHeader& header) {
  if (fields.shape->size() > static_cast<size_t>(kMaxRank)) {
    return BadFile("'", name, "' has rank ", fields.shape->size(), "; the limit is ", kMaxRank,
                   ".");
  }
  header.shape.assign(fields.shape->begin(), fields.shape->end());
  const absl::StatusOr<uint64_t> count = ElementCount(header.shape);
  const auto bytes = count.ok() ? CheckedMul(*count, header.item_bytes) : std::nullopt;
  if (!bytes) return Damaged(name, "declares more elements than 64 bits can count.");
  header.data_bytes = *bytes;
  if (available == *bytes) return absl::OkStatus();
  return Damaged(name, absl::StrCat("should have ", *bytes, " bytes of elements for shape ",
                                    ShapeText(header.shape), " but has ", available, "; it ",
                                    available < *bytes ? "is truncated." : "has trailing bytes."));
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const uint8_t> file, const std::string& name) {
  OA_ASSIGN_OR_RETURN(const HeaderText text, FindHeader(file, name));
  Fields fields;
  if (!DictReader(text.dict).Read(fields)) {
    return Damaged(name, "has a damaged NPY header: its dictionary cannot be read.");
  }
  if (fields.structured) {
    return BadFile("'", name, "' holds records; save one plain array per file.");
  }
  if (!fields.descr || !fields.fortran_order || !fields.shape) {
    return Damaged(name, "has an NPY header without descr, fortran_order or shape.");
  }
  NpyHeader header;
  header.data_offset = text.data_offset;
  OA_RETURN_IF_ERROR(ReadDescr(fields, name, header));
  OA_RETURN_IF_ERROR(CheckOrder(fields, name));
  OA_RETURN_IF_ERROR(ReadShape(fields, name, file.size() - text.data_offset, header));
  return header;
}

}  // namespace oa::tools
