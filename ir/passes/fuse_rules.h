// The rules of the fuse pass. Each is a function over FusionState, documented in its own file, and
// leaves a correct program behind; Fuse applies them in this order:
//
//   1. epilogue      an elementwise dispatch joins the product, convolution, normalisation or
//                    softmax whose result it reads. First: the epilogue machine is small, a chain
//                    fused before would often not fit; and a residual between a product and a norm,
//                    which could also be a prologue, saves more as an epilogue.
//   2. prologue      an elementwise dispatch joins the normalisation or softmax that reads it.
//   3. chain         an elementwise dispatch joins the elementwise dispatch that reads its result.
//   4. sibling       elementwise dispatches of one stage that read the same input become one.
//   5. multi-tensor  calls of one kernel on different tensors become one call with many records.
#ifndef OA_IR_PASSES_FUSE_RULES_H_
#define OA_IR_PASSES_FUSE_RULES_H_

#include "ir/passes/fusion_state.h"
#include "schema/device_profile.h"

namespace oa::ir {

void FuseEpilogues(FusionState& state);                              // fuse_elementwise.cc
void FusePrologues(FusionState& state);                              // fuse_prologue.cc
void FuseChains(FusionState& state);                                 // fuse_elementwise.cc
void FuseSiblings(FusionState& state);                               // fuse_siblings.cc
void FuseRecords(FusionState& state, const DeviceProfile& profile);  // fuse_records.cc

}  // namespace oa::ir

#endif  // OA_IR_PASSES_FUSE_RULES_H_
