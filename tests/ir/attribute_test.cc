#include "ir/attribute.h"

#include <doctest/doctest.h>

#include "schema/fnv.h"
#include "tests/ir/graph_fixture.h"

namespace oa::ir {
namespace {

const std::vector<AttributeDef>& Defs() {
  static const auto& defs = *new std::vector<AttributeDef>{
      {"axis", AttributeKind::kI64},      {"seed", AttributeKind::kU64},
      {"count", AttributeKind::kU32},     {"epsilon", AttributeKind::kF32},
      {"causal", AttributeKind::kBool},   {"mode", AttributeKind::kToken, {"nearest", "bilinear"}},
      {"shape", AttributeKind::kI64List}, {"ignore", AttributeKind::kOptionalI64},
  };
  return defs;
}

Attributes Sample() {
  return Attributes()
      .I64("axis", -2)
      .U64("seed", 0xfedcba9876543210)
      .U32("count", 0xffffffff)
      .F32("epsilon", 1e-5f)
      .Bool("causal", true)
      .Token("mode", "bilinear")
      .List("shape", {3, -1})
      .Optional("ignore", -100);
}

TEST_CASE("attributes: what was set is read back") {
  const Attributes a = Sample();
  CHECK_EQ(a.i64("axis"), -2);
  CHECK_EQ(a.u64("seed"), 0xfedcba9876543210);
  CHECK_EQ(a.u32("count"), 0xffffffff);
  CHECK_EQ(a.f32("epsilon"), 1e-5f);
  CHECK(a.boolean("causal"));
  CHECK_EQ(a.token("mode"), "bilinear");
  CHECK_EQ(a.list("shape"), std::vector<int64_t>{3, -1});
  CHECK_EQ(a.optional("ignore"), -100);
  CHECK_EQ(Attributes().Optional("ignore", std::nullopt).optional("ignore"), std::nullopt);
  CHECK(Attributes().empty());
}

TEST_CASE("attributes: text") {
  CHECK_EQ(AttributesText(Sample()),
           "axis=-2, seed=18364758544493064720, count=4294967295, epsilon=1e-05, causal=true, "
           "mode=bilinear, shape=[3, -1], ignore=-100");
  CHECK_EQ(AttributesText(Attributes().Optional("axis", std::nullopt)), "axis=none");
  CHECK_EQ(AttributesText(Attributes()), "");
}

TEST_CASE("attributes: exactly the declared ones in order are accepted") {
  CHECK(CheckAttributes("op", Defs(), Sample()).ok());
  const std::vector<AttributeDef> one = {{"mode", AttributeKind::kToken, {"a", "b"}}};
  OA_CHECK_STATUS(CheckAttributes("op", one, Attributes()), kInvalidArgument,
                  "op: attribute 'mode' is missing");
  OA_CHECK_STATUS(CheckAttributes("op", one, Attributes().Token("other", "a")), kInvalidArgument,
                  "'other' is in its place");
  OA_CHECK_STATUS(CheckAttributes("op", one, Attributes().I64("mode", 0)), kInvalidArgument,
                  "must be token, got i64");
  OA_CHECK_STATUS(CheckAttributes("op", one, Attributes().Token("mode", "c")), kInvalidArgument,
                  "is 'c', must be one of a, b");
  OA_CHECK_STATUS(CheckAttributes("op", one, Attributes().Token("mode", "a").I64("more", 1)),
                  kInvalidArgument, "attribute 'more' is not expected");
}

TEST_CASE("attributes: numbers that only a damaged file can hold are refused") {
  Attribute wide;
  wide.name = "count";
  wide.kind = AttributeKind::kU32;
  wide.integer = int64_t{1} << 32;
  Attributes a;
  a.Append(wide);
  OA_CHECK_STATUS(CheckAttributes("op", {{{"count", AttributeKind::kU32}}}, a), kInvalidArgument,
                  "outside 32 bits");
  Attribute truth;
  truth.name = "causal";
  truth.kind = AttributeKind::kBool;
  truth.integer = 2;
  Attributes b;
  b.Append(truth);
  OA_CHECK_STATUS(CheckAttributes("op", {{{"causal", AttributeKind::kBool}}}, b), kInvalidArgument,
                  "must be 0 or 1");
}

TEST_CASE("config_identity: every kind contributes its words") {
  Fnv1a64 hash;
  hash.Word64(static_cast<uint64_t>(int64_t{-2}));
  hash.Word64(0xfedcba9876543210);
  hash.Word(0xffffffff);
  hash.Word(0x3727c5ac);
  hash.Word(1);
  hash.Word(1);  // "bilinear" is token number 1
  hash.Word(2);  // list of two
  hash.Word64(3);
  hash.Word64(static_cast<uint64_t>(int64_t{-1}));
  hash.Word(1);  // present
  hash.Word64(static_cast<uint64_t>(int64_t{-100}));
  CHECK_EQ(ConfigIdentity(Defs(), Sample()), hash.value());

  Fnv1a64 absent;
  absent.Word(0);
  CHECK_EQ(ConfigIdentity({{{"ignore", AttributeKind::kOptionalI64}}},
                          Attributes().Optional("ignore", std::nullopt)),
           absent.value());
  CHECK_EQ(ConfigIdentity({}, Attributes()), kFnvOffsetBasis);
}

}  // namespace
}  // namespace oa::ir
