// Includes only point down: schema <- ir <- frontend, schema <- executor, everything <- tools. The
// examples are programs on top: nothing but tests may include them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace {

constexpr char kExamples[] = "frontend/examples";

// What each folder may include besides itself and system headers.
const std::map<std::string, std::set<std::string>>& Allowed() {
  static const auto& allowed = *new std::map<std::string, std::set<std::string>>{
      {"schema", {}},
      {"ir", {"schema", "kernels"}},  // of kernels only the opcode list
      {"frontend", {"schema", "ir"}},
      {kExamples, {"schema", "frontend", "executor", "tools"}},
      {"executor", {"schema"}},
      {"tools", {"schema", "ir", "frontend", "executor", "kernels"}},
      {"kernels", {}}};
  return allowed;
}

bool IsSource(const std::filesystem::path& path) {
  return path.extension() == ".h" || path.extension() == ".cc";
}

// The folder of Allowed that a path from the root is in, or its first folder.
std::string LayerOf(const std::string& path) {
  if (path.rfind(std::string(kExamples) + "/", 0) == 0) return kExamples;
  return path.substr(0, path.find('/'));
}

TEST_CASE("layering: no include crosses a layer") {
  const std::filesystem::path root = OA_SOURCE_DIR;
  std::map<std::string, int> files;
  for (const char* top : {"schema", "ir", "frontend", "executor", "tools", "kernels"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / top)) {
      if (!IsSource(entry.path())) continue;
      const std::string layer = LayerOf(entry.path().lexically_relative(root).generic_string());
      const std::set<std::string>& allowed = Allowed().at(layer);
      ++files[layer];
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        if (line.rfind("#include \"", 0) != 0) continue;
        const std::string target = LayerOf(line.substr(10, line.rfind('"') - 10));
        if (target == layer || (target != "tests" && Allowed().count(target) == 0)) continue;
        CHECK_MESSAGE(allowed.count(target) == 1, entry.path().string(), ": ", line);
      }
    }
  }
  for (const auto& [layer, allowed] : Allowed()) CHECK_MESSAGE(files[layer] > 0, layer);
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
