// The on-disk pipeline cache: one file a device and driver version. Whatever is wrong with a file
// makes it a miss, never an error. Stateless.
#ifndef OA_EXECUTOR_PIPELINE_CACHE_H_
#define OA_EXECUTOR_PIPELINE_CACHE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/handles.h"

namespace oa::exec {

// Path of the file of `info` in `folder`.
std::string PipelineCachePath(const std::string& folder, const DeviceInfo& info);

// The driver's data in the file, or empty when there is none that fits `info`.
std::vector<uint8_t> ReadPipelineCache(const std::string& folder, const DeviceInfo& info);

// Stores the driver's data; a failure leaves an older file as it was.
void WritePipelineCache(const std::string& folder, const DeviceInfo& info,
                        absl::Span<const uint8_t> data);

// A VkPipelineCache that is loaded from and saved to the device's cache folder.
class PipelineCache {
 public:
  static absl::StatusOr<PipelineCache> Load(DeviceImpl& device);

  VkPipelineCache get() const { return cache_.get(); }
  bool hit() const { return loaded_bytes_ != 0; }

  // Writes the file when there is something new.
  void Save(DeviceImpl& device) const;

 private:
  Handle<VkPipelineCache> cache_;
  size_t loaded_bytes_ = 0;
};

}  // namespace oa::exec

#endif  // OA_EXECUTOR_PIPELINE_CACHE_H_
