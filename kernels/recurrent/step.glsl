// step.glsl: tiles for one step of a recurrence over the whole device. A workgroup owns 16 batch
// elements x 8 OA_COLUMNS units. Its eight groups of 32 lanes split the terms of every sum; in each
// group a lane owns 4 x OA_COLUMNS results in registers. Terms come straight from caches, four at a
// time and OA_UNROLL times that in flight; shared memory only joins the groups, so the loop has no
// barrier. Neighbouring lanes read neighbouring units: the weight lies with its units last.
#ifndef OA_RECURRENT_STEP_GLSL_
#define OA_RECURRENT_STEP_GLSL_

#include "recurrent/recurrent.glsl"
#include "recurrent/rows.glsl"

const uint kLanes = 32;
const uint kGroups = OA_WG / kLanes;
const uint kRows = 4;                    // batch elements of a lane
const uint kColumns = OA_COLUMNS;        // units of a lane
const uint kBatch = 4 * kRows;           // batch elements of a tile
const uint kUnits = 8 * kColumns;        // units of a tile
const uint kTile = kBatch * kUnits;      // at most OA_WG: one invocation finishes one result

OA_BUFFER(F32x2, vec2, 8);

uint lane_row() { return gl_LocalInvocationID.x % kLanes / 8u * kRows; }
uint lane_column() { return gl_LocalInvocationID.x % 8u * kColumns; }
uint lane_group() { return gl_LocalInvocationID.x / kLanes; }

uint unit_at[kColumns];  // this lane's units

// Pairs of units start at even ones: with quads they are never cut.
void set_units(uint u0, uint hidden) {
  [[unroll]] for (uint c = 0; c < kColumns; ++c) {
    unit_at[c] = min(u0 + lane_column(), (hidden - 1u) / kColumns * kColumns) + c;
    if (quads == 0u) unit_at[c] = min(unit_at[c], hidden - 1u);
  }
}

// This lane's units of a row that starts at `row`.
float[kColumns] load_units(F32In x, uint row) {
  float w[kColumns];
  if (quads != 0u && kColumns == 2) {
    vec2 pair = F32x2In(x).v[(row + unit_at[0]) >> 1];
    w[0] = pair.x;
    w[kColumns - 1] = pair.y;
  } else {
    [[unroll]] for (uint c = 0; c < kColumns; ++c) w[c] = x.v[row + unit_at[c]];
  }
  return w;
}

shared float joined[kGroups * kTile];

// The groups' sums, added in order: invocation id gets row id / kUnits, column id % kUnits.
float join(float sums[kRows][kColumns]) {
  uint lane = gl_LocalInvocationID.x;
  uint base = lane_group() * kTile + lane_row() * kUnits + lane_column();
  [[unroll]] for (uint i = 0; i < kRows; ++i) {
    [[unroll]] for (uint j = 0; j < kColumns; ++j) joined[base + i * kUnits + j] = sums[i][j];
  }
  barrier();
  float sum = 0.0;
  [[unroll]] for (uint g = 0; g < kGroups; ++g) sum += joined[g * kTile + lane % kTile];
  barrier();
  return sum;
}

#endif  // OA_RECURRENT_STEP_GLSL_
