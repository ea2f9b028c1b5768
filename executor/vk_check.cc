#include "executor/vk_check.h"

#include "absl/strings/str_cat.h"

namespace oa::exec {
namespace {

struct ResultRow {
  VkResult result;
  const char* name;
  absl::StatusCode code;
  const char* advice;
};

constexpr char kMemoryAdvice[] =
    "free device memory held by other programs, or use a smaller batch";
constexpr char kDriverAdvice[] = "update the driver, or choose another device";

#define OA_ROW(result, code, advice) \
  { result, #result, absl::StatusCode::code, advice }
constexpr ResultRow kRows[] = {
    OA_ROW(VK_NOT_READY, kInternal, ""),
    OA_ROW(VK_TIMEOUT, kInternal, ""),
    OA_ROW(VK_INCOMPLETE, kInternal, ""),
    OA_ROW(VK_ERROR_OUT_OF_HOST_MEMORY, kResourceExhausted, kMemoryAdvice),
    OA_ROW(VK_ERROR_OUT_OF_DEVICE_MEMORY, kResourceExhausted, kMemoryAdvice),
    OA_ROW(VK_ERROR_MEMORY_MAP_FAILED, kResourceExhausted, kMemoryAdvice),
    OA_ROW(VK_ERROR_FRAGMENTATION, kResourceExhausted, kMemoryAdvice),
    OA_ROW(VK_ERROR_FRAGMENTED_POOL, kResourceExhausted, kMemoryAdvice),
    OA_ROW(VK_ERROR_TOO_MANY_OBJECTS, kResourceExhausted, "close other sessions of this program"),
    OA_ROW(VK_ERROR_DEVICE_LOST, kUnavailable, "see the kernel log for the driver's report"),
    OA_ROW(VK_ERROR_INITIALIZATION_FAILED, kFailedPrecondition, kDriverAdvice),
    OA_ROW(VK_ERROR_INCOMPATIBLE_DRIVER, kFailedPrecondition, kDriverAdvice),
    OA_ROW(VK_ERROR_LAYER_NOT_PRESENT, kFailedPrecondition, "install the validation layers"),
    OA_ROW(VK_ERROR_EXTENSION_NOT_PRESENT, kFailedPrecondition, kDriverAdvice),
    OA_ROW(VK_ERROR_FEATURE_NOT_PRESENT, kFailedPrecondition, kDriverAdvice),
    OA_ROW(VK_ERROR_INVALID_SHADER_NV, kFailedPrecondition, kDriverAdvice),
    OA_ROW(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, kInternal, ""),
    OA_ROW(VK_ERROR_UNKNOWN, kInternal, "run with validation to see what the driver objects to"),
};
#undef OA_ROW

const ResultRow* FindRow(VkResult result) {
  for (const ResultRow& row : kRows) {
    if (row.result == result) return &row;
  }
  return nullptr;
}

}  // namespace

std::string VkResultName(VkResult result) {
  if (result == VK_SUCCESS) return "VK_SUCCESS";
  const ResultRow* row = FindRow(result);
  return row != nullptr ? row->name : absl::StrCat("VkResult ", static_cast<int>(result));
}

absl::Status VkStatus(VkResult result, const char* call, absl::string_view what) {
  if (result == VK_SUCCESS) return absl::OkStatus();
  const ResultRow* row = FindRow(result);
  std::string message = absl::StrCat(call, " failed for ", what, ": ", VkResultName(result));
  if (row != nullptr && *row->advice != '\0') absl::StrAppend(&message, "; ", row->advice);
  return absl::Status(row != nullptr ? row->code : absl::StatusCode::kInternal, message);
}

}  // namespace oa::exec
