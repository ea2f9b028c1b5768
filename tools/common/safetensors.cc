#include "tools/common/safetensors.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "schema/checked_math.h"
#include "schema/file_io.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/text.h"

namespace oa::tools {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr char kMetadata[] = "__metadata__";

absl::Status Damaged(const std::string& file, absl::string_view reason) {
  return absl::DataLossError(absl::StrCat("'", file, "': ", reason));
}

// A tensor and the place it claims in the data area.
struct Entry {
  Tensor tensor;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// nullopt unless `json` is a list of unsigned integers.
std::optional<std::vector<uint64_t>> Unsigneds(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<uint64_t> numbers;
  for (const Json& item : json) {
    if (!item.is_number_unsigned()) return std::nullopt;
    numbers.push_back(item.get<uint64_t>());
  }
  return numbers;
}

absl::StatusOr<Entry> ReadEntry(const std::string& file, const std::string& name,
                                const Json& json) {
  const auto fail = [&](absl::string_view reason) {
    return Damaged(file, absl::StrCat("tensor '", Printable(name), "' ", reason));
  };
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets") || !json["dtype"].is_string()) {
    return fail("lacks dtype, shape or data_offsets.");
  }
  Entry entry;
  entry.tensor.name = name;
  const std::string dtype_name = absl::AsciiStrToLower(json["dtype"].get_ref<const std::string&>());
  const std::optional<DType> dtype = ParseDType(dtype_name);
  if (!dtype) {
    return BadFile("'", file, "': tensor '", Printable(name), "' has dtype ",
                   Printable(absl::AsciiStrToUpper(dtype_name)),
                   "; F32, I32, U32, U8 and BF16 are read, so convert it first.");
  }
  entry.tensor.dtype = *dtype;
  const auto shape = Unsigneds(json["shape"]);
  const auto offsets = Unsigneds(json["data_offsets"]);
  if (!shape || !offsets || offsets->size() != 2) return fail("has a malformed shape or offsets.");
  if (shape->size() > static_cast<size_t>(kMaxRank)) {
    return fail(absl::StrCat("has rank ", shape->size(), "; the limit is ", kMaxRank, "."));
  }
  entry.tensor.shape.assign(shape->begin(), shape->end());
  entry.begin = (*offsets)[0];
  entry.end = (*offsets)[1];
  const absl::StatusOr<uint64_t> bytes = ByteSize(*dtype, entry.tensor.shape);
  if (!bytes.ok() || entry.end < entry.begin || entry.end - entry.begin != *bytes) {
    return fail(absl::StrCat("does not have the size of ", TypeText(*dtype, entry.tensor.shape),
                             " between offsets ", entry.begin, " and ", entry.end, "."));
  }
  return entry;
}

// Sorted by place, every entry must begin where the one before ended.
absl::Status CheckCoverage(const std::string& file, std::vector<Entry>& entries,
                           uint64_t data_bytes) {
  absl::c_sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });
  uint64_t position = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != position) {
      return Damaged(file, absl::StrCat("tensor '", Printable(entry.tensor.name), "' begins at ",
                                        entry.begin, " where ", position, " is expected; tensors ",
                                        entry.begin < position ? "overlap." : "leave a gap."));
    }
    position = entry.end;
  }
  if (position == data_bytes) return absl::OkStatus();
  return Damaged(file, absl::StrCat("the tensors take ", position, " bytes but ", data_bytes,
                                    " follow the header; the file is truncated or damaged."));
}

absl::StatusOr<Json> ParseHeader(const std::string& file, absl::string_view text) {
  // nlohmann keeps the last of equal keys in silence.
  std::set<std::string> seen;
  bool duplicate = false;
  const auto callback = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth == 1 && event == Json::parse_event_t::key) {
      duplicate |= !seen.insert(value.get<std::string>()).second;
    }
    return true;
  };
  if (text.empty() || text[0] != '{') return Damaged(file, "the header is not a JSON object.");
  Json json = Json::parse(text.begin(), text.end(), callback, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return Damaged(file, "the header is not valid JSON.");
  }
  if (duplicate) return Damaged(file, "the header names a tensor twice.");
  return json;
}

