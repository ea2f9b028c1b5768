// Records the byte-level Transformer: `record_transformer FOLDER` writes transformer_train.oag,
// transformer_eval.oag and transformer_generate.oag into FOLDER.
#include "frontend/examples/transformer/transformer_model.h"

int main(int argc, char** argv) {
  using namespace oa::examples;
  ByteLm model;
  model.name = "transformer";
  model.logits = Transformer({});
  return RecordMain(argc, argv, ByteLmRecordings(model));
}
