// Recording: names, versions, aliasing, ordering, rollback, validation against a row.
#include "ir/graph.h"

#include <doctest/doctest.h>

#include "ir/graph_checks.h"
#include "ir/op.h"
#include "tests/ir/graph_fixture.h"

namespace oa::ir {
namespace {

constexpr BufferKind kInput = BufferKind::kInput;
constexpr BufferKind kState = BufferKind::kState;

TEST_CASE("graph: storages are validated") {
  Graph graph("g");
  Declare(graph, kInput, "x", {2, 0});  // empty values are legal
  const auto add = [&](BufferKind kind, const char* name, const Shape& shape) {
    return graph.AddStorage(kind, name, DType::F32, shape).status();
  };
  OA_CHECK_STATUS(add(kInput, "", {2}), kInvalidArgument, "need a name");
  OA_CHECK_STATUS(add(BufferKind::kParameter, "x", {2}), kInvalidArgument, "'x' is taken");
  OA_CHECK_STATUS(add(BufferKind::kTransient, "t", {2}), kInvalidArgument, "transient");
  OA_CHECK_STATUS(add(BufferKind::kOutput, "o", {2}), kInvalidArgument, "output");
  OA_CHECK_STATUS(add(kInput, "r0", {}), kInvalidArgument, "rank 0");
  OA_CHECK_STATUS(add(kInput, "r9", Shape(9, 1)), kInvalidArgument, "rank 9");
  OA_CHECK_STATUS(add(kInput, "e", {uint64_t{1} << 32}), kInvalidArgument, "extent 4294967296");
  OA_CHECK_STATUS(add(kInput, "b", {UINT32_MAX, UINT32_MAX}), kInvalidArgument, "64 bits");
  CHECK_EQ(graph.storages().size(), 1);
  CHECK_EQ(graph.inputs().size(), 1);
}

TEST_CASE("graph: initial content belongs to persistent storages and has their size") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {2});
  const ValueId w = Declare(graph, BufferKind::kParameter, "w", {2});
  OA_CHECK_STATUS(graph.SetInitialFill(x, 0, ""), kInvalidArgument, "'x' is input");
  OA_CHECK_STATUS(graph.SetInitialData(w, Blob::Own({1, 2, 3}), ""), kInvalidArgument, "8 bytes");
  OA_CHECK_STATUS(graph.SetInitialFill(99, 0, ""), kInvalidArgument, "value 99");
  CHECK(graph.SetInitialData(w, Blob::Own(std::vector<uint8_t>(8, 1)), "ones").ok());
  CHECK(graph.storage_of(w).init == InitKind::kData);
  CHECK(graph.SetInitialFill(w, 5, "fives").ok());
  CHECK(graph.storage_of(w).data.empty());
  CHECK_EQ(graph.storage_of(w).fill_bits, 5);
}

TEST_CASE("graph: fresh results, views and in-place results") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {2, 3});
  const ValueId total = Declare(graph, kState, "total", {2, 3});
  const ValueId y = Call(graph, "relu", {x});
  CHECK_NE(graph.value(y).storage, graph.value(x).storage);
  CHECK(graph.storage_of(y).kind == BufferKind::kTransient);
  CHECK_EQ(graph.storage_of(y).size_bytes, 24);
  CHECK_EQ(graph.value(y).producer, 0);

  const ValueId view = Call(graph, "reshape", {y}, Attributes().List("shape", {6}));
  CHECK_EQ(graph.value(view).storage, graph.value(y).storage);
  CHECK_EQ(graph.value(view).version, 0);

  const ValueId next = Call(graph, "accumulate", {total, y});
  CHECK_EQ(graph.value(next).storage, graph.value(total).storage);
  CHECK_EQ(graph.value(next).version, 1);
  CHECK_EQ(graph.storage_of(total).version, 1);
  CHECK(graph.IsLatest(next));
  CHECK_FALSE(graph.IsLatest(total));
}

TEST_CASE("graph: views of an overwritten version stay that version") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {6});
  const ValueId y = Call(graph, "relu", {x});
  const ValueId view = Call(graph, "reshape", {y}, Attributes().List("shape", {2, 3}));
  const ValueId next = Call(graph, "accumulate", {y, x});  // transients may be updated
  CHECK_FALSE(graph.IsLatest(view));
  CHECK_EQ(graph.value(view).version, 0);
  // A view may be read or taken as long as that can come first.
  const ValueId late = Call(graph, "relu", {view});
  const std::vector<NodeId> order = Must(ExecutionOrder(graph));
  CHECK_EQ(order, std::vector<NodeId>{0, 1, 3, 2});
  OA_CHECK_STATUS(CallFails(graph, "accumulate", {view, late}), kInvalidArgument,
                  "operand 'dst' is version 0");
  CHECK(graph.IsLatest(next));
}

