// Sizes for people to read. Stateless.
#ifndef OA_EXECUTOR_MEMORY_REPORT_H_
#define OA_EXECUTOR_MEMORY_REPORT_H_

#include <cstdint>
#include <string>

#include "schema/plan.h"

namespace oa::exec {

// "640 B", "1.5 MiB", "12.0 GiB".
std::string HumanBytes(uint64_t bytes);

// "transient", "persistent", "io".
const char* ArenaKindName(ArenaKind kind);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_MEMORY_REPORT_H_
