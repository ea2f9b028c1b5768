#include "frontend/examples/common/record_main.h"

#include <cstdio>

namespace oa::examples {
namespace {

absl::Status Save(const Recording& recording, const std::string& path) {
  Graph graph(recording.name);
  OA_RETURN_IF_ERROR(recording.record(graph));
  return graph.Save(path);
}

}  // namespace

int RecordMain(int argc, char** argv, const std::vector<Recording>& recordings) {
  const std::string program = std::string(argv[0]).substr(std::string(argv[0]).rfind('/') + 1);
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", program.c_str());
    return 2;
  }
  for (const Recording& recording : recordings) {
    const std::string path = std::string(argv[1]) + "/" + recording.name + ".oag";
    const absl::Status status = Save(recording, path);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s: %s\n", program.c_str(), recording.name.c_str(),
                   std::string(status.message()).c_str());
      return 1;
    }
    std::printf("recorded %s\n", path.c_str());
  }
  return 0;
}

}  // namespace oa::examples