TEST_CASE("graph: what cannot be recorded") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {2, 3});
  const ValueId n = Declare(graph, kInput, "n", {2, 3}, DType::I32);
  OA_CHECK_STATUS(CallFails(graph, "rleu", {x}), kInvalidArgument, "'relu'");
  OA_CHECK_STATUS(CallFails(graph, "relu", {}), kInvalidArgument, "relu: takes 1 operand, got 0");
  OA_CHECK_STATUS(CallFails(graph, "relu", {x, x}), kInvalidArgument, "got 2");
  OA_CHECK_STATUS(CallFails(graph, "relu", {kAbsent}), kInvalidArgument, "is required");
  OA_CHECK_STATUS(CallFails(graph, "relu", {77}), kInvalidArgument, "value 77 of 2");
  OA_CHECK_STATUS(CallFails(graph, "relu", {-2}), kInvalidArgument, "value -2 of 2");
  OA_CHECK_STATUS(CallFails(graph, "relu", {n}), kInvalidArgument, "must be f32, got i32");
  OA_CHECK_STATUS(CallFails(graph, "relu", {x}, Attributes().I64("axis", 1)), kInvalidArgument,
                  "'axis' is not expected");
  OA_CHECK_STATUS(CallFails(graph, "relu", {x}, {}, {"", {false}}), kInvalidArgument,
                  "is not optional");
  OA_CHECK_STATUS(CallFails(graph, "relu", {x}, {}, {"", {true, true}}), kInvalidArgument,
                  "wanted lists 2");
}

TEST_CASE("graph: inputs, constants and shared storage cannot be updated in place") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {4});
  const ValueId c = Declare(graph, BufferKind::kConstant, "c", {4});
  const ValueId s = Declare(graph, kState, "s", {4});
  const ValueId view = Call(graph, "reshape", {s}, Attributes().List("shape", {4}));
  OA_CHECK_STATUS(CallFails(graph, "accumulate", {x, s}), kInvalidArgument,
                  "operand 'dst' is input 'x'");
  OA_CHECK_STATUS(CallFails(graph, "accumulate", {c, s}), kInvalidArgument, "constant 'c'");
  OA_CHECK_STATUS(CallFails(graph, "accumulate", {s, s}), kInvalidArgument,
                  "operand 'src' shares the storage of 's'");
  OA_CHECK_STATUS(CallFails(graph, "accumulate", {s, view}), kInvalidArgument, "shares");
  OA_CHECK_STATUS(CallFails(graph, "accumulate", {view, s}), kInvalidArgument, "shares");
  CHECK(graph.Record("accumulate", {view, x}).ok());
}

TEST_CASE("graph: an old version can be read while the read can come first") {
  Graph graph("g");
  const ValueId s = Declare(graph, kState, "s", {4});
  const ValueId x = Declare(graph, kInput, "x", {4});
  const ValueId s1 = Call(graph, "accumulate", {s, x});   // node 0
  const ValueId s2 = Call(graph, "accumulate", {s1, x});  // node 1
  const ValueId old = Call(graph, "relu", {s});           // node 2
  Call(graph, "add", {old, s2});                          // node 3
  CHECK_EQ(Must(ExecutionOrder(graph)), std::vector<NodeId>{2, 0, 1, 3});
  // Reading version 0 and what depends on its overwrite is a cycle.
  const absl::Status cycle = CallFails(graph, "add", {s, s1});
  OA_CHECK_STATUS(cycle, kFailedPrecondition, "add#4 reads version 0 of 's'");
  OA_CHECK_STATUS(cycle, kFailedPrecondition, "accumulate#0 overwrites");
  // And so is a longer way round.
  const ValueId far = Call(graph, "relu", {s2});
  OA_CHECK_STATUS(CallFails(graph, "add", {s1, far}), kFailedPrecondition, "accumulate#1");
  CHECK_EQ(graph.nodes().size(), 5);
}

TEST_CASE("graph: a late read constrains later ones") {
  Graph graph("g");
  const ValueId a = Declare(graph, kState, "a", {4});
  const ValueId b = Declare(graph, kState, "b", {4});
  const ValueId x = Declare(graph, kInput, "x", {4});
  const ValueId a1 = Call(graph, "accumulate", {a, x});
  const ValueId b1 = Call(graph, "accumulate", {b, x});
  Call(graph, "add", {a, b1});  // before a's overwrite, after b's
  // After a's overwrite and before b's: neither order works any more.
  OA_CHECK_STATUS(CallFails(graph, "add", {b, a1}), kFailedPrecondition, "add#");
}

