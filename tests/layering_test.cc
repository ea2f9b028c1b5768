// Includes only point down: schema <- ir <- frontend, schema <- executor, everything <- tools.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace {

// What each folder may include besides itself and system headers.
const std::map<std::string, std::set<std::string>>& Allowed() {
  static const auto& allowed = *new std::map<std::string, std::set<std::string>>{
      {"schema", {}},
      {"ir", {"schema", "kernels"}},  // of kernels only the opcode list
      {"frontend", {"schema", "ir"}},
      {"executor", {"schema"}},
      {"kernels", {}}};
  return allowed;
}

// Programs, which like tools may use everything.
bool IsExample(const std::filesystem::path& path) {
  return path.string().find("/frontend/examples/") != std::string::npos;
}

bool IsSource(const std::filesystem::path& path) {
  return path.extension() == ".h" || path.extension() == ".cc";
}

TEST_CASE("layering: no include crosses a layer") {
  const std::set<std::string> layers = {"schema", "ir", "frontend", "executor", "tools", "kernels",
                                        "tests"};
  const std::filesystem::path root = OA_SOURCE_DIR;
  int files = 0;
  for (const auto& [folder, allowed] : Allowed()) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!IsSource(entry.path()) || IsExample(entry.path())) continue;
      ++files;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        if (line.rfind("#include \"", 0) != 0) continue;
        const std::string target = line.substr(10, line.find('/', 10) - 10);
        if (target == folder || layers.count(target) == 0) continue;
        CHECK_MESSAGE(allowed.count(target) == 1, entry.path().string(), ": ", line);
      }
    }
  }
  CHECK(files > 50);
}

TEST_CASE("layering: only the executor and its tests know Vulkan") {
  const std::filesystem::path root = OA_SOURCE_DIR;
  for (const char* folder : {"schema", "ir", "frontend", "tools"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!IsSource(entry.path())) continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        const bool includes = line.rfind("#include", 0) == 0;
        const bool vulkan = line.find("vulkan") != std::string::npos ||
                            line.find("volk") != std::string::npos;
        const bool crosses = includes && vulkan;
        CHECK_MESSAGE(!crosses, entry.path().string(), ": ", line);
      }
    }
  }
}

}  // namespace
