// The parts of the reduce family that have files of their own. Internal to ir/ops.
#ifndef OA_IR_OPS_REDUCE_ROWS_H_
#define OA_IR_OPS_REDUCE_ROWS_H_

#include <vector>

#include "ir/op.h"

namespace oa::ir {

std::vector<OpDef> SoftmaxOps();  // softmax.cc
std::vector<OpDef> ArgmaxOps();   // argmax.cc: argmax, categorical_accuracy_count

}  // namespace oa::ir

#endif  // OA_IR_OPS_REDUCE_ROWS_H_
