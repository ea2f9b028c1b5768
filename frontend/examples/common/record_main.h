// The main function of the programs that record an example.
#ifndef OA_FRONTEND_EXAMPLES_COMMON_RECORD_MAIN_H_
#define OA_FRONTEND_EXAMPLES_COMMON_RECORD_MAIN_H_

#include <functional>
#include <string>
#include <vector>

#include "frontend/oa.h"

namespace oa::examples {

struct Recording {
  std::string name;  // of the graph, and of the file without ".oag"
  std::function<absl::Status(Graph& graph)> record;
};

// `record_EXAMPLE FOLDER` writes FOLDER/NAME.oag for every recording. Returns the exit code.
int RecordMain(int argc, char** argv, const std::vector<Recording>& recordings);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_COMMON_RECORD_MAIN_H_
