// From VkResult to absl::Status, in one place. Stateless.
#ifndef OA_EXECUTOR_VK_CHECK_H_
#define OA_EXECUTOR_VK_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "volk.h"

namespace oa::exec {

// "VK_ERROR_DEVICE_LOST"; the number for a result this build does not know.
std::string VkResultName(VkResult result);

// OK for VK_SUCCESS; otherwise an error that names `call`, what it was for and what to do next.
// ResourceExhausted for memory, Unavailable for a lost device, FailedPrecondition for what the
// driver lacks, Internal for the rest.
absl::Status VkStatus(VkResult result, const char* call, absl::string_view what);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_VK_CHECK_H_
