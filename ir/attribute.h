// Attributes: the host-side configuration of a node, and its hash, config_identity.
#ifndef OA_IR_ATTRIBUTE_H_
#define OA_IR_ATTRIBUTE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace oa::ir {

// Kind of an attribute and with it the words it contributes to config_identity.
// The numbers are stored in files: append only.
enum class AttributeKind : uint8_t {
  kI64 = 0,          // two words, low first
  kU64 = 1,          // two words, low first
  kU32 = 2,          // one word
  kF32 = 3,          // one word, the IEEE-754 bits
  kBool = 4,         // one word, 0 or 1
  kToken = 5,        // one word, the token's number in its operator row
  kI64List = 6,      // the length as one word, then each element as kI64
  kOptionalI64 = 7,  // 0, or 1 and then the value as kI64
};

// "i64", "optional i64".
const char* AttributeKindName(AttributeKind kind);

struct Attribute {
  std::string name;
  AttributeKind kind = AttributeKind::kI64;
  int64_t integer = 0;            // kI64, kU64 (bits), kU32, kBool, kOptionalI64
  bool present = true;            // kOptionalI64
  float real = 0;                 // kF32
  std::string token;              // kToken
  std::vector<int64_t> integers;  // kI64List
};

// An ordered list of attributes. The setters append and return *this for chaining.
class Attributes {
 public:
  Attributes& I64(absl::string_view name, int64_t value);
  Attributes& U64(absl::string_view name, uint64_t value);
  Attributes& U32(absl::string_view name, uint32_t value);
  Attributes& F32(absl::string_view name, float value);
  Attributes& Bool(absl::string_view name, bool value);
  Attributes& Token(absl::string_view name, absl::string_view value);
  Attributes& List(absl::string_view name, std::vector<int64_t> value);
  Attributes& Optional(absl::string_view name, std::optional<int64_t> value);
  void Append(Attribute attribute) { list_.push_back(std::move(attribute)); }

  // The attribute called `name`. The operator table has checked that it exists: asking for an
  // unknown one is a bug and aborts.
  int64_t i64(absl::string_view name) const;
  uint64_t u64(absl::string_view name) const;
  uint32_t u32(absl::string_view name) const;
  float f32(absl::string_view name) const;
  bool boolean(absl::string_view name) const;
  const std::string& token(absl::string_view name) const;
  const std::vector<int64_t>& list(absl::string_view name) const;
  std::optional<int64_t> optional(absl::string_view name) const;

  absl::Span<const Attribute> all() const { return list_; }
  bool empty() const { return list_.empty(); }

 private:
  const Attribute& Get(absl::string_view name, AttributeKind kind) const;

  std::vector<Attribute> list_;
};

// What an operator row says about one of its attributes.
struct AttributeDef {
  std::string name;
  AttributeKind kind = AttributeKind::kI64;
  std::vector<std::string> tokens;  // kToken: the allowed values; position is the stable number
};

// InvalidArgument unless `attributes` are exactly `defs` in order, with allowed tokens.
absl::Status CheckAttributes(absl::string_view op, absl::Span<const AttributeDef> defs,
                             const Attributes& attributes);

// FNV-1a 64 over the attributes' words in declared order; the offset basis when there are none.
// Pre-condition: CheckAttributes is OK.
uint64_t ConfigIdentity(absl::Span<const AttributeDef> defs, const Attributes& attributes);

// "axis=1, epsilon=1e-05"; "" when there are none.
std::string AttributesText(const Attributes& attributes);

}  // namespace oa::ir

#endif  // OA_IR_ATTRIBUTE_H_
