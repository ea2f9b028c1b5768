#include "ir/attribute.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "schema/fnv.h"

namespace oa::ir {

const char* AttributeKindName(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kI64:
      return "i64";
    case AttributeKind::kU64:
      return "u64";
    case AttributeKind::kU32:
      return "u32";
    case AttributeKind::kF32:
      return "f32";
    case AttributeKind::kBool:
      return "bool";
    case AttributeKind::kToken:
      return "token";
    case AttributeKind::kI64List:
      return "list of i64";
    case AttributeKind::kOptionalI64:
      return "optional i64";
  }
  return "unknown kind";
}

namespace {

Attribute Integer(absl::string_view name, AttributeKind kind, int64_t value) {
  Attribute attribute;
  attribute.name = std::string(name);
  attribute.kind = kind;
  attribute.integer = value;
  return attribute;
}

std::string ValueText(const Attribute& a) {
  switch (a.kind) {
    case AttributeKind::kU64:
      return absl::StrCat(static_cast<uint64_t>(a.integer));
    case AttributeKind::kF32:
      return absl::StrCat(a.real);
    case AttributeKind::kBool:
      return a.integer != 0 ? "true" : "false";
    case AttributeKind::kToken:
      return a.token;
    case AttributeKind::kI64List:
      return absl::StrCat("[", absl::StrJoin(a.integers, ", "), "]");
    case AttributeKind::kOptionalI64:
      return a.present ? absl::StrCat(a.integer) : "none";
    default:
      return absl::StrCat(a.integer);
  }
}

absl::Status Mismatch(absl::string_view op, absl::string_view name, absl::string_view sentence) {
  return absl::InvalidArgumentError(absl::StrCat(op, ": attribute '", name, "' ", sentence));
}

absl::Status CheckOne(absl::string_view op, const AttributeDef& def, const Attribute& given) {
  if (given.name != def.name) {
    return Mismatch(op, def.name, absl::StrCat("is missing; '", given.name, "' is in its place"));
  }
  if (given.kind != def.kind) {
    return Mismatch(op, def.name,
                    absl::StrCat("must be ", AttributeKindName(def.kind), ", got ",
                                 AttributeKindName(given.kind)));
  }
  if (def.kind == AttributeKind::kToken && !absl::c_linear_search(def.tokens, given.token)) {
    return Mismatch(
        op, def.name,
        absl::StrCat("is '", given.token, "', must be one of ", absl::StrJoin(def.tokens, ", ")));
  }
  // The setters cannot break these two; a file can.
  if (def.kind == AttributeKind::kU32 && (given.integer < 0 || given.integer > UINT32_MAX)) {
    return Mismatch(op, def.name, absl::StrCat("is ", given.integer, ", outside 32 bits"));
  }
  if (def.kind == AttributeKind::kBool && given.integer != 0 && given.integer != 1) {
    return Mismatch(op, def.name, absl::StrCat("is ", given.integer, ", must be 0 or 1"));
  }
  return absl::OkStatus();
}

void HashOne(const AttributeDef& def, const Attribute& a, Fnv1a64& hash) {
  switch (a.kind) {
    case AttributeKind::kI64:
    case AttributeKind::kU64:
      return hash.Word64(static_cast<uint64_t>(a.integer));
    case AttributeKind::kU32:
    case AttributeKind::kBool:
      return hash.Word(static_cast<uint32_t>(a.integer));
    case AttributeKind::kF32:
      return hash.Float(a.real);
    case AttributeKind::kToken:
      return hash.Word(
          static_cast<uint32_t>(absl::c_find(def.tokens, a.token) - def.tokens.begin()));
    case AttributeKind::kI64List:
      hash.Word(static_cast<uint32_t>(a.integers.size()));
      for (int64_t element : a.integers) hash.Word64(static_cast<uint64_t>(element));
      return;
    case AttributeKind::kOptionalI64:
      hash.Word(a.present ? 1 : 0);
      if (a.present) hash.Word64(static_cast<uint64_t>(a.integer));
      return;
  }
}

}  // namespace

Attributes& Attributes::I64(absl::string_view name, int64_t value) {
  list_.push_back(Integer(name, AttributeKind::kI64, value));
  return *this;
}

