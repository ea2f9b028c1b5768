#include "schema/plan.h"

#include "schema/file_io.h"
#include "schema/status_macros.h"

namespace oa {

const char* BufferKindName(BufferKind kind) {
  switch (kind) {
    case BufferKind::kTransient:
      return "transient";
    case BufferKind::kInput:
      return "input";
    case BufferKind::kOutput:
      return "output";
    case BufferKind::kParameter:
      return "parameter";
    case BufferKind::kState:
      return "state";
    case BufferKind::kConstant:
      return "constant";
  }
  return "?";
}

int Plan::FindPersistent(absl::string_view wanted) const {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (IsPersistent(buffers[i].kind) && buffers[i].name == wanted) return static_cast<int>(i);
  }
  return -1;
}

absl::StatusOr<Plan> LoadPlan(const std::string& path) {
  OA_ASSIGN_OR_RETURN(Blob file, ReadFile(path));
  return ParsePlan(std::move(file), path);
}

}  // namespace oa