absl::Status ReadMetadata(const std::string& file, const Json& json, Safetensors& out) {
  if (!json.is_object()) return Damaged(file, "__metadata__ is not an object of strings.");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return Damaged(file, "__metadata__ is not an object of strings.");
    out.metadata[key] = value.get<std::string>();
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> HeaderLength(const std::string& file, absl::Span<const uint8_t> bytes) {
  if (bytes.size() < kLengthBytes) {
    return Damaged(file, absl::StrCat("has ", bytes.size(),
                                      " bytes; it is not a safetensors file "
                                      "or it is truncated."));
  }
  uint64_t length = 0;
  for (uint64_t i = 0; i < kLengthBytes; ++i) length |= uint64_t{bytes[i]} << (8 * i);
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes) {
    return Damaged(file, absl::StrCat("declares a header of ", length, " bytes but ",
                                      bytes.size() - kLengthBytes, " follow (the limit is ",
                                      kMaxHeaderBytes, "); it is truncated or damaged."));
  }
  return length;
}

}  // namespace

const Tensor* Safetensors::Find(absl::string_view name) const {
  const auto it = absl::c_find_if(tensors, [&](const Tensor& t) { return t.name == name; });
  return it == tensors.end() ? nullptr : &*it;
}

absl::StatusOr<Safetensors> ParseSafetensors(Blob file, const std::string& name) {
  const absl::Span<const uint8_t> bytes = file.bytes();
  OA_ASSIGN_OR_RETURN(const uint64_t length, HeaderLength(name, bytes));
  const absl::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  OA_ASSIGN_OR_RETURN(const Json json, ParseHeader(name, text));
  Safetensors result;
  std::vector<Entry> entries;
  for (const auto& [key, value] : json.items()) {
    if (key == kMetadata) {
      OA_RETURN_IF_ERROR(ReadMetadata(name, value, result));
      continue;
    }
    OA_ASSIGN_OR_RETURN(Entry entry, ReadEntry(name, key, value));
    entries.push_back(std::move(entry));
  }
  const absl::Span<const uint8_t> data = bytes.subspan(kLengthBytes + length);
  OA_RETURN_IF_ERROR(CheckCoverage(name, entries, data.size()));
  const auto owner = std::make_shared<Blob>(std::move(file));
  for (Entry& entry : entries) {
    entry.tensor.data = Blob::Share(owner, data.subspan(entry.begin, entry.end - entry.begin));
    result.tensors.push_back(std::move(entry.tensor));
  }
  absl::c_sort(result.tensors, [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  return result;
}

absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path) {
  absl::StatusOr<Blob> file = ReadFile(path);
  if (!file.ok()) return WithExit(file.status(), kExitFile);
  return ParseSafetensors(*std::move(file), path);
}

std::vector<uint8_t> SafetensorsHeader(absl::Span<const Tensor* const> ordered,
                                       const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json[kMetadata] = metadata;
  uint64_t position = 0;
  for (const Tensor* tensor : ordered) {
    const uint64_t end = position + tensor->data.size();
    json[tensor->name] = {
        {"dtype", absl::AsciiStrToUpper(DTypeName(tensor->dtype))},
        {"shape", std::vector<uint64_t>(tensor->shape.begin(), tensor->shape.end())},
        {"data_offsets", {position, end}}};
    position = end;
  }
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize(AlignUp(text.size(), kLengthBytes), ' ');
  std::vector<uint8_t> header;
  for (uint64_t i = 0; i < kLengthBytes; ++i) {
    header.push_back(static_cast<uint8_t>(uint64_t{text.size()} >> (8 * i)));
  }
  header.insert(header.end(), text.begin(), text.end());
  return header;
}

absl::Status WriteSafetensors(const std::string& path, const Safetensors& content) {
  std::vector<const Tensor*> ordered;
  for (const Tensor& tensor : content.tensors) ordered.push_back(&tensor);
  absl::c_sort(ordered, [](const Tensor* a, const Tensor* b) {
    const uint64_t width_a = SizeOf(a->dtype);
    const uint64_t width_b = SizeOf(b->dtype);
    return width_a != width_b ? width_a > width_b : a->name < b->name;
  });
  const std::vector<uint8_t> header = SafetensorsHeader(ordered, content.metadata);
  std::vector<absl::Span<const uint8_t>> parts = {header};
  for (const Tensor* tensor : ordered) parts.push_back(tensor->data.bytes());
  return WithExit(WriteFileAtomically(path, parts), kExitFile);
}

}  // namespace oa::tools
