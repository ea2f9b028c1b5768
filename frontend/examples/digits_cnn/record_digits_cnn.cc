// Records the convolutional digits classifier: `record_digits_cnn FOLDER` writes
// digits_cnn_train.oag (one training step on 16 images) and digits_cnn_eval.oag (evaluation of 360
// images) into FOLDER.
#include "frontend/examples/common/digits_data.h"
#include "frontend/examples/common/record_main.h"
#include "frontend/examples/digits_cnn/digits_cnn_model.h"

int main(int argc, char** argv) {
  using namespace oa::examples;
  const DigitsCnnOptions training;
  DigitsCnnOptions evaluation;
  evaluation.batch = kDigitsHeldOut;
  return RecordMain(argc, argv,
                    {{"digits_cnn_train",
                      [&](oa::Graph& graph) { return RecordDigitsCnnTraining(graph, training); }},
                     {"digits_cnn_eval", [&](oa::Graph& graph) {
                        return RecordDigitsCnnEvaluation(graph, evaluation);
                      }}});
}
