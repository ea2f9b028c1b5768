// optimiser_advance: t = t + 1 in the state block of an optimiser; stays at 2^32-1.
// Shapes:   state, of which word 0 is t.
// Cost:     4 bytes.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32InOut state;
};
OA_PUSH(Args);

void main() {
  OA_FOR_EACH(once, 1u) args.state.v[0] = oa_add_saturated(args.state.v[0], 1u);
}
