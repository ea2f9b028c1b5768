// Tensors on the command line: "name=@file.npy[0:32]", "name=4xi32=1,2,3,4", "name=random:7".
#ifndef OA_TOOLS_COMMON_TENSOR_ARG_H_
#define OA_TOOLS_COMMON_TENSOR_ARG_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "schema/blob.h"
#include "schema/dtype.h"
#include "tools/common/npy.h"
#include "tools/common/row_range.h"

namespace oa::tools {

struct TensorArg {
  enum class Kind {
    kFile,    // @path.npy, with an optional row range
    kValues,  // numbers, with an optional type in front
    kRandom,  // random:SEED
  };

  std::string name;
  Kind kind = Kind::kValues;
  PathAndRows file;
  bool has_type = false;  // kValues: `dtype` and `shape` were written
  DType dtype = DType::F32;
  Shape shape;
  std::string values;  // comma-separated
  uint64_t seed = 0;
};

// How to write one, for --help.
extern const char kTensorArgHelp[];

// Syntax only; touches no file.
absl::StatusOr<TensorArg> ParseTensorArg(absl::string_view text);

// The bytes of a value of the given type. A single number is repeated. A shape that differs is an
// error that prints both.
absl::StatusOr<Blob> LoadTensor(const TensorArg& arg, DType dtype, const Shape& shape);

// The array of a kFile argument, cut to its rows.
absl::StatusOr<NpyArray> LoadArray(const TensorArg& arg);

// Uniform in [-1, 1) for float types; zero for integers, which are usually indices. The generator
// is SplitMix64, so the bytes are the same everywhere.
Blob RandomTensor(uint64_t seed, DType dtype, uint64_t count);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_TENSOR_ARG_H_
