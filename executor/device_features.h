// The optional and required features of a device: one table drives what is queried, what a device
// must have, what is enabled, and what DeviceProfile::features says. Stateless.
#ifndef OA_EXECUTOR_DEVICE_FEATURES_H_
#define OA_EXECUTOR_DEVICE_FEATURES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "volk.h"

namespace oa::exec {

using ExtensionSet = absl::flat_hash_set<std::string>;

// Vulkan's feature structures in one place. Not copyable: Link makes them point at each other.
struct FeatureChain {
  FeatureChain() = default;
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  VkPhysicalDeviceFeatures2 core = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features v11 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features v12 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan13Features v13 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  VkPhysicalDeviceCooperativeMatrixFeaturesNV cooperative_matrix_nv = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV};
  VkPhysicalDeviceFaultFeaturesEXT fault = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FAULT_FEATURES_EXT};
#ifdef VK_KHR_cooperative_matrix
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR cooperative_matrix_khr = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
#endif

  // Chains the core structures and those whose extension is in `extensions`.
  void Link(const ExtensionSet& extensions);
};

// Fills `chain` with what `device` (Vulkan 1.3 or later) supports.
void QueryFeatures(VkPhysicalDevice device, const ExtensionSet& extensions, FeatureChain& chain);

// Vulkan's names of the required features that are missing.
std::vector<std::string> MissingFeatures(FeatureChain& supported);

// Profile names of the optional features that are there, in table order.
std::vector<std::string> FeatureNames(FeatureChain& supported);

// Profile names of subgroup operations.
std::vector<std::string> SubgroupFeatureNames(VkSubgroupFeatureFlags operations);

// Sets in `enabled` every feature of the table that is in `supported`.
void EnableFeatures(FeatureChain& supported, FeatureChain& enabled);

// The extensions to enable on a device that has `available`.
std::vector<const char*> WantedExtensions(const ExtensionSet& available);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_DEVICE_FEATURES_H_
