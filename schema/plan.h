// Plan: a compiled graph. Stages of dispatches over buffers that already have their place in
// memory. Made by the compiler (ir/), replayed by the executor; neither knows the other.
// Plain data; Load is the only way in from a file and always verifies.
#ifndef OA_SCHEMA_PLAN_H_
#define OA_SCHEMA_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "schema/blob.h"
#include "schema/device_profile.h"
#include "schema/dtype.h"
#include "schema/kernel_pack.h"
#include "schema/test_vector.h"

namespace oa {

// What a buffer is for. The numbers are stored in files: append only.
enum class BufferKind : uint8_t {
  kTransient = 0,  // lives inside one replay
  kInput = 1,      // written by the host before each replay
  kOutput = 2,     // read by the host after each replay
  kParameter = 3,  // persists; trained and saved
  kState = 4,      // persists; optimiser and recurrent state
  kConstant = 5,   // persists; never written after loading
};
const char* BufferKindName(BufferKind kind);
inline bool IsPersistent(BufferKind kind) { return kind >= BufferKind::kParameter; }

// What a persistent buffer holds before the first replay.
enum class InitKind : uint8_t {
  kFill = 0,  // every 32-bit word is fill_bits
  kData = 1,  // the bytes of `data`
};

struct PlanBuffer {
  std::string name;
  BufferKind kind = BufferKind::kTransient;
  DType dtype = DType::F32;
  Shape shape;
  uint64_t size_bytes = 0;  // of the dense value; its place is padded to kTensorAlignment
  uint32_t arena = 0;
  uint64_t offset = 0;      // in the arena, multiple of kTensorAlignment
  InitKind init = InitKind::kFill;
  uint32_t fill_bits = 0;
  Blob data;                // for kData: exactly size_bytes
  // Stages in which the content matters, inclusive. Persistent and io buffers: all stages.
  uint32_t first_stage = 0;
  uint32_t last_stage = 0;
};

// One device allocation. Transient and persistent arenas exist once; an io arena exists once per
// replay in flight.
enum class ArenaKind : uint8_t { kTransient = 0, kPersistent = 1, kIo = 2 };
struct PlanArena {
  ArenaKind kind = ArenaKind::kTransient;
  uint64_t size_bytes = 0;
};

struct PlanArgument {
  ArgumentKind kind = ArgumentKind::kBuffer;
  // kBuffer: bytes [offset, offset + size_bytes) of `buffer`; size 0 binds the null address.
  uint32_t buffer = 0;
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
  Access access = Access::kRead;
  // kU32 / kF32: the raw bits.
  uint32_t bits = 0;
};

struct PlanDispatch {
  uint32_t kernel = 0;  // index into Plan::kernels
  // The kernel's arguments in order, then its records, flattened.
  std::vector<PlanArgument> arguments;
  std::vector<uint32_t> constants;  // values of the kernel's constants, in its order
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::string label;                // operators it computes: "linear+relu"
  std::vector<uint32_t> nodes;      // indices of the graph's nodes it came from
  uint64_t flops = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
};

// Dispatches [first_dispatch, first_dispatch + dispatch_count) run without order among each other;
// one global barrier separates stages.
enum class StageKind : uint8_t { kDispatches = 0 };
struct PlanStage {
  StageKind kind = StageKind::kDispatches;
  uint32_t first_dispatch = 0;
  uint32_t dispatch_count = 0;
};

// A named input or output.
struct PlanIo {
  std::string name;
  uint32_t buffer = 0;
  DType dtype = DType::F32;
  Shape shape;
};

struct PlanKernel {
  std::string name;
  uint64_t digest = 0;
};

struct Plan {
  std::string name;
  uint64_t graph_identity = 0;
  DeviceProfile profile;  // what it was compiled for
  std::vector<PlanArena> arenas;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanKernel> kernels;
  std::vector<PlanDispatch> dispatches;
  std::vector<PlanStage> stages;
  std::vector<PlanIo> inputs;
  std::vector<PlanIo> outputs;
  std::vector<TestVector> test_vectors;
  Blob bundled_pack;  // a whole .oak file, or empty

  // Index into `buffers` of the persistent buffer called `name`, or -1.
  int FindPersistent(absl::string_view name) const;
};

// Checks everything that can be checked without kernels: indices, sizes, placement inside arenas,
// no two buffers that live in the same stage overlap, no two dispatches of one stage touch the
// same bytes unless both read, constants are never written, transients are written before read.
// DataLoss naming `file`, table and index.
absl::Status VerifyPlan(const Plan& plan, const std::string& file);

// Checks the dispatches against their kernels: names and digests exist, argument kinds and access
// agree, every extent expression fits its slice, counts of constants and records agree.
// FailedPrecondition when a kernel is missing or has another digest; DataLoss otherwise.
absl::Status VerifyPlanKernels(const Plan& plan, const KernelPack& pack, const std::string& file);

// Reads, then VerifyPlan.
absl::StatusOr<Plan> LoadPlan(const std::string& path);
absl::StatusOr<Plan> ParsePlan(Blob file, const std::string& name);
std::vector<uint8_t> SerializePlan(const Plan& plan);
absl::Status SavePlan(const Plan& plan, const std::string& path);

// Readable text, one line a buffer and a dispatch; stable, used by golden tests.
std::string DumpPlan(const Plan& plan);

}  // namespace oa

#endif  // OA_SCHEMA_PLAN_H_
