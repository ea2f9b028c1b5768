// Table: aligned columns of text that never exceed a terminal's width. Not thread-safe.
#ifndef OA_TOOLS_COMMON_TABLE_H_
#define OA_TOOLS_COMMON_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace oa::tools {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    bool elastic = false;  // gives way first when the table is too wide
    bool wrap = false;     // too long cells continue on the next line instead of being shortened
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell a column; missing ones are empty.
  void Add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // A title line, then the rows; every line ends with a newline and has at most `width` columns.
  std::string Text(size_t width = 80) const;

 private:
  std::vector<size_t> Widths(size_t width) const;
  std::string Row(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;
  std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_TABLE_H_
