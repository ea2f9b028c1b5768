#include "tests/ir/interpreter.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "ir/kernel_layout.h"

namespace oa::ir {
namespace {

float Apply(uint8_t op, float a, float b, float s) {
  switch (op) {
    case OA_EW_COPY:
      return a;
    case OA_EW_ADD:
      return a + b;
    case OA_EW_SUB:
      return a - b;
    case OA_EW_MUL:
      return a * b;
    case OA_EW_SCALE:
      return a * s;
    case OA_EW_ADD_SCALAR:
      return a + s;
    case OA_EW_NEG:
      return -a;
    case OA_EW_RELU:
      return a > 0 ? a : 0;
    case OA_EW_RELU_BWD:
      return a > 0 ? b : 0;
  }
  FAIL("the interpreter does not know opcode ", static_cast<int>(op));
  return 0;
}

class Machine {
 public:
  explicit Machine(const Program& program) : program_(program) {
    const bool placed = !program.arenas.empty();
    memory_.resize(placed ? program.arenas.size() : program.buffers.size());
    for (size_t m = 0; m < memory_.size(); ++m) {
      const uint64_t bytes = placed ? program.arenas[m].size_bytes : program.buffers[m].size_bytes;
      memory_[m].assign(bytes / 4, std::numeric_limits<float>::quiet_NaN());
    }
    for (uint32_t b = 0; b < program.buffers.size(); ++b) {
      const BufferKind kind = program.buffers[b].kind;
      if (kind == BufferKind::kInput || IsPersistent(kind)) Fill(b);
    }
  }

  void Run(const Dispatch& d) {
    if (d.elementwise) {
      RunProgram(*d.elementwise, 0, nullptr);
    } else if (d.kernel->base == "product_f32") {
      RunProduct(d);
    } else if (d.kernel->base == "norm_f32") {
      RunNorm(d);
    } else if (d.kernel->base == "update_f32") {
      RunUpdate(d);
    } else {
      RunProgram(Decode(d, "", OA_EW_MAX_INPUTS), 0, nullptr);
    }
  }

  Observed Result() {
    Observed observed;
    for (const PlanIo& io : program_.outputs) observed[io.name] = Copy(io.buffer);
    for (uint32_t b = 0; b < program_.buffers.size(); ++b) {
      const PlanBuffer& buffer = program_.buffers[b];
      if (IsPersistent(buffer.kind)) observed[buffer.name] = Copy(b);
    }
    return observed;
  }

 private:
  float* At(const BufferSlice& slice) {
    const PlanBuffer& buffer = program_.buffers[slice.buffer];
    if (program_.arenas.empty()) return memory_[slice.buffer].data() + slice.offset / 4;
    return memory_[buffer.arena].data() + (buffer.offset + slice.offset) / 4;
  }

  void Fill(uint32_t b) {
    const PlanBuffer& buffer = program_.buffers[b];
    uint32_t seed = 17;
    for (char c : buffer.name) seed = seed * 31 + static_cast<uint32_t>(c);
    float* values = At({b, 0, buffer.size_bytes});
    for (uint64_t i = 0; i < buffer.size_bytes / 4; ++i) {
      seed = seed * 1664525 + 1013904223;
      values[i] = static_cast<float>(seed >> 8) / 8388608.0f - 1;
    }
  }

  std::vector<float> Copy(uint32_t b) {
    const float* values = At({b, 0, program_.buffers[b].size_bytes});
    return std::vector<float>(values, values + program_.buffers[b].size_bytes / 4);
  }

  static uint64_t IndexOf(const EwProgram& program, const EwInput& input, uint64_t i) {
    switch (input.mode) {
      case OA_EW_LINEAR:
        return i;
      case OA_EW_SCALAR:
        return 0;
      case OA_EW_PERIODIC:
        return i / input.div % input.mod;
    }
    uint64_t index = 0;
    for (size_t axis = program.extents.size(); axis-- > 0;) {
      index += i % program.extents[axis] * input.strides[axis];
      i /= program.extents[axis];
    }
    return index;
  }

  // All registers of element i. `accumulator`: values of those in front of `first_memory_input`, by
  // element.
  std::vector<float> Registers(const EwProgram& program, size_t first_memory_input,
                               const std::vector<float>* accumulator, uint64_t i) {
    std::vector<float> registers;
    for (size_t k = 0; k < program.inputs.size(); ++k) {
      const EwInput& input = program.inputs[k];
      registers.push_back(k < first_memory_input ? (*accumulator)[i]
                                                 : At(input.slice)[IndexOf(program, input, i)]);
    }
    for (const EwInstruction& code : program.code) {
      const float b = EwArity(code.op) == 2 ? registers.at(code.b) : 0;
      registers.push_back(Apply(code.op, registers.at(code.a), b, code.scalar));
    }
    return registers;
  }

  void RunProgram(const EwProgram& program, size_t first_memory_input,
                  const std::vector<float>* accumulator) {
    for (uint64_t i = 0; i < program.count; ++i) {
      const std::vector<float> registers = Registers(program, first_memory_input, accumulator, i);
      for (const EwOutput& output : program.outputs) {
        At(output.slice)[i] = registers.at(output.reg);
      }
    }
  }

