// Records the byte-level Mamba-3 language model: `record_mamba3 FOLDER` writes mamba3_train.oag,
// mamba3_eval.oag and mamba3_generate.oag into FOLDER, and the same of mamba3_mimo, whose scans are
// multi-input with rank 4.
#include "frontend/examples/mamba3/mamba3_model.h"

int main(int argc, char** argv) {
  using namespace oa::examples;
  std::vector<Recording> recordings = ByteLmRecordings(Mamba3Lm("mamba3", {}));
  for (Recording& recording : ByteLmRecordings(Mamba3Lm("mamba3_mimo", {.mimo_rank = 4}))) {
    recordings.push_back(std::move(recording));
  }
  return RecordMain(argc, argv, recordings);
}
