#include <cstring>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "executor/device_describe.h"
#include "executor/instance_impl.h"
#include "executor/vk_check.h"
#include "schema/status_macros.h"

namespace oa::exec {
namespace {

constexpr char kValidationLayer[] = "VK_LAYER_KHRONOS_validation";

// volk keeps the loader's entry points in globals. They are the same for every instance, but
// filling them must not race.
std::mutex& LoaderMutex() {
  static std::mutex mutex;
  return mutex;
}

VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                         VkDebugUtilsMessageTypeFlagsEXT,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data,
                                         void* user) {
  const auto* options = static_cast<const InstanceOptions*>(user);
  if (options->on_message) options->on_message(data->pMessage);
  return VK_FALSE;
}

bool HasLayer(const char* name) {
  uint32_t count = 0;
  if (vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (vkEnumerateInstanceLayerProperties(&count, layers.data()) < 0) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (std::strcmp(layers[i].layerName, name) == 0) return true;
  }
  return false;
}

bool HasInstanceExtension(const char* name) {
  uint32_t count = 0;
  if (vkEnumerateInstanceExtensionProperties(nullptr, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> extensions(count);
  if (vkEnumerateInstanceExtensionProperties(nullptr, &count, extensions.data()) < 0) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (std::strcmp(extensions[i].extensionName, name) == 0) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Instance>> Instance::Create(const InstanceOptions& options) {
  auto instance = std::make_unique<InstanceImpl>(options);
  OA_RETURN_IF_ERROR(instance->Initialize());
  return instance;
}

absl::Status InstanceImpl::Initialize() {
  std::lock_guard<std::mutex> lock(LoaderMutex());
  if (volkInitialize() != VK_SUCCESS) {
    return absl::FailedPreconditionError(
        "no Vulkan loader was found; install it (Debian: libvulkan1, and a driver such as "
        "mesa-vulkan-drivers)");
  }
  const uint32_t version = volkGetInstanceVersion();
  if (version < VK_API_VERSION_1_3) {
    return absl::FailedPreconditionError(
        absl::StrCat("the Vulkan loader is version ", VK_API_VERSION_MAJOR(version), ".",
                     VK_API_VERSION_MINOR(version), " and OA needs 1.3; install a newer loader"));
  }
  if (options_.validation && !HasLayer(kValidationLayer)) {
    return absl::FailedPreconditionError(
        absl::StrCat(kValidationLayer,
                     " is not installed (Debian: vulkan-validationlayers); install it, or run "
                     "without validation"));
  }
  VkDebugUtilsMessengerCreateInfoEXT messenger = {
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  // Without GENERAL: those are the loader's remarks about drivers that have no hardware here.
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                          VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  messenger.pfnUserCallback = OnMessage;
  messenger.pUserData = &options_;
  OA_RETURN_IF_ERROR(CreateInstance(messenger));
  volkLoadInstanceOnly(instance_);
  return options_.validation ? CreateMessenger(messenger) : absl::OkStatus();
}

absl::Status InstanceImpl::CreateInstance(const VkDebugUtilsMessengerCreateInfoEXT& messenger) {
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "oa";
  application.pEngineName = "oa";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;

  std::vector<const char*> extensions;
  // Drivers over another API (MoltenVK) are listed only on request.
  if (HasInstanceExtension(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  const VkValidationFeatureEnableEXT synchronization =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features = {VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  features.pNext = &messenger;
  const char* layer = kValidationLayer;
  if (options_.validation) {
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    info.pNext = &messenger;
    if (options_.synchronization_validation) {
      features.enabledValidationFeatureCount = 1;
      features.pEnabledValidationFeatures = &synchronization;
      info.pNext = &features;
    }
  }
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  return VkStatus(vkCreateInstance(&info, nullptr, &instance_), "vkCreateInstance",
                  "the Vulkan loader");
}

absl::Status InstanceImpl::CreateMessenger(const VkDebugUtilsMessengerCreateInfoEXT& messenger) {
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
  if (create == nullptr) {
    return absl::FailedPreconditionError("the loader lacks VK_EXT_debug_utils; update it");
  }
  return VkStatus(create(instance_, &messenger, nullptr, &messenger_),
                  "vkCreateDebugUtilsMessengerEXT", "validation messages");
}

InstanceImpl::~InstanceImpl() {
  if (messenger_ != VK_NULL_HANDLE) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(instance_, messenger_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE) vkDestroyInstance(instance_, nullptr);
}

absl::StatusOr<std::vector<VkPhysicalDevice>> InstanceImpl::PhysicalDevices() const {
  uint32_t count = 0;
  OA_RETURN_IF_ERROR(VkStatus(vkEnumeratePhysicalDevices(instance_, &count, nullptr),
                              "vkEnumeratePhysicalDevices", "the Vulkan instance"));
  std::vector<VkPhysicalDevice> devices(count);
  OA_RETURN_IF_ERROR(VkStatus(vkEnumeratePhysicalDevices(instance_, &count, devices.data()),
                              "vkEnumeratePhysicalDevices", "the Vulkan instance"));
  devices.resize(count);
  return devices;
}

absl::StatusOr<std::vector<DeviceInfo>> InstanceImpl::EnumerateDevices() const {
  OA_ASSIGN_OR_RETURN(const std::vector<VkPhysicalDevice> devices, PhysicalDevices());
  std::vector<DeviceInfo> infos;
  for (uint32_t i = 0; i < devices.size(); ++i) {
    infos.push_back(DescribeDevice(devices[i], i).info);
  }
  return infos;
}

}  // namespace oa::exec
