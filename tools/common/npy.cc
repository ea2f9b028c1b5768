#include "tools/common/npy.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "schema/checked_math.h"
#include "schema/file_io.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {
namespace {

const char* Descr(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return "<f4";
    case DType::I32:
      return "<i4";
    case DType::U32:
      return "<u4";
    case DType::U8:
      return "|u1";
    case DType::BF16:
      return "<u2";
  }
  return "?";
}

}  // namespace

absl::StatusOr<NpyArray> ParseNpy(Blob file, const std::string& name) {
  NpyArray array;
  array.name = name;
  OA_ASSIGN_OR_RETURN(array.header, ParseNpyHeader(file.bytes(), name));
  const absl::Span<const uint8_t> elements =
      file.bytes().subspan(array.header.data_offset, array.header.data_bytes);
  array.data = Blob::Share(std::make_shared<Blob>(std::move(file)), elements);
  return array;
}

absl::StatusOr<NpyArray> ReadNpy(const std::string& path) {
  absl::StatusOr<Blob> file = ReadFile(path);
  if (!file.ok()) return WithExit(file.status(), kExitFile);
  return ParseNpy(*std::move(file), path);
}

absl::StatusOr<NpyArray> TakeRows(const NpyArray& array, const RowRange& rows) {
  if (array.header.shape.empty()) {
    return UsageError("'", array.name, "' holds a single number, so it has no rows to choose.");
  }
  const uint64_t count = array.header.shape[0];
  OA_ASSIGN_OR_RETURN(const ResolvedRows taken, ResolveRows(rows, count, array.name));
  const uint64_t row_bytes = array.header.data_bytes / count;
  NpyArray result = array;
  result.header.shape[0] = taken.end - taken.begin;
  result.header.data_offset += taken.begin * row_bytes;
  result.header.data_bytes = result.header.shape[0] * row_bytes;
  const absl::Span<const uint8_t> view =
      array.data.bytes().subspan(taken.begin * row_bytes, result.header.data_bytes);
  result.data = Blob::Share(std::make_shared<Blob>(array.data), view);
  return result;
}

std::string NpyTypeName(const NpyHeader& header) {
  switch (header.kind) {
    case 'f':
      return absl::StrCat("float", header.item_bytes * 8);
    case 'i':
      return absl::StrCat("int", header.item_bytes * 8);
    case 'u':
      return absl::StrCat("uint", header.item_bytes * 8);
    default:
      return "bool";
  }
}

std::string MakeNpyHeader(DType dtype, absl::Span<const uint64_t> shape) {
  constexpr size_t kAlignment = 64;
  constexpr size_t kPrefix = 10;  // magic, version and length of a version 1 file
  std::string extents;
  for (uint64_t extent : shape) absl::StrAppend(&extents, extent, ", ");
  // (3,) and (2, 3): only a tuple of one keeps its comma.
  if (!extents.empty()) extents.resize(extents.size() - (shape.size() == 1 ? 1 : 2));
  std::string dict = absl::StrCat("{'descr': '", Descr(dtype),
                                  "', 'fortran_order': False, 'shape': (", extents, "), }");
  const size_t total = AlignUp(kPrefix + dict.size() + 1, kAlignment);
  dict.append(total - kPrefix - dict.size() - 1, ' ');
  dict.push_back('\n');
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(dict.size() & 0xFF));
  header.push_back(static_cast<char>(dict.size() >> 8));
  return header + dict;
}

absl::Status WriteNpy(const std::string& path, DType dtype, absl::Span<const uint64_t> shape,
                      absl::Span<const uint8_t> bytes) {
  const std::string header = MakeNpyHeader(dtype, shape);
  const absl::Span<const uint8_t> parts[] = {
      {reinterpret_cast<const uint8_t*>(header.data()), header.size()}, bytes};
  return WithExit(WriteFileAtomically(path, parts), kExitFile);
}

}  // namespace oa::tools
