#include "tools/docs/reference_page.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ir/op.h"
#include "tools/common/html.h"
#include "tools/common/op_text.h"

namespace oa::tools {
namespace {

constexpr char kTitle[] = "Operator reference";
constexpr absl::string_view kBackward = "_backward";

// ---- What the page says ----

struct Field {
  std::string label;
  std::string text;
  bool code = false;
};

struct Entry {
  std::string name;
  std::vector<Field> fields;
};

using Families = std::map<std::string, std::vector<Entry>>;

std::string OperandsText(const ir::OpDef& op) {
  std::vector<std::string> operands;
  for (const ir::OperandDef& operand : op.operands) {
    operands.push_back(
        absl::StrCat(operand.name, " (", absl::StrJoin(OperandMarks(op, operand), ", "), ")"));
  }
  return operands.empty() ? "none" : absl::StrJoin(operands, ", ");
}

std::string AttributesText(const ir::OpDef& op) {
  std::vector<std::string> attributes;
  for (const ir::AttributeDef& attribute : op.attributes) {
    attributes.push_back(absl::StrCat(attribute.name, " (", AttributeText(attribute), ")"));
  }
  return absl::StrJoin(attributes, ", ");
}

std::string ResultsText(const ir::OpDef& op) {
  std::vector<std::string> results;
  for (const ir::ResultDef& result : op.results) {
    const bool detached = op.adjoint != nullptr && !result.differentiable;
    results.push_back(absl::StrCat(result.name, result.optional ? " (optional)" : "",
                                   detached ? " (detached)" : ""));
  }
  return absl::StrJoin(results, ", ");
}

std::string GradientsText(const ir::OpDef& op) {
  std::vector<std::string> names;
  for (const ir::OperandDef& operand : op.operands) {
    if (HasGradient(op, operand)) names.push_back(operand.name);
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

void AddField(const char* label, std::string text, bool code, Entry& entry) {
  if (!text.empty()) entry.fields.push_back({label, std::move(text), code});
}

Entry MakeEntry(const ir::OpDef& op, const Signatures& signatures) {
  Entry entry = {op.name, {}};
  AddField("Equation", op.equation, true, entry);
  const auto calls = signatures.find(op.name);
  if (calls != signatures.end()) {
    for (const std::string& call : calls->second) AddField("Call", call, true, entry);
  }
  AddField("Shapes", op.shapes, false, entry);
  AddField("Operands", OperandsText(op), false, entry);
  AddField("Attributes", AttributesText(op), false, entry);
  AddField("Results", ResultsText(op), false, entry);
  AddField("Gradients", GradientsText(op), false, entry);
  AddField("Rejects", op.rejects, false, entry);
  AddField("Without elements", op.allow_empty ? "allowed" : "", false, entry);
  AddField("Notes", op.notes, false, entry);
  AddField("Kernels", absl::StrJoin(op.kernels, ", "), false, entry);
  const ir::OpDef* backward = ir::FindOp(absl::StrCat(op.name, kBackward));
  if (backward != nullptr) {
    AddField("Backward node", CallText(*backward), true, entry);
    AddField("Backward equation", backward->equation, true, entry);
    AddField("Backward shapes", backward->shapes, false, entry);
    AddField("Backward kernels", absl::StrJoin(backward->kernels, ", "), false, entry);
  }
  return entry;
}

Families MakeFamilies(const Signatures& signatures) {
  Families families;
  for (const ir::OpDef& op : ir::OpTable()) {
    if (absl::EndsWith(op.name, kBackward)) continue;
    families[op.family].push_back(MakeEntry(op, signatures));
  }
  return families;
}

std::vector<std::string> Introduction() {
  return {
      "Written by the operator table (ir/ops) and the headers of the recording API; `oa-run ops` "
      "prints the same for one operator, with the kernels of a device.",
      absl::StrCat("Every operator refuses ", kCommonRejects,
                   ". `Rejects` lists what else it refuses. A refused call returns "
                   "InvalidArgument and records nothing."),
      "`Gradients` lists the operands that have one. A backward node is what differentiation "
      "records; its optional results are recorded when somebody needs them. `elementwise` among "
      "the kernels means programs that are fused with what is in front of and behind them. CPU "
      "devices refuse the few calls in which one invocation would make more than 60000 loop "
      "iterations."};
}

// ---- Markdown ----

// GitHub's Markdown, outside of code.
std::string MarkdownText(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"|", "\\|"}, {"*", "\\*"}, {"_", "\\_"}, {"<", "&lt;"}, {"[", "\\["}});
}

std::string MarkdownField(const Field& field) {
  return absl::StrCat(
      "* **", field.label,
      "**: ", field.code ? absl::StrCat("`", field.text, "`") : MarkdownText(field.text), "\n");
}

std::string MarkdownLink(const Entry& entry) {
  return absl::StrCat("[", MarkdownText(entry.name), "](#", entry.name, ")");
}

// ---- HTML ----

std::string HtmlField(const Field& field) {
  const std::string text = HtmlEscape(field.text);
  return absl::StrCat("<dt>", field.label, "</dt><dd>",
                      field.code ? absl::StrCat("<code>", text, "</code>") : text, "</dd>\n");
}

std::string HtmlLink(const Entry& entry) {
  return absl::StrCat("<a href=\"#", entry.name, "\">", HtmlEscape(entry.name), "</a>");
}

}  // namespace

std::string ReferenceMarkdown(const Signatures& signatures) {
  const Families families = MakeFamilies(signatures);
  std::string page = absl::StrCat("# ", kTitle, "\n\n");
  for (const std::string& paragraph : Introduction()) absl::StrAppend(&page, paragraph, "\n\n");
  for (const auto& [family, entries] : families) {
    absl::StrAppend(&page, "* [", family, "](#family-", family, "): ",
                    absl::StrJoin(entries, ", ",
                                  [](std::string* out, const Entry& entry) {
                                    absl::StrAppend(out, MarkdownLink(entry));
                                  }),
                    "\n");
  }
  for (const auto& [family, entries] : families) {
    absl::StrAppend(&page, "\n## Family ", family, "\n");
    for (const Entry& entry : entries) {
      absl::StrAppend(&page, "\n### ", entry.name, "\n\n");
      for (const Field& field : entry.fields) absl::StrAppend(&page, MarkdownField(field));
    }
  }
  return page;
}

std::string ReferenceHtml(const Signatures& signatures) {
  const Families families = MakeFamilies(signatures);
  HtmlPage page(kTitle);
  for (const std::string& paragraph : Introduction()) page.Paragraph(paragraph);
  std::string contents = "<ul>\n";
  for (const auto& [family, entries] : families) {
    absl::StrAppend(&contents, "<li>", family, ": ",
                    absl::StrJoin(entries, ", ",
                                  [](std::string* out, const Entry& entry) {
                                    absl::StrAppend(out, HtmlLink(entry));
                                  }),
                    "</li>\n");
  }
  page.Markup(contents + "</ul>\n");
  for (const auto& [family, entries] : families) {
    page.Heading(absl::StrCat("Family ", family));
    for (const Entry& entry : entries) {
      std::string text = absl::StrCat("<h3 id=\"", entry.name, "\">", entry.name, "</h3>\n<dl>\n");
      for (const Field& field : entry.fields) absl::StrAppend(&text, HtmlField(field));
      page.Markup(text + "</dl>\n");
    }
  }
  return page.Text();
}

}  // namespace oa::tools
