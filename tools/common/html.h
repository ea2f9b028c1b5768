// HtmlPage: one self-contained page, readable without a network and in dark mode.
#ifndef OA_TOOLS_COMMON_HTML_H_
#define OA_TOOLS_COMMON_HTML_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace oa::tools {

// Text made safe for element content and quoted attributes.
std::string HtmlEscape(absl::string_view text);

class HtmlPage {
 public:
  explicit HtmlPage(absl::string_view title);

  void Heading(absl::string_view text);
  void Paragraph(absl::string_view text);
  // Cells are text. Columns whose index is in `numeric` are aligned to the right.
  void Table(const std::vector<std::string>& titles,
             const std::vector<std::vector<std::string>>& rows,
             const std::vector<int>& numeric = {});
  // Markup that is already safe, such as an SVG of ours.
  void Markup(absl::string_view markup) { body_.append(markup.data(), markup.size()); }

  std::string Text() const;

 private:
  std::string title_;
  std::string body_;
};

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_HTML_H_
