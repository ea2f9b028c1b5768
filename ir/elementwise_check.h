// What must hold of an elementwise program before a kernel may run it. The verifier refuses
// programs with a problem; fusion asks before it keeps a combination. Pure.
#ifndef OA_IR_ELEMENTWISE_CHECK_H_
#define OA_IR_ELEMENTWISE_CHECK_H_

#include <cstddef>
#include <string>

#include "ir/elementwise.h"
#include "ir/program.h"

namespace oa::ir {

// Size of the machine that runs a program.
struct EwLimits {
  size_t inputs;
  size_t outputs;
  size_t slots;
  size_t first_memory_input;  // inputs in front of it are registers: the accumulator of a product
  size_t first_memory_output = 0;  // outputs in front of it are registers: what a prologue makes
};
inline constexpr EwLimits kElementwiseLimits = {OA_EW_MAX_INPUTS, OA_EW_MAX_OUTPUTS,
                                                OA_EW_MAX_SLOTS, 0};
inline constexpr EwLimits kPrologueLimits = {OA_PROLOGUE_MAX_INPUTS, OA_PROLOGUE_MAX_OUTPUTS,
                                             OA_PROLOGUE_MAX_SLOTS, 0, 1};
inline constexpr EwLimits kEpilogueLimits = {OA_EPILOGUE_MAX_INPUTS, OA_EPILOGUE_MAX_OUTPUTS,
                                             OA_EPILOGUE_MAX_SLOTS, 1};

// Bytes of one element of a type OA_EW_TYPE_*.
uint64_t EwTypeBytes(uint8_t type);

// What is wrong with the program, or "": limits, registers, sizes of slices, and races. An output
// may cover memory that an input reads only if each element is read and written by one invocation:
// a linear input over the same bytes with elements as wide as the output's.
std::string EwProblem(const EwProgram& program, const EwLimits& limits);

// The same for the programs of a dispatch; "" when it has none. What a prologue or epilogue writes,
// nothing else in the dispatch may touch: other workgroups, or a second look of the kernel at its
// operand, could still need what was there.
std::string EwProblem(const Dispatch& dispatch);

}  // namespace oa::ir

#endif  // OA_IR_ELEMENTWISE_CHECK_H_
