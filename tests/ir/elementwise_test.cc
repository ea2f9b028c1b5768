#include "ir/elementwise.h"

#include <doctest/doctest.h>

#include <string>

namespace oa::ir {
namespace {

EwInput Broadcast(const std::vector<uint64_t>& shape, const std::vector<uint64_t>& out) {
  return BroadcastInput({3, 16, 64}, DType::F32, shape, out);
}

// The element that output element `i` reads.
uint64_t Source(const EwInput& input, const std::vector<uint64_t>& out, uint64_t i) {
  switch (input.mode) {
    case OA_EW_LINEAR:
      return i;
    case OA_EW_SCALAR:
      return 0;
    case OA_EW_PERIODIC:
      return i / input.div % input.mod;
  }
  uint64_t source = 0;
  for (size_t axis = out.size(); axis-- > 0; i /= out[axis]) {
    source += i % out[axis] * input.strides[axis];
  }
  return source;
}

// The same by the definition of broadcasting.
uint64_t Expected(const std::vector<uint64_t>& shape, const std::vector<uint64_t>& out,
                  uint64_t i) {
  uint64_t source = 0, stride = 1;
  for (size_t axis = out.size(); axis-- > 0; i /= out[axis]) {
    if (axis + shape.size() < out.size()) continue;
    const uint64_t extent = shape[axis + shape.size() - out.size()];
    if (extent != 1) source += i % out[axis] * stride;
    stride *= extent;
  }
  return source;
}

TEST_CASE("elementwise: the cheapest mode is chosen and reads the right elements") {
  const struct {
    std::vector<uint64_t> shape, out;
    uint8_t mode;
  } rows[] = {
      {{2, 3}, {2, 3}, OA_EW_LINEAR},
      {{3}, {1, 3}, OA_EW_LINEAR},
      {{1}, {4, 5}, OA_EW_SCALAR},
      {{1, 1}, {4, 5}, OA_EW_SCALAR},
      {{5}, {4, 5}, OA_EW_PERIODIC},
      {{4, 1}, {4, 5}, OA_EW_PERIODIC},
      {{3, 1, 1}, {2, 3, 4, 5}, OA_EW_PERIODIC},
      {{3, 4, 1}, {2, 3, 4, 5}, OA_EW_PERIODIC},
      {{3, 1, 4}, {2, 3, 1, 4}, OA_EW_PERIODIC},
      {{2, 1, 4}, {2, 3, 4}, OA_EW_STRIDED},
      {{2, 1, 4, 1}, {2, 3, 4, 5}, OA_EW_STRIDED},
      {{3, 1, 5}, {2, 3, 4, 5}, OA_EW_STRIDED},
  };
  for (const auto& row : rows) {
    const EwInput input = Broadcast(row.shape, row.out);
    INFO(ShapeText(row.shape), " to ", ShapeText(row.out));
    CHECK_EQ(int{input.mode}, int{row.mode});
    CHECK_EQ(input.strides.size(), row.mode == OA_EW_STRIDED ? row.out.size() : 0);
    const uint64_t count = *ElementCount(row.out);
    CHECK_EQ(input.count, *ElementCount(row.shape));
    for (uint64_t i = 0; i < count; ++i) {
      CHECK_EQ(Source(input, row.out, i), Expected(row.shape, row.out, i));
    }
  }
}

TEST_CASE("elementwise: slice and type are kept") {
  const EwInput input =
      BroadcastInput({3, 16, 64}, DType::BF16, std::vector<uint64_t>{2}, std::vector<uint64_t>{2});
  CHECK_EQ(input.slice.buffer, 3);
  CHECK_EQ(input.slice.offset, 16);
  CHECK_EQ(int{input.type}, OA_EW_TYPE_BF16);
}

TEST_CASE("elementwise: tables") {
  CHECK_EQ(EwArity(OA_EW_ADD), 2);
  CHECK_EQ(EwArity(OA_EW_SCALE), 1);
  CHECK_EQ(EwArity(OA_EW_SMOOTH_L1), 1);
  CHECK_EQ(EwArity(OA_EW_SMOOTH_L1_BWD), 2);
  CHECK_EQ(EwArity(OA_EW_EQUAL_AB), 2);
  CHECK_EQ(std::string(EwName(OA_EW_SILU)), "silu");
  CHECK_EQ(std::string(EwName(OA_EW_COPY)), "copy");
  CHECK_EQ(std::string(EwName(OA_EW_RELU_BWD)), "relu_bwd");
  CHECK_EQ(std::string(EwName(OA_EW_BCE_LOGITS_BWD)), "bce_logits_bwd");
  CHECK_EQ(std::string(EwName(OA_EW_MASK_NONZERO)), "mask_nonzero");
  CHECK_EQ(std::string(EwName(OA_EW_EQUAL_AB)), "equal_ab");
  CHECK_EQ(EwFlops(OA_EW_COPY), 0);
  CHECK_EQ(EwFlops(OA_EW_ADD), 1);
  for (int op = OA_EW_COPY + 1; op <= OA_EW_EQUAL_AB; ++op) {
    CHECK_GT(EwFlops(static_cast<uint8_t>(op)), 0);
  }
  CHECK_EQ(std::string(EwName(255)), "unknown");
}

TEST_CASE("elementwise: what a prologue may execute") {
  for (uint8_t op : {OA_EW_ADD, OA_EW_SCALE, OA_EW_DIV, OA_EW_SQRT, OA_EW_MASK_NONZERO}) {
    CHECK(EwIsCheap(op));
  }
  for (uint8_t op : {OA_EW_EXP, OA_EW_POW, OA_EW_SILU, OA_EW_GELU_BWD}) CHECK_FALSE(EwIsCheap(op));
  CHECK_FALSE(EwIsCheap(255));  // no opcode
}

TEST_CASE("elementwise: the builder resolves registers and prints") {
  EwBuilder b(6, std::vector<uint64_t>{2, 3});
  const auto x = b.Input(Broadcast({2, 3}, {2, 3}));
  const auto t = b.Op(OA_EW_SILU, x);
  const auto y = b.Input(Broadcast({3}, {2, 3}));  // after an instruction
  const auto u = b.Op2(OA_EW_MUL, t, y);
  const auto v = b.Op(OA_EW_SCALE, u, 0.5f);
  b.Output(v, {7, 0, 24});
  b.Output(x, {8, 0, 24});
  const EwProgram program = b.Build();
  CHECK_EQ(EwText(program),
           "t0 = silu(in0); t1 = mul(t0, in1); t2 = scale(t1, 0.5); out0 = t2; out1 = in0");
  CHECK_EQ(program.count, 6);
  CHECK_FALSE(program.strided());
  CHECK_EQ(int{program.code[1].a}, 2);
  CHECK_EQ(int{program.code[1].b}, 1);
  CHECK_EQ(int{program.outputs[0].reg}, 4);
  CHECK_EQ(program.outputs[0].slice.buffer, 7);
}

TEST_CASE("elementwise: extents only with a strided input") {
  EwBuilder b(24, std::vector<uint64_t>{2, 3, 4});
  const auto x = b.Input(Broadcast({2, 1, 4}, {2, 3, 4}));
  b.Output(b.Op(OA_EW_NEG, x), {0, 0, 96});
  const EwProgram program = b.Build();
  CHECK(program.strided());
  CHECK_EQ(program.extents, std::vector<uint32_t>{2, 3, 4});
  CHECK_EQ(program.inputs[0].strides, std::vector<uint32_t>{4, 0, 1});
}

}  // namespace
}  // namespace oa::ir
