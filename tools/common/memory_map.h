// Draws where a plan keeps its values and when: stages to the right, bytes of an arena downwards.
#ifndef OA_TOOLS_COMMON_MEMORY_MAP_H_
#define OA_TOOLS_COMMON_MEMORY_MAP_H_

#include <string>

#include "schema/plan.h"

namespace oa::tools {

// "transient", "persistent" or "io".
const char* ArenaName(ArenaKind kind);

// An inline SVG of one arena. A value is a rectangle over the stages in which its content matters;
// hovering shows name, type and place. Arenas with very many values draw the largest ones and say
// so. Pre-condition: `arena` is in range.
std::string MemoryMapSvg(const Plan& plan, uint32_t arena);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_MEMORY_MAP_H_
