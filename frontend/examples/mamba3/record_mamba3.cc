// Records the byte-level Mamba-3 language model: `record_mamba3 FOLDER` writes mamba3_train.oag,
// mamba3_eval.oag and mamba3_generate.oag into FOLDER.
#include "frontend/examples/mamba3/mamba3_model.h"

int main(int argc, char** argv) {
  using namespace oa::examples;
  return RecordMain(argc, argv, ByteLmRecordings(Mamba3Lm("mamba3", {})));
}
