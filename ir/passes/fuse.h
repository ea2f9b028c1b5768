// Fuse: fewer dispatches and less memory traffic, same observable values.
#ifndef OA_IR_PASSES_FUSE_H_
#define OA_IR_PASSES_FUSE_H_

#include <vector>

#include "ir/compile.h"
#include "ir/program.h"

namespace oa::ir {

// Applies, in this order, until nothing changes:
//   chain         an elementwise dispatch into the elementwise dispatch that reads its result
//   epilogue      an elementwise dispatch into the product whose result it reads
//   sibling       elementwise dispatches of equal size that read a common input
//   multi-tensor  dispatches of one record kernel (optimiser updates) into one
// An intermediate that nothing else reads is no longer stored; one that is still needed becomes a
// further output. Outputs, parameters and states are written exactly as before.
std::vector<FusionNote> Fuse(Program& program);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_FUSE_H_
