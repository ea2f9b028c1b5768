// Test vectors: inputs and expected outputs that travel inside a graph or plan file.
#ifndef OA_SCHEMA_TEST_VECTOR_H_
#define OA_SCHEMA_TEST_VECTOR_H_

#include <string>
#include <vector>

#include "schema/blob.h"

namespace oa {

// The bytes of one named input or output; dtype and shape are those of the named value.
struct TestTensor {
  std::string name;
  Blob data;
  // Outputs only: |got - expected| <= atol + rtol * |expected|. Both zero: bit for bit.
  float atol = 0;
  float rtol = 0;
};

// Replaying the graph `replays` times from freshly initialised parameters and states, with the
// same inputs every time, leaves `outputs` after the last replay.
struct TestVector {
  std::string name;
  uint32_t replays = 1;
  std::vector<TestTensor> inputs;
  std::vector<TestTensor> outputs;
};

}  // namespace oa

#endif  // OA_SCHEMA_TEST_VECTOR_H_
