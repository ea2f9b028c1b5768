// sgd: one step for many parameters. d = grad + wd w; without momentum w -= lr d; with momentum
//   m = mu m + d,  w -= lr (nesterov ? d + mu m : m)
// Shapes:   param, grad, momentum [count] in each record; state {f32 lr, mu, wd}.
// Cost:     reads 8 (12) and writes 4 (8) bytes per element without (with) momentum.
// Numerics: 2e-6 relative per step.
// Source:   Sutskever et al. 2013, in the form in which decay and momentum are coupled (ops.md 5).
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

struct Record {
  F32InOut param;
  F32In grad;
  F32InOut momentum;
  uint first_block;
  uint blocks;
  uint count;
};

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In state;
  uint record_count;
  uint total_blocks;
  Record records[];
};
OA_PUSH(Args);

layout(constant_id = 0) const uint has_momentum = 0;
layout(constant_id = 1) const uint nesterov = 0;

#include "optimiser/multi_tensor.glsl"

void update(float lr, float mu, float decay, Record record, uint i, bool whole) {
  vec4 w = load4(F32In(record.param), i, whole);
  vec4 d = load4(record.grad, i, whole) + decay * w;
  if (has_momentum != 0) {
    vec4 m = mu * load4(F32In(record.momentum), i, whole) + d;
    store4(F32Out(record.momentum), i, whole, m);
    d = nesterov != 0 ? d + mu * m : m;
  }
  store4(F32Out(record.param), i, whole, w - lr * d);
}

void main() {
  float lr = args.state.v[0], mu = args.state.v[1], decay = args.state.v[2];
  OA_FOR_EACH_BLOCK(b) {
    Record record = args.records[find_record(b)];
    uint first = (b - record.first_block) * OA_BLOCK;
    uint end = block_end(first, OA_BLOCK, record.count);
    OA_FOR_EACH_GROUP(i, first, end) update(lr, mu, decay, record, i, true);
    OA_FOR_EACH_SINGLE(i, first, end) update(lr, mu, decay, record, i, false);
  }
}
