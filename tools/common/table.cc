#include "tools/common/table.h"

#include <algorithm>
#include <numeric>

#include "tools/common/text.h"

namespace oa::tools {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kGap = 2;
// Elastic columns are not squeezed below this while a rigid column could give way.
constexpr size_t kReadable = 12;

size_t Total(const std::vector<size_t>& widths) {
  return kIndent + std::accumulate(widths.begin(), widths.end(), size_t{0}) +
         kGap * (widths.size() - 1);
}

}  // namespace

void Table::Add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::Widths(size_t width) const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  while (Total(widths) > width) {
    size_t widest = 0;
    size_t best = 0;
    for (size_t i = 0; i < widths.size(); ++i) {
      // Elastic columns count as wider than any rigid one while they are readable.
      const bool gives = columns_[i].elastic && widths[i] > kReadable;
      const size_t weight = widths[i] + (gives ? size_t{1} << 32 : 0);
      if (weight > best) {
        best = weight;
        widest = i;
      }
    }
    if (widths[widest] <= 1) break;
    --widths[widest];
  }
  return widths;
}

std::string Table::Line(const std::vector<std::string>& cells,
                        const std::vector<size_t>& widths) const {
  std::string line(kIndent, ' ');
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line.append(kGap, ' ');
    const std::string cell = Shorten(cells[i], widths[i]);
    const size_t padding = widths[i] - std::min(widths[i], DisplayWidth(cell));
    if (columns_[i].align == Align::kRight) line.append(padding, ' ');
    line.append(cell);
    if (columns_[i].align == Align::kLeft) line.append(padding, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string Table::Row(const std::vector<std::string>& cells,
                       const std::vector<size_t>& widths) const {
  std::vector<std::vector<std::string>> parts;
  size_t lines = 1;
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool wraps = columns_[i].wrap && DisplayWidth(cells[i]) > widths[i];
    parts.push_back(wraps ? WrapWords(cells[i], widths[i]) : std::vector<std::string>{cells[i]});
    lines = std::max(lines, parts.back().size());
  }
  std::string text;
  for (size_t line = 0; line < lines; ++line) {
    std::vector<std::string> row;
    for (const auto& part : parts) row.push_back(line < part.size() ? part[line] : "");
    text.append(Line(row, widths));
  }
  return text;
}

std::string Table::Text(size_t width) const {
  const std::vector<size_t> widths = Widths(width);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text = Line(titles, widths);
  for (const auto& row : rows_) text.append(Row(row, widths));
  return text;
}

}  // namespace oa::tools
