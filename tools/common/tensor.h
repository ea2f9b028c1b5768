// Tensor: a named dense value on the host. Copying shares the bytes.
#ifndef OA_TOOLS_COMMON_TENSOR_H_
#define OA_TOOLS_COMMON_TENSOR_H_

#include <string>

#include "schema/blob.h"
#include "schema/dtype.h"

namespace oa::tools {

struct Tensor {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  Blob data;  // exactly ByteSize(dtype, shape) bytes
};

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_TENSOR_H_
