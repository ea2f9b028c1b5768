// Short ways to write compiler programs in tests.
#ifndef OA_TESTS_IR_PROGRAM_FIXTURE_H_
#define OA_TESTS_IR_PROGRAM_FIXTURE_H_

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "tests/ir/fake_kernels.h"

namespace oa::ir {

// Builds a program over F32 buffers. The pack must outlive what is built.
class ProgramFixture {
 public:
  explicit ProgramFixture(const KernelPack& pack) : pack_(pack) { program.name = "test"; }

  BufferSlice Buffer(BufferKind kind, const std::string& name, uint64_t elements) {
    PlanBuffer buffer;
    buffer.name = name;
    buffer.kind = kind;
    buffer.shape = {elements};
    buffer.size_bytes = elements * 4;
    const auto index = static_cast<uint32_t>(program.buffers.size());
    program.buffers.push_back(buffer);
    if (kind == BufferKind::kInput) program.inputs.push_back({name, index, F32, {elements}});
    if (kind == BufferKind::kOutput) program.outputs.push_back({name, index, F32, {elements}});
    return {index, 0, elements * 4};
  }
  BufferSlice Input(const std::string& name, uint64_t elements) {
    return Buffer(BufferKind::kInput, name, elements);
  }
  BufferSlice Output(const std::string& name, uint64_t elements) {
    return Buffer(BufferKind::kOutput, name, elements);
  }
  BufferSlice Transient(uint64_t elements) {
    return Buffer(BufferKind::kTransient, "t" + std::to_string(program.buffers.size()), elements);
  }

  static EwInput Linear(BufferSlice slice, uint8_t type = OA_EW_TYPE_F32) {
    EwInput input;
    input.slice = slice;
    input.type = type;
    input.count = slice.size_bytes / 4;
    return input;
  }
  static EwInput Scalar(BufferSlice slice) {
    EwInput input = Linear({slice.buffer, slice.offset, 4});
    input.mode = OA_EW_SCALAR;
    return input;
  }
  static EwInput Periodic(BufferSlice slice, uint32_t div) {
    EwInput input = Linear(slice);
    input.mode = OA_EW_PERIODIC;
    input.div = div;
    input.mod = static_cast<uint32_t>(input.count);
    return input;
  }

  // out = op(a) or op(a, b).
  void Op(uint8_t op, BufferSlice out, EwInput a, float scalar = 0) {
    EwProgram code;
    code.count = out.size_bytes / 4;
    code.inputs = {std::move(a)};
    code.code = {{op, 0, 0, scalar}};
    code.outputs = {{1, out}};
    Add(EwName(op), std::move(code));
  }
  void Op2(uint8_t op, BufferSlice out, EwInput a, EwInput b, float scalar = 0) {
    EwProgram code;
    code.count = out.size_bytes / 4;
    code.inputs = {std::move(a), std::move(b)};
    code.code = {{op, 0, 1, scalar}};
    code.outputs = {{2, out}};
    Add(EwName(op), std::move(code));
  }
  void Op(uint8_t op, BufferSlice out, BufferSlice a, float scalar = 0) {
    Op(op, out, Linear(a), scalar);
  }
  void Op2(uint8_t op, BufferSlice out, BufferSlice a, BufferSlice b) {
    Op2(op, out, Linear(a), Linear(b));
  }
  void Add(const std::string& label, EwProgram code) {
    Dispatch dispatch;
    dispatch.elementwise = std::move(code);
    Append(label, std::move(dispatch));
  }

  // out = product(a, b), with the trivial epilogue.
  void Product(BufferSlice out, BufferSlice a, BufferSlice b) {
    Dispatch dispatch;
    dispatch.kernel = pack_.Find("product_f32");
    const uint64_t n = out.size_bytes / 4;
    dispatch.arguments = {Bytes(a, Access::kRead), Bytes(b, Access::kRead), Number(n)};
    dispatch.constants.assign(dispatch.kernel->constants.size(), 0);
    dispatch.constants[0] = 7;
    dispatch.epilogue = TrivialProgram({}, out);
    Append("product", std::move(dispatch));
  }

  // out = norm(x, weight), with trivial prologue and epilogue.
  void Norm(BufferSlice out, BufferSlice x, BufferSlice weight) {
    Dispatch dispatch;
    dispatch.kernel = pack_.Find("norm_f32");
    dispatch.arguments = {Bytes({weight.buffer, weight.offset, 4}, Access::kRead),
                          Number(out.size_bytes / 4)};
    dispatch.constants.assign(dispatch.kernel->constants.size(), 0);
    dispatch.prologue = TrivialProgram(Linear(x), {});
    dispatch.epilogue = TrivialProgram({}, out);
    Append("norm", std::move(dispatch));
  }

  void Update(BufferSlice param, BufferSlice grad, BufferSlice rate) {
    Dispatch dispatch;
    dispatch.kernel = pack_.Find("update_f32");
    const uint64_t count = param.size_bytes / 4;
    const uint64_t blocks = (count + 7) / 8;
    dispatch.arguments = {
        Bytes(rate, Access::kRead), Number(1), Number(blocks), Bytes(param, Access::kReadWrite),
        Bytes(grad, Access::kRead), Number(0), Number(blocks), Number(count)};
    dispatch.grid = {static_cast<uint32_t>(blocks), 1, 1};
    Append("update", std::move(dispatch));
  }

  static Argument Bytes(BufferSlice slice, Access access) {
    Argument argument;
    argument.slice = slice;
    argument.access = access;
    return argument;
  }
  static Argument Number(uint64_t value) {
    Argument argument;
    argument.kind = ArgumentKind::kU32;
    argument.bits = static_cast<uint32_t>(value);
    return argument;
  }

  std::vector<std::string> Labels() const {
    std::vector<std::string> labels;
    for (const Dispatch& dispatch : program.dispatches) labels.push_back(dispatch.label);
    return labels;
  }

  void Verify(absl::string_view pass) const {
    const absl::Status status = VerifyProgram(program, pass);
    REQUIRE_MESSAGE(status.ok(), status.ToString(), "\n", DumpProgram(program));
  }

  Program program;

 private:
  // One of the two is a register.
  static EwProgram TrivialProgram(EwInput input, BufferSlice output) {
    EwProgram code;
    code.count = (input.slice.size_bytes + output.size_bytes) / 4;
    code.inputs = {std::move(input)};
    code.outputs = {{0, output}};
    return code;
  }

  void Append(const std::string& label, Dispatch dispatch) {
    dispatch.label = label;
    dispatch.nodes = {static_cast<uint32_t>(program.dispatches.size())};
    program.dispatches.push_back(std::move(dispatch));
  }

  const KernelPack& pack_;
};

}  // namespace oa::ir

#endif  // OA_TESTS_IR_PROGRAM_FIXTURE_H_
