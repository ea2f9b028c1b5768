// config_identity against the examples of mamba3.md 1.4, and what graph_identity depends on.
#include <doctest/doctest.h>

#include "ir/graph.h"
#include "schema/fnv.h"
#include "tests/ir/graph_fixture.h"

namespace oa::ir {
namespace {

// A configuration in declared order. Names do not enter the hash.
class Config {
 public:
  Config& U32(uint32_t value) {
    attributes_.U32(Name(AttributeKind::kU32), value);
    return *this;
  }
  Config& F32(float value) {
    attributes_.F32(Name(AttributeKind::kF32), value);
    return *this;
  }
  Config& Bool(bool value) {
    attributes_.Bool(Name(AttributeKind::kBool), value);
    return *this;
  }
  uint64_t Identity() const {
    CHECK(CheckAttributes("config", defs_, attributes_).ok());
    return ConfigIdentity(defs_, attributes_);
  }

 private:
  std::string Name(AttributeKind kind) {
    defs_.push_back({"field" + std::to_string(defs_.size()), kind});
    return defs_.back().name;
  }
  std::vector<AttributeDef> defs_;
  Attributes attributes_;
};

uint64_t Preprocess(std::vector<uint32_t> sizes, std::vector<float> reals) {
  Config config;
  for (uint32_t size : sizes) config.U32(size);
  for (float real : reals) config.F32(real);
  return config.Identity();
}

uint64_t Scan(std::vector<uint32_t> sizes, std::vector<bool> flags) {
  Config config;
  for (uint32_t size : sizes) config.U32(size);
  for (bool flag : flags) config.Bool(flag);
  return config.Identity();
}

TEST_CASE("config_identity: the eight examples of the specification") {
  CHECK_EQ(Preprocess({3, 3, 2, 1, 1, 1}, {1e-5f, 0.01f, 2.0f, 0.2f}), 0x0bfa89120936ea20u);
  CHECK_EQ(Preprocess({128, 64, 2, 16, 1, 4}, {1e-5f, 1e-3f, 0.1f, 1e-4f}), 0xb76bc9a1ef79038au);
  CHECK_EQ(Preprocess({2048, 128, 32, 32, 1, 1}, {1e-5f, 1e-3f, 0.1f, 1e-4f}), 0x71838baf273268bdu);
  CHECK_EQ(Scan({2, 6, 2, 0, 3, 4, 2, 1}, {true, true, false}), 0xe5612ecfc3d349d7u);
  CHECK_EQ(Scan({2, 6, 2, 2, 3, 4, 2, 1}, {true, true, false}), 0xad00ec0291d0d955u);
  CHECK_EQ(Scan({1, 3, 2, 1, 2, 3, 1, 2}, {true, true, true}), 0xf478a6b32ecf9577u);
  CHECK_EQ(Scan({4, 2048, 16, 1, 64, 64, 16, 4}, {true, true, false}), 0x647fc7c2b4f8821cu);
  CHECK_EQ(Scan({1, 1, 1, 1, 1, 1, 0, 1}, {false, false, false}), 0xe10d2c64a0c68924u);
}

TEST_CASE("config_identity: the hash of bytes") {
  Fnv1a64 empty;
  CHECK_EQ(empty.value(), 0xcbf29ce484222325u);
  Fnv1a64 foobar;
  foobar.Text("foobar");
  CHECK_EQ(foobar.value(), 0x85944171f73967e8u);
}

struct Variant {
  std::string storage = "w";
  BufferKind kind = BufferKind::kParameter;
  uint64_t extent = 4;
  std::string op = "add";
  float scalar = 2;
  std::string output = "y";
  bool swap = false;
  std::string label;
};

uint64_t IdentityOf(const Variant& variant) {
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {variant.extent});
  const ValueId w = Declare(graph, variant.kind, variant.storage, {variant.extent});
  Graph::RecordOptions options;
  options.label = variant.label;
  const ValueId y =
      Must(graph.Record(variant.op, {variant.swap ? w : x, variant.swap ? x : w}, {}, options))[0];
  const ValueId z = Call(graph, "scale", {y}, Attributes().F32("scalar", variant.scalar));
  REQUIRE(graph.AddOutput(variant.output, z).ok());
  return GraphIdentity(graph);
}

TEST_CASE("graph_identity: depends on everything that is computed and named") {
  const uint64_t base = IdentityOf({});
  CHECK_EQ(IdentityOf({}), base);
  CHECK_NE(IdentityOf({.storage = "v"}), base);
  CHECK_NE(IdentityOf({.kind = BufferKind::kState}), base);
  CHECK_NE(IdentityOf({.extent = 5}), base);
  CHECK_NE(IdentityOf({.op = "sub"}), base);
  CHECK_NE(IdentityOf({.scalar = 3}), base);
  CHECK_NE(IdentityOf({.output = "z"}), base);
  CHECK_NE(IdentityOf({.swap = true}), base);
}

TEST_CASE("graph_identity: labels, initial content and test vectors do not count") {
  CHECK_EQ(IdentityOf({.label = "encoder"}), IdentityOf({}));
  Graph graph("g");
  const ValueId w = Declare(graph, BufferKind::kParameter, "w", {4});
  const uint64_t before = GraphIdentity(graph);
  REQUIRE(graph.SetInitialFill(w, 7, "sevens").ok());
  graph.test_vectors().push_back({"v", 1, {}, {}});
  CHECK_EQ(GraphIdentity(graph), before);
}

}  // namespace
}  // namespace oa::ir
