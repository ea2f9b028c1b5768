// KernelPack: precompiled SPIR-V with everything the compiler and the executor need to know about
// each kernel. A pack is built from the manifests in kernels/ by oa-pack, which reads local size,
// argument offsets, specialisation constants and shared memory from the SPIR-V itself.
// Immutable after loading, hence thread-safe.
#ifndef OA_SCHEMA_KERNEL_PACK_H_
#define OA_SCHEMA_KERNEL_PACK_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "schema/blob.h"
#include "schema/device_profile.h"

namespace oa {

enum class Access : uint8_t { kRead = 0, kWrite = 1, kReadWrite = 2 };

inline bool Reads(Access a) { return a != Access::kWrite; }
inline bool Writes(Access a) { return a != Access::kRead; }
// "r", "w", "rw".
const char* AccessName(Access access);

// One field of a kernel's argument block.
enum class ArgumentKind : uint8_t { kBuffer = 0, kU32 = 1, kF32 = 2 };

struct KernelArgument {
  std::string name;
  ArgumentKind kind = ArgumentKind::kBuffer;
  Access access = Access::kRead;  // buffers only
  uint32_t element_bytes = 4;     // buffers only
  std::string extent;             // buffers only: elements touched, see extent_expr.h
};

// Which devices may run a kernel: GPU-shaped and CPU-shaped variants of one kernel exist side by
// side.
enum class KernelDevice : uint8_t { kAny = 0, kGpu = 1, kCpu = 2 };

struct KernelConstant {
  std::string name;
  uint32_t id = 0;  // SpecId in the SPIR-V
};

struct Kernel {
  std::string name;  // "softmax_f32_cpu": unique in the pack
  std::string base;  // "softmax_f32": what a lowering asks for
  Blob spirv;
  uint64_t digest = 0;  // xxh3-64 of spirv
  std::array<uint32_t, 3> local_size = {1, 1, 1};
  uint32_t shared_bytes = 0;
  std::vector<KernelArgument> arguments;
  // Repeated `record_count` times after `arguments`, for kernels that work on many tensors at
  // once; empty for most. The first u32 of `arguments` named "record_count" must hold the count.
  std::vector<KernelArgument> records;
  std::vector<KernelConstant> constants;  // in the order in which a dispatch lists their values
  std::vector<std::string> features;      // all must be in DeviceProfile::features
  KernelDevice device = KernelDevice::kAny;
  uint32_t subgroup_size = 0;  // required subgroup size; 0: works with any
  std::vector<uint32_t>
      tile;  // output elements per workgroup, meaning defined by the kernel family
};

// Byte offsets of an argument block: buffers are 8-byte addresses aligned to 8, scalars 4 bytes.
struct ArgumentLayout {
  std::vector<uint32_t> offsets;         // of `arguments`
  uint32_t records_offset = 0;           // where record 0 starts, aligned to 8
  std::vector<uint32_t> record_offsets;  // of `records`, relative to their record
  uint32_t record_stride = 0;            // multiple of 8
  // Bytes of a block with `record_count` records, rounded up to 16.
  uint64_t Size(uint64_t record_count) const {
    return (records_offset + record_stride * record_count + 15) & ~uint64_t{15};
  }
};
ArgumentLayout LayoutArguments(const Kernel& kernel);

class KernelPack {
 public:
  KernelPack() = default;
  // `compiler` names the tool and version that made the SPIR-V.
  KernelPack(std::vector<Kernel> kernels, std::string compiler);

  // Reads and fully verifies a pack. DataLoss / InvalidArgument name the file and kernel.
  static absl::StatusOr<KernelPack> Load(const std::string& path);
  static absl::StatusOr<KernelPack> Parse(Blob file, const std::string& name);

  absl::Status Save(const std::string& path) const;
  std::vector<uint8_t> Serialize() const;

  const std::vector<Kernel>& kernels() const { return kernels_; }
  const std::string& compiler() const { return compiler_; }

  // By exact variant name; null when absent.
  const Kernel* Find(absl::string_view name) const;

  // The variant of `base` to use on `profile`: the last in pack order that the profile can run, so
  // a manifest lists variants from the most portable to the most special. Unimplemented, listing
  // the variants and what each lacks, when none fits.
  absl::StatusOr<const Kernel*> Select(absl::string_view base, const DeviceProfile& profile) const;

 private:
  std::vector<Kernel> kernels_;
  std::string compiler_;
};

// Why `profile` cannot run `kernel`, or "" when it can.
std::string WhyNotRunnable(const Kernel& kernel, const DeviceProfile& profile);

}  // namespace oa

#endif  // OA_SCHEMA_KERNEL_PACK_H_
