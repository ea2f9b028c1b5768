// replay_advance: replay = replay + 1, modulo 2^32.
// Shapes:   replay [1].
// Cost:     4 bytes.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32InOut replay;
};
OA_PUSH(Args);

void main() {
  OA_FOR_EACH(once, 1u) args.replay.v[0] += 1u;
}
