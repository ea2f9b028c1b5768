// .oag files: round trips, every rule of the loader, damage of all kinds.
#include "ir/graph_io.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <random>

#include "ir/differentiate.h"
#include "ir/graph_tables.h"
#include "ir/op.h"
#include "schema/container.h"
#include "tests/ir/graph_fixture.h"

namespace oa::ir {
namespace {

std::vector<uint8_t> Bytes(size_t size, uint8_t value) { return std::vector<uint8_t>(size, value); }

// Every kind of storage and attribute, a view, an in-place update and a test vector.
//   values: 0 x, 1 w, 2 s, 3 product, 4 view, 5 sum, 6 rounded, 7 s'
Graph Sample() {
  Graph graph("sample");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {2, 3});
  const ValueId w = Declare(graph, BufferKind::kParameter, "w", {3});
  const ValueId s = Declare(graph, BufferKind::kState, "s", {1});
  CHECK(graph.SetInitialData(w, Blob::Own(Bytes(12, 1)), "values").ok());
  CHECK(graph.SetInitialFill(s, 0x3f800000, "ones").ok());
  const ValueId product = Must(graph.Record("mul", {x, w}, {}, {"encoder", {}}))[0];
  const ValueId view = Call(graph, "reshape", {product}, Attributes().List("shape", {6}));
  const ValueId sum = SumAll(graph, view);
  const ValueId rounded = Call(graph, "cast", {sum}, Attributes().Token("dtype", "bf16"));
  const ValueId next = Call(graph, "accumulate", {s, sum});
  CHECK(graph.AddOutput("total", next).ok());
  CHECK(graph.AddOutput("rounded", rounded).ok());
  graph.test_vectors().push_back({"first",
                                  2,
                                  {{"x", Blob::Own(Bytes(24, 0))}},
                                  {{"total", Blob::Own(Bytes(4, 0)), 1e-6f, 1e-5f}}});
  return graph;
}

absl::StatusOr<Graph> Parse(std::vector<uint8_t> bytes) {
  return ParseGraph(Blob::Own(std::move(bytes)), "test.oag");
}

TEST_CASE("graph io: a round trip keeps everything") {
  const Graph graph = Sample();
  const std::vector<uint8_t> bytes = SerializeGraph(graph);
  const Graph back = Must(Parse(bytes));
  CHECK_EQ(DumpGraph(back), DumpGraph(graph));
  CHECK(SerializeGraph(back) == bytes);
  CHECK(SerializeGraph(Sample()) == bytes);
  CHECK_EQ(back.storages()[2].version, 1);
  CHECK_EQ(back.nodes()[0].label, "encoder");
  CHECK_EQ(back.storages()[1].data.size(), 12);
  CHECK_EQ(back.test_vectors()[0].outputs[0].rtol, 1e-5f);
  CHECK_FALSE(back.IsLatest(2));
}

TEST_CASE("graph io: a loaded graph can be recorded on") {
  Graph back = Must(Parse(SerializeGraph(Sample())));
  CHECK(back.AddStorage(BufferKind::kInput, "x", DType::F32, {1}).status().code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(back.Record("accumulate", {7, 5}).ok());
  CHECK(Differentiate(back, 5, {1}).ok());
}

TEST_CASE("graph io: files") {
  const std::string path = "graph_io_test.oag";
  REQUIRE(SaveGraph(Sample(), path).ok());
  CHECK_EQ(DumpGraph(Must(LoadGraph(path))), DumpGraph(Sample()));
  std::remove(path.c_str());
  CHECK(absl::IsNotFound(LoadGraph(path).status()));
}

// ---- Every rule of the loader ----

// Writes the sample's tables after `edit`, with its identities recomputed where they still mean
// something, and returns the loader's answer.
absl::Status LoadEdited(const std::function<void(GraphTables&)>& edit) {
  GraphTables tables = TablesOf(Sample());
  edit(tables);
  return Parse(SerializeTables(tables)).status();
}

#define OA_CHECK_EDIT(code, text, ...) \
  OA_CHECK_STATUS(LoadEdited([](GraphTables& t) { __VA_ARGS__; }), code, text)

TEST_CASE("graph io: storages") {
  OA_CHECK_EDIT(kDataLoss, "storages[0] is an output", t.storages[0].kind = BufferKind::kOutput);
  OA_CHECK_EDIT(kDataLoss, "storages[0]", t.storages[0].kind = static_cast<BufferKind>(6));
  OA_CHECK_EDIT(kDataLoss, "storages[1] is parameter", t.storages[1].name = "");
  OA_CHECK_EDIT(kDataLoss, "storages[3] is transient", t.storages[3].name = "t");
  OA_CHECK_EDIT(kDataLoss, "storages[1] has the name 'x'", t.storages[1].name = "x");
  OA_CHECK_EDIT(kDataLoss, "storages[0] is input and has initial", t.storages[0].fill_bits = 1);
  OA_CHECK_EDIT(kDataLoss, "storages[3] is transient and has", t.storages[3].initialiser = "z");
  OA_CHECK_EDIT(kDataLoss, "has 8 bytes of data for 12",
                t.storages[1].data = Blob::Own(Bytes(8, 1)));
  OA_CHECK_EDIT(kDataLoss, "has 0 bytes of data for 12", t.storages[1].data = Blob());
  OA_CHECK_EDIT(kDataLoss, "has 12 bytes of data", t.storages[1].init = InitKind::kFill);
  OA_CHECK_EDIT(kDataLoss, "both data and a fill", t.storages[1].fill_bits = 3);
  OA_CHECK_EDIT(kDataLoss, "values[0] f32[2, 3] takes 24", t.storages[0].size_bytes = 28);
  OA_CHECK_EDIT(kDataLoss, "storages[6] '' has no first value", t.storages.push_back({}));
}

TEST_CASE("graph io: values") {
  OA_CHECK_EDIT(kDataLoss, "values[3] is in storage 99 of 6", t.values[3].storage = 99);
  OA_CHECK_EDIT(kDataLoss, "values[3] is in storage 4294967295", t.values[3].storage = -1);
  OA_CHECK_EDIT(kDataLoss, "values[0] has rank 0", t.values[0].shape.clear());
  OA_CHECK_EDIT(kDataLoss, "rank 9", t.values[0].shape.assign(9, 1));
  OA_CHECK_EDIT(kDataLoss, "extent 4294967296", t.values[0].shape = Shape{uint64_t{1} << 32});
  OA_CHECK_EDIT(kDataLoss, "too large", t.values[0].shape.assign(4, UINT32_MAX));
  OA_CHECK_EDIT(kDataLoss, "dtype is 5", t.values[0].dtype = static_cast<DType>(5));
  OA_CHECK_EDIT(kDataLoss, "no producer and version 1", t.values[0].version = 1);
  OA_CHECK_EDIT(kDataLoss, "expected f32[2, 3]", t.values[3].shape = Shape({3, 2}));
  OA_CHECK_EDIT(kDataLoss, "expected f32[1]", t.values[5].dtype = DType::I32);
  OA_CHECK_EDIT(kDataLoss, "expected version 0", t.values[3].version = 1);
  OA_CHECK_EDIT(kDataLoss, "expected version 1", t.values[7].version = 2);
  OA_CHECK_EDIT(kDataLoss, "expected version 1", t.values[7].version = 0);
  OA_CHECK_EDIT(kDataLoss, "has no producer and is neither", t.values.push_back(t.values[3]));
  OA_CHECK_EDIT(kDataLoss, "second first value of 's'", t.values.push_back(t.values[2]));
  // A fresh result in a storage that is in use, a view that is not one, a missing alias.
  OA_CHECK_EDIT(kDataLoss, "belongs to an earlier value", {
    t.values.push_back(t.values[5]);  // keeps the storage in use
    t.storages[4].kind = BufferKind::kState;
    t.storages[4].name = "u";
    t.values[5].storage = t.values[2].storage;
  });
  OA_CHECK_EDIT(kDataLoss, "nodes[1] reshape produces value 4", {
    t.storages.push_back(t.storages[3]);
    t.values[4].storage = 6;
  });
}

TEST_CASE("graph io: operands and results") {
  OA_CHECK_EDIT(kDataLoss, "nodes[0] reads value 3", t.nodes[0].inputs[0] = 3);
  OA_CHECK_EDIT(kDataLoss, "nodes[0] reads value 6", t.nodes[0].inputs[0] = 6);
  OA_CHECK_EDIT(kDataLoss, "nodes[0] reads value 1000", t.nodes[0].inputs[0] = 1000);
  OA_CHECK_EDIT(kDataLoss, "nodes[0] reads value -2", t.nodes[0].inputs[0] = -2);
  OA_CHECK_EDIT(kInvalidArgument, "nodes[0]: mul: operand 'a' is required",
                t.nodes[0].inputs[0] = kAbsent);
  OA_CHECK_EDIT(kInvalidArgument, "takes 2 operands, got 3", t.nodes[0].inputs.push_back(0));
  OA_CHECK_EDIT(kDataLoss, "produces value 8 of 8", t.nodes[4].outputs[0] = 8);
  OA_CHECK_EDIT(kDataLoss, "produces value -7", t.nodes[0].outputs[0] = -7);
  OA_CHECK_EDIT(kDataLoss, "produces value 3 after value 3", t.nodes[1].outputs[0] = 3);
  OA_CHECK_EDIT(kDataLoss, "has 0 results, expected 1", {
    t.nodes[3].outputs.clear();
    t.values[6] = t.values[0];
    t.storages[5] = {.name = "p", .kind = BufferKind::kState, .size_bytes = 24};
    t.values[6].storage = 5;
  });
  OA_CHECK_EDIT(kDataLoss, "has 2 results, expected 1", t.nodes[0].outputs.push_back(kAbsent));
  OA_CHECK_EDIT(kInvalidArgument, "is input 'x', which cannot be updated", {
    t.storages[2].kind = BufferKind::kInput;
    t.storages[2].name = "x";
    t.storages[2].fill_bits = 0;
    t.storages[2].initialiser.clear();
    t.storages[0].name = "y";
  });
}

TEST_CASE("graph io: operators and attributes") {
  OA_CHECK_EDIT(kInvalidArgument, "nodes[0]: there is no operator 'mull'; the closest names are",
                t.nodes[0].op = "mull");
  OA_CHECK_EDIT(kInvalidArgument, "has version 7", t.nodes[0].op_version = 7);
  OA_CHECK_EDIT(kInvalidArgument, "is missing", t.nodes[1].attributes.clear());
  OA_CHECK_EDIT(kInvalidArgument, "is not expected",
                t.nodes[1].attributes.push_back(t.nodes[1].attributes[0]));
  OA_CHECK_EDIT(kDataLoss, "attribute.kind is 8",
                t.nodes[1].attributes[0].kind = static_cast<AttributeKind>(8));
  OA_CHECK_EDIT(kInvalidArgument, "must be list",
                t.nodes[1].attributes[0].kind = AttributeKind::kF32);
  OA_CHECK_EDIT(kInvalidArgument, "reshape", t.nodes[1].attributes[0].integers = {INT64_MIN});
  OA_CHECK_EDIT(kDataLoss, "expected f32[3, 2]", t.nodes[1].attributes[0].integers = {3, 2});
  OA_CHECK_EDIT(kInvalidArgument, "must be one of", t.nodes[3].attributes[0].token = "f99");
  OA_CHECK_EDIT(kDataLoss, "wrong number 99", t.nodes[3].attributes[0].integer = 99);
  OA_CHECK_EDIT(kDataLoss, "wrong number -1", t.nodes[3].attributes[0].integer = -1);
}

TEST_CASE("graph io: identities are recomputed and both are printed") {
  const absl::Status config = LoadEdited([](GraphTables& t) { t.nodes[1].config_identity = 1; });
  OA_CHECK_STATUS(config, kDataLoss, "config_identity 0x0000000000000001");
  OA_CHECK_STATUS(config, kDataLoss, "hash to 0x");
  const absl::Status graph = LoadEdited([](GraphTables& t) { t.graph_identity = 1; });
  OA_CHECK_STATUS(graph, kDataLoss, "graph_identity is 0x0000000000000001");
  OA_CHECK_STATUS(graph, kDataLoss, "hashes to 0x");
}

TEST_CASE("graph io: inputs and outputs") {
  OA_CHECK_EDIT(kDataLoss, "inputs[0] is missing", t.inputs.clear());
  OA_CHECK_EDIT(kDataLoss, "inputs[1]", t.inputs.push_back(t.inputs[0]));
  OA_CHECK_EDIT(kDataLoss, "inputs[0] is named 'y'", t.inputs[0].name = "y");
  OA_CHECK_EDIT(kDataLoss, "inputs[0] 'x' is value 1", t.inputs[0].value = 1);
  OA_CHECK_EDIT(kDataLoss, "outputs[0] has no name", t.outputs[0].name = "");
  OA_CHECK_EDIT(kDataLoss, "outputs[1] has the name 'total'", t.outputs[1].name = "total");
  OA_CHECK_EDIT(kDataLoss, "is value 8 of 8", t.outputs[0].value = 8);
  OA_CHECK_EDIT(kDataLoss, "is value 4294967295", t.outputs[0].value = -1);
}

TEST_CASE("graph io: test vectors") {
  OA_CHECK_EDIT(kDataLoss, "test_vectors[0] has 0 replays", t.test_vectors[0].replays = 0);
  OA_CHECK_EDIT(kDataLoss, "inputs[0] names 'q'", t.test_vectors[0].inputs[0].name = "q");
  OA_CHECK_EDIT(kDataLoss, "outputs[0] names 'x'", t.test_vectors[0].outputs[0].name = "x");
  OA_CHECK_EDIT(kDataLoss, "has 5 bytes, expected 24",
                t.test_vectors[0].inputs[0].data = Blob::Own(Bytes(5, 0)));
  OA_CHECK_EDIT(kDataLoss, "tolerance", t.test_vectors[0].outputs[0].atol = -1);
  OA_CHECK_EDIT(kDataLoss, "appears twice",
                t.test_vectors[0].outputs.push_back(t.test_vectors[0].outputs[0]));
}

TEST_CASE("graph io: a cyclic order of versions is refused") {
  Graph graph("g");
  const ValueId s = Declare(graph, BufferKind::kState, "s", {4});
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {4});
  const ValueId s1 = Call(graph, "accumulate", {s, x});
  Call(graph, "add", {s1, x});
  GraphTables tables = TablesOf(graph);
  REQUIRE(Parse(SerializeTables(tables)).ok());
  tables.nodes[1].inputs[1] = s;
  OA_CHECK_STATUS(Parse(SerializeTables(tables)).status(), kInvalidArgument,
                  "add#1 reads version 0 of 's', which accumulate#0 overwrites");
  // An old version cannot be updated again.
  tables.nodes[1].inputs = {s1, x};
  tables.nodes.push_back(tables.nodes[0]);
  tables.values.push_back(tables.values[s1]);
  tables.nodes.back().outputs[0] = static_cast<ValueId>(tables.values.size()) - 1;
  OA_CHECK_STATUS(Parse(SerializeTables(tables)).status(), kInvalidArgument,
                  "only the newest, version 1");
}

// ---- Damage ----

TEST_CASE("graph io: every truncation is an error") {
  const std::vector<uint8_t> bytes = SerializeGraph(Sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const absl::Status status = Parse({bytes.begin(), bytes.begin() + size}).status();
    if (status.ok()) FAIL("truncated to ", size);
  }
}

TEST_CASE("graph io: every flipped byte is noticed") {
  std::vector<uint8_t> bytes = SerializeGraph(Sample());
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const size_t at = random() % bytes.size();
    const uint8_t flip = static_cast<uint8_t>(1 + random() % 255);
    bytes[at] ^= flip;
    if (Parse(bytes).ok()) FAIL("flipped byte ", at);
    bytes[at] ^= flip;
  }
}

