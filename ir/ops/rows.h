// Parts of operator rows that many families repeat. Internal to ir/ops.
#ifndef OA_IR_OPS_ROWS_H_
#define OA_IR_OPS_ROWS_H_

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "ir/op.h"

namespace oa::ir {

inline OperandDef Operand(const char* name, DTypeSet dtypes = kF32Only) {
  return {.name = name, .dtypes = dtypes};
}
inline OperandDef OptionalOperand(const char* name) { return {.name = name, .optional = true}; }
// An operand without a gradient: indices, constants, states.
inline OperandDef DetachedOperand(const char* name, DTypeSet dtypes = kF32Only) {
  return {.name = name, .dtypes = dtypes, .differentiable = false};
}
inline OperandDef MutatedOperand(const char* name, DTypeSet dtypes = kF32Only) {
  return {.name = name, .dtypes = dtypes, .differentiable = false, .mutated = true};
}

inline ResultDef DetachedResult(const char* name) {
  return {.name = name, .differentiable = false};
}
// Results of which a call may want only some: the gradients of a backward row.
inline std::vector<ResultDef> OptionalResults(std::initializer_list<const char*> names) {
  std::vector<ResultDef> results;
  for (const char* name : names) results.push_back({.name = name, .optional = true});
  return results;
}

inline AttributeDef IntegerAttribute(const char* name) { return {name, AttributeKind::kI64}; }
inline AttributeDef RealAttribute(const char* name) { return {name, AttributeKind::kF32}; }

// OpDef::rejects of rows whose attribute `axis` is all there is to check.
inline constexpr char kAxisRejects[] = "an axis that x does not have";

struct RowText {
  std::string name;
  const char* family;
  std::string equation;
  std::string shapes;
};

inline OpDef MakeRow(RowText text, std::vector<OperandDef> operands,
                     std::vector<ResultDef> results) {
  OpDef row;
  row.name = std::move(text.name);
  row.family = text.family;
  row.equation = std::move(text.equation);
  row.shapes = std::move(text.shapes);
  row.operands = std::move(operands);
  row.results = std::move(results);
  return row;
}

struct BackwardText {
  std::string equation;
  std::string shapes;
};

// The row `<forward>_backward`, with family, attributes and emptiness of `forward`; its infer and
// lower functions are still those of `forward`, kernels and words about errors are empty.
inline OpDef BackwardRow(const OpDef& forward, BackwardText text, std::vector<OperandDef> operands,
                         std::vector<ResultDef> results) {
  OpDef row = forward;
  row.name += "_backward";
  row.equation = std::move(text.equation);
  row.shapes = std::move(text.shapes);
  row.operands = std::move(operands);
  row.results = std::move(results);
  row.rejects.clear();
  row.notes.clear();
  row.kernels.clear();
  row.adjoint = nullptr;
  return row;
}

}  // namespace oa::ir

#endif  // OA_IR_OPS_ROWS_H_
