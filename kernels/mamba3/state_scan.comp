// state_scan: carries states from chunk to chunk, in place:
//   forwards:  entry_0 = 0, entry_{i+1} = decay_i entry_i + own_i, the state before each chunk;
//   backwards: exit_{last} = 0, exit_{i-1} = decay_i exit_i + own_i, the gradient of the state
//              behind each chunk.
// Shapes:   states [rows, chunks, elements] (own in, entry or exit out),
//           gates [rows, chunks * chunk, kGates].
// Cost:     8 bytes an element; an invocation an element of a state, serial over chunks.
#version 460
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint backwards = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32InOut states;
  F32In gates;
  uint rows;
  uint chunks;
  uint chunk;
  uint elements;
};
OA_PUSH(Args);

void main() {
  uint chunks = args.chunks, chunk = args.chunk, elements = args.elements;
  F32InOut states = args.states;
  F32In gates = args.gates;
  OA_FOR_EACH(i, args.rows * elements) {
    uint row = i / elements, element = i % elements;
    float carried = 0.0;
    for (uint j = 0; j < chunks; ++j) {
      uint c = row * chunks + (backwards != 0u ? chunks - 1 - j : j);
      uint at = c * elements + element;
      float own = states.v[at];
      states.v[at] = carried;
      carried = fma(gates.v[((c + 1) * chunk - 1) * kGates + kFromEntry], carried, own);
    }
  }
}
