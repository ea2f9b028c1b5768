// The operator reference: every operator with its words, and the calls that record it.
#include "tools/docs/reference_page.h"

#include <doctest/doctest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/op.h"
#include "tools/common/html.h"

namespace oa::tools {
namespace {

Signatures FrontendSignatures() {
  const absl::StatusOr<Signatures> read = ReadSignatures(absl::StrCat(OA_SOURCE_DIR, "/frontend"));
  REQUIRE_MESSAGE(read.ok(), read.status().ToString());
  return *read;
}

bool IsBackward(const ir::OpDef& op) { return absl::EndsWith(op.name, "_backward"); }

TEST_CASE("reference: declarations are read from headers") {
  Signatures signatures;
  AddSignatures(
      "namespace oa::a {\n"
      "// Result<Matrix> not_this(int x);\n"
      "Result<Matrix> one(const Matrix& x);  // with a remark; and a semicolon\n"
      "Result<std::vector<Matrix>> two(const Matrix& x,\n"
      "                                int y = 3);\n"
      "  Result<Matrix> member();\n"
      "}  // namespace oa::a\n"
      "namespace oa::b {\n"
      "inline Result<Matrix> one(int x) {\n"
      "  return x;\n"
      "}\n",
      signatures);
  CHECK_EQ(signatures.size(), 2);
  CHECK_EQ(absl::StrJoin(signatures["one"], " / "),
           "Result<Matrix> oa::a::one(const Matrix& x) / Result<Matrix> oa::b::one(int x)");
  CHECK_EQ(absl::StrJoin(signatures["two"], " / "),
           "Result<std::vector<Matrix>> oa::a::two(const Matrix& x, int y = 3)");
  CHECK_EQ(ReadSignatures("/nonexistent").status().code(), absl::StatusCode::kNotFound);
}

TEST_CASE("reference: the page has every operator with its call, errors and backward node") {
  const Signatures signatures = FrontendSignatures();
  const std::string page = ReferenceMarkdown(signatures);
  const std::string html = ReferenceHtml(signatures);
  for (const ir::OpDef& op : ir::OpTable()) {
    INFO(op.name);
    CHECK(absl::StrContains(page, absl::StrCat("`", op.equation, "`\n")));
    CHECK(absl::StrContains(html, HtmlEscape(op.equation)));
    CHECK_EQ(absl::StrContains(page, absl::StrCat("\n### ", op.name, "\n")), !IsBackward(op));
  }
  CHECK(absl::StrContains(
      page, "* **Call**: `Result<Matrix> oa::matrix::softmax(const Matrix& x, std::size_t axis)`"));
  CHECK(absl::StrContains(page, "* **Rejects**: an axis that x does not have\n"));
  CHECK(absl::StrContains(page, "* **Backward node**: `linear_backward(g, x, weight) -> dx?"));
  CHECK(absl::StrContains(page, "* **Operands**: x (f32, has a gradient), weight"));
}

// Adjoints, optimisers and initialisers record the others.
TEST_CASE("reference: few operators have no call of their own") {
  const Signatures signatures = FrontendSignatures();
  std::vector<std::string> without;
  for (const ir::OpDef& op : ir::OpTable()) {
    if (!IsBackward(op) && signatures.count(op.name) == 0) without.push_back(op.name);
  }
  CHECK_EQ(absl::StrJoin(without, " "),
           "adam_step adamw_step broadcast_to optimiser_advance replay_advance sgd_step sum_to");
}

}  // namespace
}  // namespace oa::tools
