// Records the digits classifier: `record_digits FOLDER` writes digits_train.oag (one training step
// on 32 images) and digits_eval.oag (evaluation of 360 images) into FOLDER.
#include "frontend/examples/common/digits_data.h"
#include "frontend/examples/common/record_main.h"
#include "frontend/examples/digits/digits_model.h"

int main(int argc, char** argv) {
  using namespace oa::examples;
  const DigitsOptions training;
  DigitsOptions evaluation;
  evaluation.batch = kDigitsHeldOut;
  return RecordMain(
      argc, argv,
      {{"digits_train", [&](oa::Graph& graph) { return RecordDigitsTraining(graph, training); }},
       {"digits_eval",
        [&](oa::Graph& graph) { return RecordDigitsEvaluation(graph, evaluation); }}});
}
