// scan.glsl: how the workgroup of one batch element shares a vector times a matrix in a recurrence.
// A lane owns OA_WIDE neighbouring columns, and neighbouring lanes the ones behind them, so that
// the matrix is read in whole lines. Where there are fewer columns than that, several lanes share
// the same columns and split their rows.
#ifndef OA_RECURRENT_SCAN_GLSL_
#define OA_RECURRENT_SCAN_GLSL_

#include "recurrent/recurrent.glsl"
#include "recurrent/rows.glsl"

const uint kMaxHidden = 1024;
const uint kUnroll = 8;  // rows a lane reads at once

// Software devices load lane by lane: there wide lanes only spread what belongs together.
#ifdef OA_CPU
#define OA_WIDE 1
#define OA_ROW float
#define OA_ELEMENT(row, c) row
OA_ROW load_row(F32In x, uint row, uint k, uint n) { return x.v[row + k]; }
#else
#define OA_WIDE 4
#define OA_ROW vec4
#define OA_ELEMENT(row, c) row[c]
OA_ROW load_row(F32In x, uint row, uint k, uint n) { return load4(x, row, k, n); }
#endif

struct Share {
  uint lanes;   // side by side: a power of two
  uint parts;   // lanes that share their columns; further ones are idle
  uint part;
  uint column;  // the first of this lane; in further turns, OA_WIDE * lanes more
  uint begin;   // rows of this lane
  uint end;
};

Share make_share(uint columns, uint rows) {
  Share s;
  s.lanes = 1u;
  [[unroll]] for (uint i = 1; i < OA_WG; i *= 2) {
    if (OA_WIDE * s.lanes < columns) s.lanes *= 2u;
  }
  // No more than have a few rows each: the parts are added one after the other.
  s.parts = min(OA_WG / s.lanes, (rows + kUnroll - 1u) / kUnroll);
  s.part = gl_LocalInvocationID.x / s.lanes;
  s.column = gl_LocalInvocationID.x % s.lanes * OA_WIDE;
  uint each = (rows + s.parts - 1u) / max(s.parts, 1u);
  s.begin = min(s.part * each, rows);
  s.end = min(s.begin + each, rows);
  return s;
}

#endif  // OA_RECURRENT_SCAN_GLSL_
