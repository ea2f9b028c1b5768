// NPY files (NumPy's array format, versions 1 to 3): little-endian, C order, rank up to 8.
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
// BF16, which NumPy lacks, is read from and written as '<u2' (the raw 16 bits).
#ifndef OA_TOOLS_COMMON_NPY_H_
#define OA_TOOLS_COMMON_NPY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "schema/blob.h"
#include "schema/dtype.h"
#include "tools/common/row_range.h"
#include "tools/common/tensor.h"

namespace oa::tools {

// What the header says.
struct NpyHeader {
  char kind = 'f';  // 'f', 'i', 'u' or 'b'
  uint32_t item_bytes = 4;
  Shape shape;
  uint64_t data_offset = 0;  // of the first element in the file
  uint64_t data_bytes = 0;   // exactly what follows
};

// An array as it is stored; `data` usually views a mapped file.
struct NpyArray {
  std::string name;  // for messages: usually the path
  NpyHeader header;
  Blob data;
};

// DataLoss when the file is damaged or has not exactly the declared size; InvalidArgument with
// what to do in Python for types and orders that are not read. `name` appears in the messages.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const uint8_t> file, const std::string& name);
absl::StatusOr<NpyArray> ParseNpy(Blob file, const std::string& name);
absl::StatusOr<NpyArray> ReadNpy(const std::string& path);

// Rows of the first axis, without copying.
absl::StatusOr<NpyArray> TakeRows(const NpyArray& array, const RowRange& rows);

// The elements as `wanted`: shared when the types agree, else a checked copy. Integers must fit,
// and reach F32 only when it represents them exactly; f8 is rounded to F32; floats become integers
// never. The error names the index and the value.
absl::StatusOr<Blob> ConvertElements(const NpyArray& array, DType wanted);

// "float64", "uint8", ...
std::string NpyTypeName(const NpyHeader& header);

// The bytes before the elements, padded to a multiple of 64.
std::string MakeNpyHeader(DType dtype, absl::Span<const uint64_t> shape);

// Atomic. Pre-condition: `bytes` has the size of the value.
absl::Status WriteNpy(const std::string& path, DType dtype, absl::Span<const uint64_t> shape,
                      absl::Span<const uint8_t> bytes);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_NPY_H_