TEST_CASE("graph: outputs have names of their own") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {4});
  CHECK(graph.AddOutput("x", x).ok());
  OA_CHECK_STATUS(graph.AddOutput("x", x), kInvalidArgument, "taken");
  OA_CHECK_STATUS(graph.AddOutput("", x), kInvalidArgument, "name");
  OA_CHECK_STATUS(graph.AddOutput("y", 9), kInvalidArgument, "value 9");
  CHECK_EQ(graph.outputs().size(), 1);
}

TEST_CASE("graph: rollback restores everything") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {4});
  const ValueId s = Declare(graph, kState, "s", {4});
  const ValueId s1 = Call(graph, "accumulate", {s, x});
  const std::string before = DumpGraph(graph);
  const Graph::Mark mark = graph.mark();
  Call(graph, "accumulate", {s1, Call(graph, "relu", {x})});
  Declare(graph, kInput, "y", {4});
  Declare(graph, kState, "t", {4});
  REQUIRE(graph.AddOutput("out", s1).ok());
  CHECK_NE(DumpGraph(graph), before);
  graph.Rollback(mark);
  CHECK_EQ(DumpGraph(graph), before);
  CHECK_EQ(graph.storage_of(s).version, 1);
  CHECK(graph.IsLatest(s1));
  Declare(graph, kInput, "y", {4});  // the name is free again
  REQUIRE(graph.AddOutput("out", s1).ok());
}

TEST_CASE("graph: dump") {
  Graph graph("small");
  const ValueId x = Declare(graph, kInput, "x", {2, 3});
  const ValueId s = Declare(graph, kState, "s", {6});
  REQUIRE(graph.SetInitialFill(s, 0x3f800000, "ones").ok());
  const ValueId y =
      Must(graph.Record("scale", {x}, Attributes().F32("scalar", 2), {"enc\noder", {}}))[0];
  const ValueId v = Call(graph, "reshape", {y}, Attributes().List("shape", {6}));
  const ValueId s1 = Call(graph, "accumulate", {s, v});
  REQUIRE(graph.AddOutput("total", s1).ok());
  graph.test_vectors().push_back({"first", 2, {{"x", {}}}, {{"total", {}}}});
  std::string text = DumpGraph(graph);
  // The hashes have their own tests.
  for (size_t at = text.find("0x"); at != std::string::npos; at = text.find("0x", at + 1)) {
    if (text.compare(at, 10, "0x3f800000") != 0) text.replace(at, 18, "0x#");
  }
  CHECK_EQ(text,
           "graph \"small\" 0x#\n"
           "  %0 = input \"x\" : f32[2, 3]\n"
           "  %1 = state \"s\" : f32[6]  fill 0x3f800000, ones\n"
           "  %2 = scale(%0, scalar=2) : f32[2, 3]  id=0x# \"enc\\noder\"\n"
           "  %3 = reshape(%2, shape=[6]) : f32[6] view of %2  id=0x#\n"
           "  %4 = accumulate(%1!, %3) : f32[6] version 1 of \"s\"  id=0x#\n"
           "  output \"total\" = %4\n"
           "  test vector \"first\": 2 replays, (\"x\") -> (\"total\")\n");
  CHECK_EQ(graph.NodeText(1), "reshape#1");
  CHECK_EQ(graph.NodeText(0), "scale#0 (enc\noder)");
}

// ---- The table's part of validation, on rows made for the purpose ----

absl::Status InferFirst(InferContext& ctx) { return ctx.AddResult(DType::F32, ctx.shape(0)); }

OpDef TestRow() {
  OpDef row;
  row.name = "probe";
  row.operands = {{.name = "x", .dtypes = kIndexTypes},
                  {.name = "list", .dtypes = kAnyType, .optional = true, .variadic = true}};
  row.results = {{.name = "y"}, {.name = "z", .optional = true}};
  row.infer = InferFirst;
  return row;
}

absl::Status Infer(const OpDef& row, const std::vector<InferContext::Operand>& operands) {
  std::vector<const InferContext::Operand*> pointers;
  for (const auto& operand : operands) {
    pointers.push_back(operand.shape.size() == 1 && operand.shape[0] == 777 ? nullptr : &operand);
  }
  return InferResults(row, pointers, Attributes()).status();
}

