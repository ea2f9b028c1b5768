// Rows of cross_entropy and cross_entropy_masked, a part of the loss family. Internal to ir/ops.
#ifndef OA_IR_OPS_CROSS_ENTROPY_H_
#define OA_IR_OPS_CROSS_ENTROPY_H_

#include <vector>

#include "ir/op.h"

namespace oa::ir {

std::vector<OpDef> CrossEntropyOps();

}  // namespace oa::ir

#endif  // OA_IR_OPS_CROSS_ENTROPY_H_
