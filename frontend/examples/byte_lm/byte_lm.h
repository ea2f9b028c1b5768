// Byte-level language models: what all of them share. A model is a name and a function that records
// next-byte logits; this file makes the three graphs of it that an example consists of.
//
//   NAME_train     input bytes U8 [batch, length + 1]; outputs loss F32 [1], nats per byte, and
//                  gradient_norm F32 [1]. A replay is one AdamW step.
//   NAME_eval      input bytes U8 [held_out_batch, length + 1]; output loss. Its parameters are the
//                  averages that training keeps. Changes nothing.
//   NAME_generate  inputs bytes U8 [1, window] and last I32 [1]; output logits F32 [1, 256] of the
//                  byte that follows position `last` of the window. What lies behind it does not
//                  matter, as the model is causal. Parameters as in NAME_eval.
//
// Data, training, evaluation and generation are the same for all models, see ../run.sh, corpus.sh
// and generate.h. A new model is a folder with a model function, a main of five lines and an
// example.sh, like ../transformer.
#ifndef OA_FRONTEND_EXAMPLES_BYTE_LM_BYTE_LM_H_
#define OA_FRONTEND_EXAMPLES_BYTE_LM_BYTE_LM_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frontend/examples/common/record_main.h"
#include "frontend/examples/common/training.h"
#include "frontend/oa.h"

namespace oa::examples {

inline constexpr uint64_t kByteValues = 256;

// Records the model in `graph`: bytes I32 [rows, length] to logits F32 [rows * length, 256] of the
// bytes that follow each. The names of all parameters start with `prefix`, and apart from it the
// parameters are the same for all shapes and modes.
using ByteModel = std::function<Result<Matrix>(Graph& graph, const std::string& prefix,
                                               const Matrix& bytes, ml::nn::Mode mode)>;

struct ByteLm {
  std::string name;
  ByteModel logits;
  // For generation when it differs, for example one byte at a time with the past in states that
  // persist between replays: `window` is then 1.
  ByteModel generation_logits;
  uint64_t batch = 16;
  uint64_t length = 64;
  uint64_t held_out_batch = 43;  // half of the held-out windows of 64 bytes
  uint64_t window = 64;
  StepOptions step;
};

absl::Status RecordByteLmTraining(Graph& graph, const ByteLm& model);
absl::Status RecordByteLmEvaluation(Graph& graph, const ByteLm& model);
absl::Status RecordByteLmGeneration(Graph& graph, const ByteLm& model);

// All three, for RecordMain.
std::vector<Recording> ByteLmRecordings(const ByteLm& model);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_BYTE_LM_BYTE_LM_H_