TEST_CASE("infer: operands are checked against the row") {
  OpDef row = TestRow();
  const InferContext::Operand i32 = {DType::I32, {2}}, absent = {DType::F32, {777}};
  CHECK(Infer(row, {i32, i32, absent, i32}).ok());
  OA_CHECK_STATUS(Infer(row, {i32}), kInvalidArgument, "takes at least 2 operands, got 1");
  OA_CHECK_STATUS(Infer(row, {absent, i32}), kInvalidArgument, "operand 'x' is required");
  OA_CHECK_STATUS(Infer(row, {{DType::F32, {2}}, i32}), kInvalidArgument,
                  "probe: operand 'x' must be i32, u32 or u8, got f32");
  OA_CHECK_STATUS(Infer(row, {i32, i32, {DType::F32, {0, 3}}}), kInvalidArgument,
                  "operand 'list'[1] f32[0, 3] has a zero extent");
  OA_CHECK_STATUS(Infer(row, {i32, {DType::F32, Shape(9, 1)}}), kInvalidArgument, "rank 9");
  OA_CHECK_STATUS(Infer(row, {i32, {DType::F32, {}}}), kInvalidArgument, "rank 0");
  OA_CHECK_STATUS(Infer(row, {i32, {DType::F32, {65536, 65536}}}), kInvalidArgument,
                  "more than 4294967295 elements");
  OA_CHECK_STATUS(Infer(row, {i32, {DType::F32, {UINT64_MAX, UINT64_MAX}}}), kInvalidArgument,
                  "has extent");
  row.allow_empty = true;
  CHECK(Infer(row, {i32, {DType::F32, {0, UINT32_MAX, UINT32_MAX, UINT32_MAX}}}).ok());
}

TEST_CASE("infer: results are checked against the row") {
  OpDef row = TestRow();
  const InferContext::Operand i32 = {DType::I32, {6}};
  row.infer = [](InferContext& ctx) { return ctx.AddResult(DType::F32, {65536, 65536}); };
  OA_CHECK_STATUS(Infer(row, {i32, i32}), kInvalidArgument, "result 'y' f32[65536, 65536]");
  row.infer = [](InferContext& ctx) { return ctx.AddView(0, {2, 4}); };
  OA_CHECK_STATUS(Infer(row, {i32, i32}), kInvalidArgument, "cannot be viewed as [2, 4]");
  row.infer = [](InferContext&) { return absl::OkStatus(); };
  OA_CHECK_STATUS(Infer(row, {i32, i32}), kInternal, "declared 0 results");
  row.operands[0].mutated = true;
  row.infer = InferFirst;
  OA_CHECK_STATUS(Infer(row, {i32, i32}), kInternal, "has 0 in-place results");
  row.infer = [](InferContext& ctx) {
    ctx.AddInPlace(0);
    return absl::OkStatus();
  };
  CHECK(Infer(row, {i32, i32}).ok());
}

TEST_CASE("infer: what rows may require") {
  OpDef row = TestRow();
  row.operands.pop_back();
  row.attributes = {{"epsilon", AttributeKind::kF32}};
  const InferContext::Operand x = {DType::I32, {2, 3}};
  const Attributes bad = Attributes().F32("epsilon", 0);
  InferContext ctx(row, {&x}, bad);
  CHECK(ctx.RequireRank(0, 2).ok());
  OA_CHECK_STATUS(ctx.RequireRank(0, 1), kInvalidArgument,
                  "probe: operand 'x' i32[2, 3] must have rank 1");
  CHECK(ctx.RequireShape(0, {2, 3}).ok());
  OA_CHECK_STATUS(ctx.RequireShape(0, {3}), kInvalidArgument, "must have shape [3]");
  CHECK(ctx.RequireSameShape(0, 0).ok());
  OA_CHECK_STATUS(ctx.RequireEpsilon(), kInvalidArgument, "'epsilon' is 0");
  const Attributes good = Attributes().F32("epsilon", 1e-6f);
  CHECK(InferContext(row, {&x}, good).RequireEpsilon().ok());
}

TEST_CASE("record: unwanted results must be optional and something must be left") {
  const OpDef row = TestRow();
  const std::vector<ResultType> results(2);
  CHECK(CheckWanted(row, results, {}).ok());
  CHECK(CheckWanted(row, results, {true, false}).ok());
  OA_CHECK_STATUS(CheckWanted(row, results, {false, true}), kInvalidArgument, "'y'");
  OA_CHECK_STATUS(CheckWanted(row, results, {true}), kInvalidArgument, "wanted lists 1");
}

}  // namespace
}  // namespace oa::ir
