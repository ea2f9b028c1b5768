// Runs compiler programs on the host, symbolic or encoded, placed or not, so that tests can ask
// whether a pass changed what a program computes.
#ifndef OA_TESTS_IR_INTERPRETER_H_
#define OA_TESTS_IR_INTERPRETER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace oa::ir {

// The contents of outputs and persistent buffers by name.
using Observed = std::map<std::string, std::vector<float>>;

// Executes the dispatches in `order` (all of them in list order when empty). Inputs and persistent
// buffers start with numbers derived from their names, everything else with NaN.
Observed Interpret(const Program& program, const std::vector<size_t>& order = {});

}  // namespace oa::ir

#endif  // OA_TESTS_IR_INTERPRETER_H_