// Makes the digest fit again, so that the damage reaches the verifiers behind it.
void Reseal(std::vector<uint8_t>& bytes) {
  constexpr size_t kDigestAt = 48;
  std::memset(&bytes[kDigestAt], 0, 8);
  const uint64_t digest = Digest(bytes);
  std::memcpy(&bytes[kDigestAt], &digest, 8);
}

TEST_CASE("graph io: damage behind a good digest never crashes") {
  const std::vector<uint8_t> good = SerializeGraph(Sample());
  uint64_t flatbuffer_size = 0;
  std::memcpy(&flatbuffer_size, &good[24], 8);
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> bytes = good;
    for (int flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[64 + random() % flatbuffer_size] =
          static_cast<uint8_t>(random() % 3 == 0 ? random() : (random() % 2 == 0 ? 0 : 255));
    }
    Reseal(bytes);
    const absl::StatusOr<Graph> graph = Parse(bytes);
    if (!graph.ok()) {
      ++refused;
      const absl::StatusCode code = graph.status().code();
      if (code != absl::StatusCode::kDataLoss && code != absl::StatusCode::kInvalidArgument) {
        FAIL(graph.status().ToString());
      }
    } else {
      // What loads is a graph like any other.
      if (DumpGraph(*graph).empty() || !Parse(SerializeGraph(*graph)).ok()) FAIL("round trip");
    }
  }
  CHECK_GT(refused, 10000);
}

TEST_CASE("graph io: missing tables and fields are errors or empty, never crashes") {
  CHECK(Parse(SerializeTables({})).status().code() == absl::StatusCode::kDataLoss);
  GraphTables empty;
  empty.graph_identity = GraphIdentity(Graph(""));
  CHECK(Parse(SerializeTables(empty)).ok());
  OA_CHECK_EDIT(kInvalidArgument, "there is no operator ''", {
    const std::vector<ValueId> outputs = t.nodes[0].outputs;
    t.nodes[0] = {};
    t.nodes[0].outputs = outputs;
  });
  OA_CHECK_EDIT(kDataLoss, "values[3] has rank 0", t.values[3] = {});
  OA_CHECK_EDIT(kDataLoss, "storage 0 of 0", t.storages.clear());
  OA_CHECK_EDIT(kDataLoss, "value 3 of 0", t.values.clear());
  OA_CHECK_EDIT(kDataLoss, "no producer", t.nodes.clear());
}

}  // namespace
}  // namespace oa::ir
