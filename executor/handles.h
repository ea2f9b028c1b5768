// Owners of Vulkan objects. Creation and destruction both go through here, which is where live
// objects are counted. Handles are movable, and as thread-safe as the Vulkan object they own.
#ifndef OA_EXECUTOR_HANDLES_H_
#define OA_EXECUTOR_HANDLES_H_

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "executor/device_impl.h"
#include "schema/status_macros.h"
#include "volk.h"

namespace oa::exec {

// Owns one object that is destroyed by `destroy(device, object, nullptr)`.
template <class T>
class Handle {
 public:
  using Destroy = void(VKAPI_PTR*)(VkDevice, T, const VkAllocationCallbacks*);

  Handle() = default;
  Handle(DeviceImpl& device, T object, Destroy destroy)
      : device_(&device), object_(object), destroy_(destroy) {
    device_->CountObject(+1);
  }
  Handle(Handle&& other) noexcept { *this = std::move(other); }
  Handle& operator=(Handle&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Handle() {
    if (device_ == nullptr) return;
    destroy_(device_->handle(), object_, nullptr);
    device_->CountObject(-1);
  }

  T get() const { return object_; }
  explicit operator bool() const { return device_ != nullptr; }

 private:
  DeviceImpl* device_ = nullptr;
  T object_ = VK_NULL_HANDLE;
  Destroy destroy_ = nullptr;
};

// Calls create(device, &info, nullptr, &object). `what` names the object in error messages.
template <class T, class Info>
absl::StatusOr<Handle<T>> CreateHandle(DeviceImpl& device, const char* call, absl::string_view what,
                                       VkResult(VKAPI_PTR* create)(VkDevice, const Info*,
                                                                   const VkAllocationCallbacks*,
                                                                   T*),
                                       typename Handle<T>::Destroy destroy, const Info& info) {
  T object = VK_NULL_HANDLE;
  OA_RETURN_IF_ERROR(device.Call(call, what, create, device.handle(), &info, nullptr, &object));
  return Handle<T>(device, object, destroy);
}

}  // namespace oa::exec

// OA_VK_CREATE(device, Buffer, what, info) is a StatusOr<Handle<VkBuffer>>.
#define OA_VK_CREATE(device, Type, what, info)                                                     \
  ::oa::exec::CreateHandle<Vk##Type>(device, "vkCreate" #Type, what, (device).vk().vkCreate##Type, \
                                     (device).vk().vkDestroy##Type, info)

// OA_VK_CALL(device, vkFoo, what, arguments...) is the Status of one checked call.
#define OA_VK_CALL(device, function, what, ...) \
  (device).Call(#function, what, (device).vk().function, __VA_ARGS__)

#endif  // OA_EXECUTOR_HANDLES_H_