Attributes& Attributes::U64(absl::string_view name, uint64_t value) {
  list_.push_back(Integer(name, AttributeKind::kU64, static_cast<int64_t>(value)));
  return *this;
}

Attributes& Attributes::U32(absl::string_view name, uint32_t value) {
  list_.push_back(Integer(name, AttributeKind::kU32, value));
  return *this;
}

Attributes& Attributes::F32(absl::string_view name, float value) {
  list_.push_back(Integer(name, AttributeKind::kF32, 0));
  list_.back().real = value;
  return *this;
}

Attributes& Attributes::Bool(absl::string_view name, bool value) {
  list_.push_back(Integer(name, AttributeKind::kBool, value ? 1 : 0));
  return *this;
}

Attributes& Attributes::Token(absl::string_view name, absl::string_view value) {
  list_.push_back(Integer(name, AttributeKind::kToken, 0));
  list_.back().token = std::string(value);
  return *this;
}

Attributes& Attributes::List(absl::string_view name, std::vector<int64_t> value) {
  list_.push_back(Integer(name, AttributeKind::kI64List, 0));
  list_.back().integers = std::move(value);
  return *this;
}

Attributes& Attributes::Optional(absl::string_view name, std::optional<int64_t> value) {
  list_.push_back(Integer(name, AttributeKind::kOptionalI64, value.value_or(0)));
  list_.back().present = value.has_value();
  return *this;
}

int64_t Attributes::i64(absl::string_view name) const {
  return Get(name, AttributeKind::kI64).integer;
}

uint64_t Attributes::u64(absl::string_view name) const {
  return static_cast<uint64_t>(Get(name, AttributeKind::kU64).integer);
}

uint32_t Attributes::u32(absl::string_view name) const {
  return static_cast<uint32_t>(Get(name, AttributeKind::kU32).integer);
}

float Attributes::f32(absl::string_view name) const { return Get(name, AttributeKind::kF32).real; }

bool Attributes::boolean(absl::string_view name) const {
  return Get(name, AttributeKind::kBool).integer != 0;
}

const std::string& Attributes::token(absl::string_view name) const {
  return Get(name, AttributeKind::kToken).token;
}

const std::vector<int64_t>& Attributes::list(absl::string_view name) const {
  return Get(name, AttributeKind::kI64List).integers;
}

std::optional<int64_t> Attributes::optional(absl::string_view name) const {
  const Attribute& attribute = Get(name, AttributeKind::kOptionalI64);
  return attribute.present ? std::optional<int64_t>(attribute.integer) : std::nullopt;
}

const Attribute& Attributes::Get(absl::string_view name, AttributeKind kind) const {
  for (const Attribute& attribute : list_) {
    if (attribute.name == name && attribute.kind == kind) return attribute;
  }
  std::fprintf(stderr, "internal error: no attribute '%s' of kind %s among (%s)\n",
               std::string(name).c_str(), AttributeKindName(kind), AttributesText(*this).c_str());
  std::abort();
}

absl::Status CheckAttributes(absl::string_view op, absl::Span<const AttributeDef> defs,
                             const Attributes& attributes) {
  const absl::Span<const Attribute> given = attributes.all();
  if (given.size() > defs.size()) {
    return Mismatch(op, given[defs.size()].name,
                    absl::StrCat("is not expected; there are ", defs.size(), " attributes"));
  }
  for (size_t i = 0; i < defs.size(); ++i) {
    if (i >= given.size()) return Mismatch(op, defs[i].name, "is missing");
    absl::Status checked = CheckOne(op, defs[i], given[i]);
    if (!checked.ok()) return checked;
  }
  return absl::OkStatus();
}

uint64_t ConfigIdentity(absl::Span<const AttributeDef> defs, const Attributes& attributes) {
  Fnv1a64 hash;
  for (size_t i = 0; i < defs.size(); ++i) HashOne(defs[i], attributes.all()[i], hash);
  return hash.value();
}

std::string AttributesText(const Attributes& attributes) {
  return absl::StrJoin(attributes.all(), ", ", [](std::string* out, const Attribute& a) {
    absl::StrAppend(out, a.name, "=", ValueText(a));
  });
}

}  // namespace oa::ir
