// Composition of elementwise programs. Pure.
#ifndef OA_IR_PASSES_COMPOSE_H_
#define OA_IR_PASSES_COMPOSE_H_

#include <vector>

#include "ir/elementwise.h"
#include "ir/elementwise_check.h"

namespace oa::ir {

// Whether `second` can continue where `first` ends: the same elements, and whatever `second` reads
// of the outputs of `first` is exactly the element that `first` has just computed.
bool CanCompose(const EwProgram& first, const EwProgram& second);

// One program that does what `first` and then `second` do. Outputs of `first` are stored only where
// `keep` says so; `second` gets them from registers. Equal inputs and instructions are shared,
// unused ones dropped, copies resolved. The result may exceed every limit: ask EwProblem.
// `limits` says how many inputs of `first` are registers; `second` has only memory inputs.
// Pre-condition: CanCompose.
EwProgram Compose(const EwProgram& first, const EwProgram& second, const std::vector<bool>& keep,
                  const EwLimits& limits);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_COMPOSE_H_
