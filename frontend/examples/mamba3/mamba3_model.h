// A byte-level Mamba-3 language model.
//
//   bytes -> embedding -> layers x (x + mamba3(rms_norm(x)), x + swiglu(rms_norm(x)))
//         -> rms_norm -> logits
//
// It trains on whole sequences and generates byte by byte: what it has read is in recurrent states
// of a fixed size, which persist between replays of the generation graph.
#ifndef OA_FRONTEND_EXAMPLES_MAMBA3_MAMBA3_MODEL_H_
#define OA_FRONTEND_EXAMPLES_MAMBA3_MAMBA3_MODEL_H_

#include <cstdint>

#include "frontend/examples/byte_lm/byte_lm.h"

namespace oa::examples {

struct Mamba3LmOptions {
  uint64_t width = 64;
  uint64_t layers = 2;
  uint64_t head_dim = 32;
  uint64_t state_size = 16;
  uint64_t mimo_rank = 1;  // above 1: the multi-input scan
  uint64_t hidden = 128;   // of the feed-forward layers
};

// Logits of whole sequences.
ByteModel Mamba3(const Mamba3LmOptions& options);
// Logits of the byte behind the one byte given, bytes I32 [rows, 1], from states named
// `<layer>.ssm_state` and so on, which it moves on. The parameters are those of the other form.
ByteModel Mamba3Step(const Mamba3LmOptions& options);

// Both of them as the example trains them, under `name`.
ByteLm Mamba3Lm(const std::string& name, const Mamba3LmOptions& options);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_MAMBA3_MAMBA3_MODEL_H_
