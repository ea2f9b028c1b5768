// A folder that disappears with its object, and small file helpers.
#ifndef OA_TESTS_TOOLS_TEMP_FOLDER_H_
#define OA_TESTS_TOOLS_TEMP_FOLDER_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace oa::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "oa_tools_XXXXXX").string();
    path_ = mkdtemp(name.data()) == nullptr ? "." : name;
  }
  ~TempFolder() {
    std::error_code error;
    if (path_ != ".") std::filesystem::remove_all(path_, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::vector<uint8_t> Bytes(const std::string& text) { return {text.begin(), text.end()}; }

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace oa::testing

#endif  // OA_TESTS_TOOLS_TEMP_FOLDER_H_
