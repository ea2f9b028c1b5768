// upsample.glsl: the one or two cells of an axis that an upsampled cell reads, with their weights.
//
// Bilinear sources lie at u = clamp((o + 0.5) / scale - 0.5, 0, extent - 1). With o = q * scale + r
// that is q + ((r + 0.5) / scale - 0.5), whose fraction does not lose digits as o grows.
#ifndef OA_POOL_UPSAMPLE_GLSL_
#define OA_POOL_UPSAMPLE_GLSL_

#include "pool/pool.glsl"

layout(constant_id = 0) const uint bilinear = 0;

struct Source {
  uint low;
  uint high;
  float fraction;  // weight of `high`; that of `low` is 1 - fraction
};

Source source_of(uint o, uint extent, uint scale) {
  uint q = o / scale;
  if (bilinear == 0u) return Source(q, q, 0.0);
  uint r = o - q * scale;
  bool after = r >= scale / 2u;  // (r + 0.5) / scale >= 0.5
  if (!after && q == 0u) return Source(0u, min(1u, extent - 1u), 0.0);
  if (after && q + 1u >= extent) return Source(q, q, 0.0);
  float offset = (float(r) + 0.5) / float(scale) - 0.5;
  uint low = after ? q : q - 1u;
  return Source(low, low + 1u, after ? offset : offset + 1.0);
}

float weight_of(Source source, uint p) {
  return (source.low == p ? 1.0 - source.fraction : 0.0) +
         (source.high == p ? source.fraction : 0.0);
}

// The upsampled cells that read cell p.
Span readers_of(uint p, uint extent, uint scale) {
  if (bilinear == 0u) return Span(p * scale, (p + 1u) * scale);
  uint half_scale = scale / 2u;
  return Span(p > 0u ? (p - 1u) * scale + half_scale : 0u,
              p + 1u < extent ? (p + 1u) * scale + half_scale : extent * scale);
}

#endif  // OA_POOL_UPSAMPLE_GLSL_
