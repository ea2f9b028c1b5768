// vq_ema_update: of each code k, from the sum over its latents and their number:
//   size = decay cluster_size[k] + (1 - decay) count
//   sum = decay embed_sum[k, :] + (1 - decay) sums[k, :]
//   code = sum / max(size, epsilon); with normalize divided by its root mean square, if > epsilon
//   A code with size < dead_threshold is revived: code = sum = a latent row by hash, size = 1.
// Shapes:   sums, embed_sum, next_sum, next_codebook [codes, columns], ends U32 [codes], latent
//           [rows, columns], cluster_size, next_size [codes].
// Cost:     reads 8 (with normalize 16) and writes 8 bytes an element of the codebook.
// Numerics: fp32; the mean square is summed over OA_WG interleaved parts. Revived rows are copied.
// Design:   a workgroup owns a code. Code k has the positions ends[k - 1] .. ends[k] (index_lists).
#version 460
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint normalize_codes = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In sums;
  U32In ends;
  U32In latent;
  F32In embed_sum;
  F32In cluster_size;
  U32Out next_sum;
  F32Out next_size;
  U32Out next_codebook;
  uint rows;
  uint columns;
  uint codes;
  float decay;
  float epsilon;
  float dead_threshold;
  uint seed;
};
OA_PUSH(Args);

uint revive(uint k, uint seed) {
  uint h = ((k + 1u) * 2654435761u) ^ (seed * 2246822519u) ^ (seed >> 15);
  h ^= h >> 13;
  h *= 3266489917u;
  return h ^ (h >> 16);
}

void main() {
  F32In sums = args.sums, embed_sum = args.embed_sum;
  U32In ends = args.ends, latent = args.latent;
  U32Out next_sum = args.next_sum, next_codebook = args.next_codebook;
  uint rows = args.rows, columns = args.columns;
  float decay = args.decay, epsilon = args.epsilon, threshold = args.dead_threshold;
  OA_FOR_EACH_ROW(k, args.codes) {
    uint base = k * columns;
    float count = float(ends.v[k] - (k > 0u ? ends.v[k - 1u] : 0u));
    float size = decay * args.cluster_size.v[k] + (1.0 - decay) * count;
    bool dead = size < threshold && rows > 0u;
    float divisor = size < epsilon ? epsilon : size;
    float rms = 1.0;
    if (normalize_codes != 0u) {
      float squares = 0.0;
      OA_FOR_EACH_COLUMN(d, columns) {
        float code = (decay * embed_sum.v[base + d] + (1.0 - decay) * sums.v[base + d]) / divisor;
        squares += code * code;
      }
      rms = sqrt(workgroup_sum(squares) / float(columns));
      if (!(rms > epsilon)) rms = 1.0;
    }
    uint from = revive(k, args.seed) % max(rows, 1u) * columns;
    OA_FOR_EACH_COLUMN(d, columns) {
      float sum = decay * embed_sum.v[base + d] + (1.0 - decay) * sums.v[base + d];
      uint next = floatBitsToUint(sum), code = floatBitsToUint(sum / divisor / rms);
      if (dead) next = code = latent.v[from + d];
      next_sum.v[base + d] = next;
      next_codebook.v[base + d] = code;
    }
    if (gl_LocalInvocationID.x == 0u) args.next_size.v[k] = dead ? 1.0 : size;
  }
}
