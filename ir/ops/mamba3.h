// The Mamba-3 scans: configuration, operands and the chunked lowering that the forward and the
// backward pass share. Internal to ir/ops. The rows are in mamba3.cc.
#ifndef OA_IR_OPS_MAMBA3_H_
#define OA_IR_OPS_MAMBA3_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/lower.h"
#include "ir/op.h"

namespace oa::ir {

// Epsilon of the output norm; not part of the configuration.
inline constexpr float kScanNormEpsilon = 1e-5f;

// What the attributes say. `groups` is the effective number: `heads` where the attribute is 0.
struct ScanConfig {
  bool mimo = false;
  uint64_t batch = 0, length = 0, heads = 0, groups = 0;
  uint64_t depth = 0;  // head_dim
  uint64_t width = 0;  // state_size
  uint64_t angles = 0, ranks = 0;
  bool has_z = false, has_d = false, has_norm = false;

  uint64_t rows() const { return batch * heads; }  // sequences of states
  uint64_t tokens() const { return batch * length; }
};
ScanConfig ScanConfigOf(const Attributes& attributes, bool mimo);

// Operands in contract order; single-input scans have the first eleven.
enum ScanOperand : int {
  kScanC,
  kScanB,
  kScanX,
  kScanZ,
  kScanAdt,
  kScanDt,
  kScanTrap,
  kScanAngle,
  kScanCBias,
  kScanBBias,
  kScanD,
  kScanMimoX,
  kScanMimoZ,
  kScanMimoO,
  kScanNormWeight
};
constexpr int ScanOperandCount(bool mimo) { return mimo ? 15 : 11; }
// All of them, the first at input `first`; those that a single-input scan lacks are empty.
using ScanOperands = std::array<BufferSlice, 15>;
ScanOperands ScanOperandsAt(const LowerContext& ctx, int first, const ScanConfig& config);

// How a sequence is cut: chunks of `tokens` each, the last one padded.
struct ScanChunks {
  uint64_t tokens = 0;  // of a chunk
  uint64_t count = 0;   // of chunks in a sequence
  uint64_t slots() const { return tokens * count; }
  bool carried() const { return count > 1; }  // states pass between chunks
};
// By route, a function of the shape alone, so that results do not depend on the device:
//   parallel (the default)  64 / ranks tokens, at least 8: a matrix that fills a tile of a product;
//   generic                 32 tokens: half the memory of the products within a chunk;
//   chunked                 16 tokens;
//   short, staged           1 token: the state before every token is stored, nothing else differs
//                           from the plain recurrence.
ScanChunks ChunksOf(const ScanConfig& config, absl::string_view route = "");

// Values inside the chunked scan; see kernels/mamba3/mamba3.glsl for their layout. Empty where a
// pass has no use for one.
struct ScanValues {
  BufferSlice theta, gates;
  BufferSlice q, k, v, v_exit;
  BufferSlice entry_states;  // before each chunk, [rows * chunks, depth, width]
  BufferSlice products;      // q k^T of each chunk
  BufferSlice weighted;      // the same times the causal weights
  BufferSlice own, entry;    // readouts of the chunk's own tokens and of its entry state
};

// A dense matrix of each chunk, read as is or transposed.
struct ChunkMatrix {
  BufferSlice slice;
  uint64_t rows = 0, columns = 0;
  bool transposed = false;

  ChunkMatrix Transposed() const { return {slice, rows, columns, !transposed}; }
};

// What the two passes are made of: a scan being lowered.
class ScanLowering {
 public:
  ScanLowering(LowerContext& ctx, bool mimo, int first_operand);

  const ScanConfig& config() const { return config_; }
  const ScanChunks& chunks() const { return chunks_; }
  const ScanOperands& operands() const { return operands_; }
  ScanValues& values() { return values_; }
  // Rows of a chunk's matrices.
  uint64_t side() const { return chunks_.tokens * config_.ranks; }
  uint64_t chunks_all() const { return config_.rows() * chunks_.count; }

  ChunkMatrix Q() const { return {values_.q, side(), config_.width}; }
  ChunkMatrix K() const { return {values_.k, side(), config_.width}; }
  ChunkMatrix V() const { return {values_.v, side(), config_.depth}; }
  ChunkMatrix State(BufferSlice slice) const { return {slice, config_.depth, config_.width}; }
  ChunkMatrix Square(BufferSlice slice) const { return {slice, side(), side()}; }

  BufferSlice Scratch(absl::string_view name, const Shape& shape);
  // A scratch value per slot: [rows, slots, extents..].
  BufferSlice PerSlot(absl::string_view name, const Shape& extents);

  // theta, gates, q, k, v, entry states, products and weighted products.
  absl::Status EmitChunks();
  // own and entry.
  absl::Status EmitReadouts();
  absl::Status EmitReadout(BufferSlice y);

  // a * b of every chunk.
  absl::StatusOr<BufferSlice> Multiply(absl::string_view name, const ChunkMatrix& a,
                                       const ChunkMatrix& b);
  // States of single chunks to states between chunks, in place.
  absl::Status EmitStateScan(BufferSlice states, bool backwards);
  // Sums over tokens: angle * dt forwards, or of `dtheta` from the end.
  absl::StatusOr<BufferSlice> EmitAngleSums(BufferSlice dtheta);

  // The arguments that kernels of a family have in common, after their buffers.
  void SetReadout(KernelCall& call) const;
  KernelCall& SetSizes(KernelCall& call, uint64_t extent) const;  // batch, tokens, heads, extent
  // Emits a kernel whose invocations share `items`, each of them taking `iterations` of loops.
  absl::Status EmitItems(KernelCall call, uint64_t items, uint64_t iterations);
  absl::Status EmitRows(KernelCall call, uint64_t rows, uint64_t iterations);

 private:
  absl::Status EmitGates();
  absl::Status EmitRotate();
  absl::Status EmitProject();
  absl::Status EmitAnglePass(uint32_t mode, BufferSlice dtheta, BufferSlice carry,
                             BufferSlice sums);

  LowerContext& ctx_;
  ScanConfig config_;
  ScanChunks chunks_;
  ScanOperands operands_;
  ScanValues values_;
};

absl::Status EmitZeros(LowerContext& ctx, BufferSlice slice);

template <bool kMimo>
absl::Status LowerScan(LowerContext& ctx);  // mamba3_scan.cc
template <bool kMimo>
absl::Status LowerScanStep(LowerContext& ctx);  // mamba3_scan.cc
template <bool kMimo>
absl::Status LowerScanBackward(LowerContext& ctx);  // mamba3_backward.cc

std::vector<OpDef> Mamba3PreprocessOps();  // mamba3_preprocess.cc: its part of Mamba3Ops

}  // namespace oa::ir

#endif  // OA_IR_OPS_MAMBA3_H_
