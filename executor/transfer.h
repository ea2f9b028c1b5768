// Moving bytes between the host and device buffers outside of a replay: initial values, reading and
// writing parameters, checking guards. Each call waits until it is done. Mapped buffers are
// accessed directly, others through a staging buffer of at most 64 MiB. Stateless.
#ifndef OA_EXECUTOR_TRANSFER_H_
#define OA_EXECUTOR_TRANSFER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/memory.h"

namespace oa::exec {

struct UploadRegion {
  const DeviceBuffer* buffer = nullptr;
  uint64_t offset = 0;
  absl::Span<const uint8_t> bytes;
};

// Fills with a 32-bit word; offset and size are multiples of 4.
struct FillRegion {
  const DeviceBuffer* buffer = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t word = 0;
};

struct DownloadRegion {
  const DeviceBuffer* buffer = nullptr;
  uint64_t offset = 0;
  absl::Span<uint8_t> bytes;
};

// Pre-condition of all three: nothing that is still running on the device writes the regions; for
// Upload and Fill, nothing reads them either. Regions are disjoint. `staging_use` is the memory of
// the staging buffer.
absl::Status Upload(DeviceImpl& device, MemoryUse staging_use,
                    absl::Span<const UploadRegion> regions);
absl::Status Fill(DeviceImpl& device, absl::Span<const FillRegion> regions);
absl::Status Download(DeviceImpl& device, MemoryUse staging_use,
                      absl::Span<const DownloadRegion> regions);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_TRANSFER_H_
