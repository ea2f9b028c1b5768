// DeviceProfile: the limits and features of a device, the only thing besides the graph that a plan
// depends on. The compiler reads it; the executor fills it from hardware.
#ifndef OA_SCHEMA_DEVICE_PROFILE_H_
#define OA_SCHEMA_DEVICE_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace oa {

// The default values are what every Vulkan 1.3 device that OA accepts guarantees.
struct DeviceProfile {
  std::string name = "portable";
  bool is_cpu = false;             // a software rasteriser: barriers and gathers are expensive
  uint32_t subgroup_size = 0;      // 0: unknown, kernels may not rely on it
  uint32_t shared_memory_bytes = 16384;
  uint32_t max_workgroup_invocations = 256;
  uint32_t max_workgroups_per_axis = 65535;
  uint64_t max_allocation_bytes = uint64_t{1} << 30;
  uint64_t heap_bytes = 0;         // largest device-local heap; 0: unknown
  uint32_t compute_units = 0;      // cores for a CPU, multiprocessors for a GPU; 0: unknown
  // Optional features by the name that kernel manifests use: "shader_float16", "int8_storage",
  // "subgroup_arithmetic", "cooperative_matrix_nv", ... Sorted.
  std::vector<std::string> features;

  bool Has(absl::string_view feature) const;
};

// JSON text of a profile, one field a line; the inverse rejects unknown and mistyped fields with
// InvalidArgument that names the field.
std::string ProfileToJson(const DeviceProfile& profile);
absl::StatusOr<DeviceProfile> ProfileFromJson(absl::string_view json);

}  // namespace oa

#endif  // OA_SCHEMA_DEVICE_PROFILE_H_
