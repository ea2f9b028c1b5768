// column_epilogue.glsl: what column_store of columns.glsl does, through the epilogue. For kernels
// whose result has the shape of x. Include it behind OA_EPILOGUE_CODE, and call it once, in a loop.
#ifndef OA_REDUCE_COLUMN_EPILOGUE_GLSL_
#define OA_REDUCE_COLUMN_EPILOGUE_GLSL_

void column_epilogue_store(uint base, uint extent, uint inner, uint k, vec4 value) {
  uint first = 4u * column_lanes() * k;
  uint left = extent - first;
  if (mode == kRowsVec4 && 4u * column_lane() + 3u < left) {
    oa_epilogue_store4(base + first + 4u * column_lane(), value);
    return;
  }
  [[dont_unroll]] for (uint j = 0; j < 4; ++j) {
    uint offset = column_offset(j);
    if (offset < left) oa_epilogue_store(base + (first + offset) * inner, value[j]);
  }
}

#endif  // OA_REDUCE_COLUMN_EPILOGUE_GLSL_