  void RunProduct(const Dispatch& d) {
    const float* a = At(d.arguments[0].slice);
    const float* b = At(d.arguments[1].slice);
    const uint32_t n = d.arguments[2].bits;
    CHECK_EQ(d.constants[0], 7);
    std::vector<float> result;
    for (uint32_t i = 0; i < n; ++i) result.push_back(a[i] + b[n - 1 - i]);
    RunProgram(d.epilogue ? *d.epilogue : Decode(d, "e", OA_EPILOGUE_MAX_INPUTS), 1, &result);
  }

  // Output 0 of the prologue is returned, the others are stored.
  std::vector<float> RunPrologue(const EwProgram& program) {
    std::vector<float> operand;
    for (uint64_t i = 0; i < program.count; ++i) {
      const std::vector<float> registers = Registers(program, 0, nullptr, i);
      operand.push_back(registers.at(program.outputs[0].reg));
      for (size_t k = 1; k < program.outputs.size(); ++k) {
        At(program.outputs[k].slice)[i] = registers.at(program.outputs[k].reg);
      }
    }
    return operand;
  }

  void RunNorm(const Dispatch& d) {
    const float weight = *At(d.arguments[0].slice);
    const uint32_t n = d.arguments[1].bits;
    const std::vector<float> x =
        RunPrologue(d.prologue ? *d.prologue : Decode(d, "p", OA_PROLOGUE_MAX_INPUTS));
    REQUIRE_EQ(x.size(), n);
    std::vector<float> result;
    for (uint32_t i = 0; i < n; ++i) result.push_back(x[i] * weight + x[n - 1 - i]);
    RunProgram(d.epilogue ? *d.epilogue : Decode(d, "e", OA_EPILOGUE_MAX_INPUTS), 1, &result);
  }

  void RunUpdate(const Dispatch& d) {
    const float rate = *At(d.arguments[0].slice);
    uint32_t blocks = 0;
    for (uint32_t r = 0; r < d.arguments[1].bits; ++r) {
      const Argument* record = d.arguments.data() + 3 + r * 5;
      CHECK_EQ(record[2].bits, blocks);
      blocks += record[3].bits;
      float* param = At(record[0].slice);
      const float* grad = At(record[1].slice);
      for (uint32_t i = 0; i < record[4].bits; ++i) param[i] -= rate * grad[i];
    }
    CHECK_EQ(d.arguments[2].bits, blocks);
  }

  // The program that the arguments and constants of an encoded dispatch say.
  static EwProgram Decode(const Dispatch& d, const std::string& prefix, size_t register_base) {
    const Kernel& kernel = *d.kernel;
    const auto argument = [&](absl::string_view name, size_t k) -> const Argument& {
      const int index = FindArgument(kernel.arguments, absl::StrCat(prefix, name, k));
      REQUIRE_MESSAGE(index >= 0, prefix, name, k);
      return d.arguments[static_cast<size_t>(index)];
    };
    const auto constant = [&](const std::string& name) {
      const int index = FindConstant(kernel, prefix + name);
      REQUIRE_MESSAGE(index >= 0, prefix, name);
      return d.constants[static_cast<size_t>(index)];
    };
    EwProgram program;
    program.count = d.arguments[FindArgument(kernel.arguments, prefix + "count")].bits;
    const size_t inputs = constant("inputs");
    const bool strided = FindArgument(kernel.arguments, "rank") >= 0;
    const uint32_t rank = strided ? d.arguments[FindArgument(kernel.arguments, "rank")].bits : 0;
    for (uint32_t a = 0; a < rank; ++a) program.extents.push_back(argument("extents", a).bits);
    for (size_t k = 0; k < inputs; ++k) {
      EwInput input;
      if (k > 0 || prefix != "e") {
        input.slice = argument("in", k).slice;
        input.mode = static_cast<uint8_t>(constant(absl::StrCat("mode", k)));
        input.div = argument("div", k).bits;
        input.mod = argument("mod", k).bits;
        for (uint32_t a = 0; a < rank; ++a) {
          input.strides.push_back(argument("strides", k * 8 + a).bits);
        }
      }
      program.inputs.push_back(input);
    }
    const auto reg = [&](uint32_t encoded) {
      return static_cast<uint8_t>(encoded < inputs ? encoded : encoded - register_base + inputs);
    };
    for (size_t k = 0; k < constant("slots"); ++k) {
      const uint32_t code = constant(absl::StrCat("code", k));
      program.code.push_back({static_cast<uint8_t>(code & 255), reg(code >> 8 & 255),
                              reg(code >> 16 & 255), std::bit_cast<float>(argument("s", k).bits)});
    }
    for (size_t k = 0; k < constant("outputs"); ++k) {
      const bool in_memory = k > 0 || prefix != "p";
      program.outputs.push_back({reg(constant(absl::StrCat("oreg", k))),
                                 in_memory ? argument("out", k).slice : BufferSlice()});
    }
    return program;
  }

  const Program& program_;
  std::vector<std::vector<float>> memory_;
};

}  // namespace

Observed Interpret(const Program& program, const std::vector<size_t>& order) {
  Machine machine(program);
  if (order.empty()) {
    for (const Dispatch& dispatch : program.dispatches) machine.Run(dispatch);
  } else {
    for (size_t i : order) machine.Run(program.dispatches[i]);
  }
  return machine.Result();
}

}  // namespace oa::ir
