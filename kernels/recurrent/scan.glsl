// scan.glsl: how the workgroup of one batch element shares a vector times a matrix in a recurrence.
// Neighbouring lanes own neighbouring columns, so that the matrix is read in whole lines. Where
// there are fewer columns than lanes, several lanes share a column and split its rows.
#ifndef OA_RECURRENT_SCAN_GLSL_
#define OA_RECURRENT_SCAN_GLSL_

#include "recurrent/recurrent.glsl"

const uint kMaxHidden = 1024;
const uint kUnroll = 8;

struct Share {
  uint columns;  // lanes side by side: a power of two
  uint parts;    // lanes that share a column, OA_WG / columns
  uint part;
  uint column;   // the first of this lane; the others follow `columns` apart
  uint begin;    // rows of this lane
  uint end;
};

Share make_share(uint columns, uint rows) {
  Share s;
  s.columns = 1u;
  [[unroll]] for (uint i = 1; i < OA_WG; i *= 2) {
    if (s.columns < columns) s.columns *= 2u;
  }
  s.parts = OA_WG / s.columns;
  s.part = gl_LocalInvocationID.x / s.columns;
  s.column = gl_LocalInvocationID.x % s.columns;
  uint each = (rows + s.parts - 1u) / s.parts;
  s.begin = min(s.part * each, rows);
  s.end = min(s.begin + each, rows);
  return s;
}

#endif  // OA_RECURRENT_SCAN_GLSL_
