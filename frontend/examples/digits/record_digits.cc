// Records the digits classifier: `record_digits FOLDER` writes digits_train.oag (one training step
// on 32 images) and digits_eval.oag (evaluation of 360 images) into FOLDER.
#include <cstdio>
#include <string>

#include "frontend/examples/digits/digits_model.h"

namespace {

absl::Status RecordBoth(const std::string& folder) {
  oa::examples::DigitsOptions options;
  oa::Graph training("digits_train");
  OA_RETURN_IF_ERROR(oa::examples::RecordDigitsTraining(training, options));
  OA_RETURN_IF_ERROR(training.Save(folder + "/digits_train.oag"));

  options.batch = 360;
  oa::Graph evaluation("digits_eval");
  OA_RETURN_IF_ERROR(oa::examples::RecordDigitsEvaluation(evaluation, options));
  return evaluation.Save(folder + "/digits_eval.oag");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: record_digits FOLDER\n");
    return 2;
  }
  const absl::Status status = RecordBoth(argv[1]);
  if (!status.ok()) {
    std::fprintf(stderr, "record_digits: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  std::printf("recorded %s/digits_train.oag and %s/digits_eval.oag\n", argv[1], argv[1]);
  return 0;
}
