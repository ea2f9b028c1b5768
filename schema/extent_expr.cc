#include "schema/extent_expr.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa {
namespace {

// Kernels need a handful of terms; the limits keep text from an untrusted file from exhausting the
// stack.
constexpr size_t kMaxLength = 4096;
constexpr int kMaxDepth = 32;

// Recursive descent that evaluates while it parses. A failed operation counts as 0 and is
// remembered, so that a syntax error or unknown name later in the text is still found.
class Evaluator {
 public:
  Evaluator(absl::string_view text, const ExtentScope& scope) : text_(text), scope_(scope) {}

  absl::StatusOr<uint64_t> Run() {
    if (text_.size() > kMaxLength) {
      return absl::InvalidArgumentError(absl::StrCat("an extent expression has ", text_.size(),
                                                     " characters, the limit is ", kMaxLength,
                                                     "."));
    }
    const uint64_t value = Comparison();
    if (error_.ok() && !AtEnd()) Fail("unexpected text");
    if (!error_.ok()) return error_;
    if (!arithmetic_.ok()) return arithmetic_;
    return value;
  }

 private:
  void SkipSpace() {
    while (position_ < text_.size() && absl::ascii_isspace(text_[position_])) ++position_;
  }
  bool AtEnd() {
    SkipSpace();
    return position_ == text_.size();
  }
  bool Accept(absl::string_view token) {
    SkipSpace();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  void Expect(absl::string_view token) {
    if (!Accept(token)) Fail(absl::StrCat("expected '", token, "'"));
  }
  // After the first error the rest of the text is skipped.
  void Fail(absl::string_view reason) {
    if (error_.ok()) {
      error_ = absl::InvalidArgumentError(absl::StrCat("the extent expression '", text_, "' has ",
                                                       reason, " at position ", position_, "."));
    }
    position_ = text_.size();
  }
  uint64_t Arithmetic(absl::string_view reason) {
    if (arithmetic_.ok()) {
      arithmetic_ =
          absl::DataLossError(absl::StrCat("the extent expression '", text_, "' ", reason, "."));
    }
    return 0;
  }
  uint64_t OrOverflow(std::optional<uint64_t> value) {
    return value ? *value : Arithmetic("exceeds 64 bits");
  }

  uint64_t Comparison() {
    uint64_t left = Sum();
    while (true) {
      if (Accept("==")) {
        left = left == Sum();
      } else if (Accept("!=")) {
        left = left != Sum();
      } else if (Accept("<")) {
        left = left < Sum();
      } else if (Accept(">")) {
        left = left > Sum();
      } else {
        return left;
      }
    }
  }

  uint64_t Sum() {
    uint64_t left = Product();
    while (true) {
      if (Accept("+")) {
        left = OrOverflow(CheckedAdd(left, Product()));
      } else if (Accept("-")) {
        const uint64_t right = Product();
        left = left >= right ? left - right : Arithmetic("has a negative difference");
      } else {
        return left;
      }
    }
  }

  uint64_t Product() {
    uint64_t left = Primary();
    while (true) {
      if (Accept("*")) {
        left = OrOverflow(CheckedMul(left, Primary()));
      } else if (Accept("/")) {
        const uint64_t right = Primary();
        left = right != 0 ? left / right : Arithmetic("divides by zero");
      } else {
        return left;
      }
    }
  }

  uint64_t Primary() {
    SkipSpace();
    if (position_ == text_.size()) {
      Fail("a missing operand");
      return 0;
    }
    const char c = text_[position_];
    if (absl::ascii_isdigit(c)) return Number();
    if (absl::ascii_isalpha(c) || c == '_') return NameOrCall();
    if (c != '(') {
      Fail(absl::StrCat("an unexpected '", absl::string_view(&c, 1), "'"));
      return 0;
    }
    ++position_;
    return Nested([this] { return Comparison(); });
  }

  // Evaluates `inside` and the closing parenthesis, one level deeper.
  template <class F>
  uint64_t Nested(F inside) {
    if (++depth_ > kMaxDepth) {
      Fail(absl::StrCat("more than ", kMaxDepth, " nested parentheses"));
      return 0;
    }
    const uint64_t value = inside();
    Expect(")");
    --depth_;
    return value;
  }

  uint64_t Number() {
    std::optional<uint64_t> value = 0;
    const size_t start = position_;
    for (; position_ < text_.size() && absl::ascii_isdigit(text_[position_]); ++position_) {
      value = CheckedMul(*value, 10);
      if (value) value = CheckedAdd(*value, static_cast<uint64_t>(text_[position_] - '0'));
      if (!value) {
        position_ = start;
        Fail("a number above 64 bits");
        return 0;
      }
    }
    return *value;
  }

  uint64_t NameOrCall() {
    const size_t start = position_;
    while (position_ < text_.size() &&
           (absl::ascii_isalnum(text_[position_]) || text_[position_] == '_')) {
      ++position_;
    }
    const absl::string_view name = text_.substr(start, position_ - start);
    if (Accept("(")) return Nested([&] { return Call(name); });
    const std::optional<uint64_t> value = scope_(name);
    if (!value) {
      position_ = start;
      Fail(absl::StrCat("the unknown name '", name, "'"));
    }
    return value.value_or(0);
  }

  uint64_t Call(absl::string_view function) {
    const uint64_t a = Comparison();
    Expect(",");
    const uint64_t b = Comparison();
    if (function == "min") return std::min(a, b);
    if (function == "max") return std::max(a, b);
    if (function == "ceil_div") return b != 0 ? CeilDiv(a, b) : Arithmetic("divides by zero");
    Fail(absl::StrCat("the unknown function '", function, "'"));
    return 0;
  }

  absl::string_view text_;
  const ExtentScope& scope_;
  size_t position_ = 0;
  int depth_ = 0;
  absl::Status error_;
  absl::Status arithmetic_;
};

}  // namespace

absl::StatusOr<uint64_t> EvaluateExtent(absl::string_view expression, const ExtentScope& scope) {
  return Evaluator(expression, scope).Run();
}

}  // namespace oa
