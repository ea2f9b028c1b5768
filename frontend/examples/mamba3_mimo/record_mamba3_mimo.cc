// Records the Mamba-3 language model with multi-input scans of rank 4: `record_mamba3_mimo FOLDER`
// writes mamba3_mimo_train.oag, mamba3_mimo_eval.oag and mamba3_mimo_generate.oag into FOLDER.
#include "frontend/examples/mamba3/mamba3_model.h"

int main(int argc, char** argv) {
  using namespace oa::examples;
  return RecordMain(argc, argv, ByteLmRecordings(Mamba3Lm("mamba3_mimo", {.mimo_rank = 4})));
}
