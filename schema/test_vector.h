// Test vectors: inputs and expected outputs that travel inside a graph or plan file.
#ifndef OA_SCHEMA_TEST_VECTOR_H_
#define OA_SCHEMA_TEST_VECTOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
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

// What is wrong with the tensors of one side of a vector, or "": each names a different value of
// `sizes` (bytes by name), has exactly its size, and tolerances that are numbers of at least 0.
// `table` is "inputs" or "outputs", `owner` "graph" or "plan"; both only appear in the sentence.
std::string TestTensorProblem(const std::vector<TestTensor>& tensors,
                              absl::flat_hash_map<absl::string_view, uint64_t> sizes,
                              absl::string_view table, absl::string_view owner);

}  // namespace oa

#endif  // OA_SCHEMA_TEST_VECTOR_H_
