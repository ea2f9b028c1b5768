// Operator rows in words, for `oa-run ops` and the reference page. Stateless.
#ifndef OA_TOOLS_COMMON_OP_TEXT_H_
#define OA_TOOLS_COMMON_OP_TEXT_H_

#include <string>
#include <vector>

#include "ir/op.h"
#include "schema/kernel_pack.h"

namespace oa::tools {

// "f32", "u8|u32|i32", "any".
std::string DTypesText(ir::DTypeSet set);

// "i64", "token: nearest, bilinear".
std::string AttributeText(const ir::AttributeDef& attribute);

// Whether the operator gives operand `i` a gradient.
bool HasGradient(const ir::OpDef& op, const ir::OperandDef& operand);

// What is special about an operand: {"f32", "optional", "has a gradient"}.
std::vector<std::string> OperandMarks(const ir::OpDef& op, const ir::OperandDef& operand);

// "linear(x*, weight*, bias*?) -> y": * has a gradient, ? optional, ! updated in place, .. one or
// more; attributes behind a semicolon.
std::string CallText(const ir::OpDef& op);

// What every operator refuses, as sentences: how much of it applies to `op` follows from its row.
inline constexpr char kCommonRejects[] =
    "a missing operand or attribute; an operand of another graph or of a type that is not listed; "
    "an operand without elements, unless the operator allows it; an extent, an element count or "
    "an integer that becomes a kernel argument above 4294967295; a rank above 8";

// One kernel that an operator may use, with all its variants.
struct KernelChoice {
  std::string base;
  std::vector<const Kernel*> variants;  // in the order of the pack
  const Kernel* chosen = nullptr;       // by the profile; null when it can run none
};

// The kernels of `op` in `pack`; elementwise programs stand for all kernels that run them.
std::vector<KernelChoice> KernelChoices(const ir::OpDef& op, const KernelPack& pack,
                                        const DeviceProfile& profile);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_OP_TEXT_H_
