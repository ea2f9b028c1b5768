#include "tools/common/html.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tools/common/text.h"

namespace oa::tools {
namespace {

constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem;
       padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.scroll { overflow-x: auto; max-height: 40rem; }
table { border-collapse: collapse; } th { position: sticky; top: 0; background: Canvas; }
th, td { text-align: left; padding: .2rem .7rem; border-bottom: 1px solid var(--line);
         vertical-align: top; white-space: nowrap; }
td.wide { white-space: normal; } .n { text-align: right; font-variant-numeric: tabular-nums; }
tbody tr:hover { background: var(--soft); }
svg { background: var(--soft); } svg text { fill: currentColor; font-size: 11px; }
svg rect:hover { stroke: currentColor; }
)";

}  // namespace

std::string HtmlEscape(absl::string_view text) {
  std::string out;
  for (char c : Printable(text)) {
    switch (c) {
      case '&':
        out.append("&amp;");
        break;
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '"':
        out.append("&quot;");
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

HtmlPage::HtmlPage(absl::string_view title) : title_(HtmlEscape(title)) {
  absl::StrAppend(&body_, "<h1>", title_, "</h1>\n");
}

void HtmlPage::Heading(absl::string_view text) {
  absl::StrAppend(&body_, "<h2>", HtmlEscape(text), "</h2>\n");
}

void HtmlPage::Paragraph(absl::string_view text) {
  absl::StrAppend(&body_, "<p>", HtmlEscape(text), "</p>\n");
}

void HtmlPage::Table(const std::vector<std::string>& titles,
                     const std::vector<std::vector<std::string>>& rows,
                     const std::vector<int>& numeric) {
  constexpr size_t kWide = 60;
  const auto row = [&](const char* tag, const std::vector<std::string>& cells) {
    absl::StrAppend(&body_, "<tr>");
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool right = absl::c_linear_search(numeric, static_cast<int>(i));
      const char* style = right ? " class=\"n\"" : cells[i].size() > kWide ? " class=\"wide\"" : "";
      absl::StrAppend(&body_, "<", tag, style, ">", HtmlEscape(cells[i]), "</", tag, ">");
    }
    absl::StrAppend(&body_, "</tr>\n");
  };
  absl::StrAppend(&body_, "<div class=\"scroll\"><table><thead>");
  row("th", titles);
  absl::StrAppend(&body_, "</thead><tbody>\n");
  for (const auto& cells : rows) row("td", cells);
  absl::StrAppend(&body_, "</tbody></table></div>\n");
}

std::string HtmlPage::Text() const {
  return absl::StrCat("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>",
                      title_,
                      "</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n<style>",
                      kStyle, "</style></head>\n<body>\n", body_, "</body></html>\n");
}

}  // namespace oa::tools
