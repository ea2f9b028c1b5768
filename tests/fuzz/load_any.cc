#include "tests/fuzz/load_any.h"

#include <cstring>

#include "ir/compile.h"
#include "ir/graph_io.h"
#include "schema/container.h"
#include "schema/kernel_pack.h"
#include "schema/plan.h"

namespace oa::testing {
namespace {

constexpr size_t kDigestOffset = 48;  // FORMAT.md

const KernelPack& Kernels() {
  static const KernelPack& pack = *new KernelPack([] {
    absl::StatusOr<KernelPack> loaded = KernelPack::Load(OA_TEST_KERNELS);
    return loaded.ok() ? *std::move(loaded) : KernelPack();
  }());
  return pack;
}

bool LoadGraph(const Blob& file) {
  const absl::StatusOr<ir::Graph> graph = ir::ParseGraph(file, "fuzz.oag");
  return graph.ok() && ir::Compile(*graph, Kernels(), {}).ok();
}

bool LoadPlan(const Blob& file) {
  const absl::StatusOr<Plan> plan = ParsePlan(file, "fuzz.oax");
  return plan.ok() && VerifyPlanKernels(*plan, Kernels(), "fuzz.oax").ok();
}

}  // namespace

bool LoadAny(const std::vector<uint8_t>& bytes) {
  const Blob file = Blob::Own(bytes);
  const absl::StatusOr<FileKind> kind = ContainerReader::Sniff(file.bytes(), "fuzz");
  if (!kind.ok()) return false;
  switch (*kind) {
    case FileKind::kGraph:
      return LoadGraph(file);
    case FileKind::kPlan:
      return LoadPlan(file);
    case FileKind::kKernelPack:
      return KernelPack::Parse(file, "fuzz.oak").ok();
  }
  return false;
}

void FixDigest(std::vector<uint8_t>& file) {
  if (file.size() < kDigestOffset + 8) return;
  std::memset(file.data() + kDigestOffset, 0, 8);
  const uint64_t digest = Digest(file);
  for (int i = 0; i < 8; ++i) file[kDigestOffset + i] = static_cast<uint8_t>(digest >> (8 * i));
}

}  // namespace oa::testing
