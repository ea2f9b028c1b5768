// Kernels without SPIR-V for the tests of the compiler: the elementwise kernels with their real
// interface, a product with an epilogue, a norm with prologue and epilogue, and a multi-tensor
// update.
#ifndef OA_TESTS_IR_FAKE_KERNELS_H_
#define OA_TESTS_IR_FAKE_KERNELS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "schema/kernel_pack.h"

namespace oa::ir {

inline KernelArgument FakeBuffer(std::string name, Access access, std::string extent,
                                 uint32_t element_bytes = 4) {
  KernelArgument argument;
  argument.name = std::move(name);
  argument.access = access;
  argument.extent = std::move(extent);
  argument.element_bytes = element_bytes;
  return argument;
}

inline KernelArgument FakeScalar(std::string name, ArgumentKind kind = ArgumentKind::kU32) {
  KernelArgument argument;
  argument.name = std::move(name);
  argument.kind = kind;
  return argument;
}

// Appends name<first> .. name<last>.
inline void FakeScalars(std::vector<KernelArgument>& arguments, const std::string& name, int first,
                        int last, ArgumentKind kind = ArgumentKind::kU32) {
  for (int i = first; i <= last; ++i) {
    arguments.push_back(FakeScalar(absl::StrCat(name, i), kind));
  }
}

inline void FakeConstants(Kernel& kernel, const std::string& name, int first, int last) {
  for (int i = first; i <= last; ++i) {
    const auto id = static_cast<uint32_t>(kernel.constants.size());
    kernel.constants.push_back({absl::StrCat(name, i), id});
  }
}

inline void FakeConstant(Kernel& kernel, const std::string& name) {
  kernel.constants.push_back({name, static_cast<uint32_t>(kernel.constants.size())});
}

inline Kernel FakeKernel(const std::string& name, uint32_t local_size) {
  Kernel kernel;
  kernel.name = kernel.base = name;
  kernel.digest = 1000 + name.size();
  kernel.local_size = {local_size, 1, 1};
  return kernel;
}

inline Kernel FakeElementwise(const std::string& name, bool strided) {
  Kernel kernel = FakeKernel(name, 64);
  std::vector<KernelArgument>& a = kernel.arguments;
  for (int i = 0; i < 8; ++i) {
    a.push_back(
        FakeBuffer(absl::StrCat("in", i), Access::kRead,
                   absl::StrCat("(count*(mode", i, "==0)+max(len", i, ",1)*(mode", i,
                                "!=0))*(4-3*(type", i, "==1)-2*(type", i, "==4))*(inputs>", i, ")"),
                   1));
  }
  for (int i = 0; i < 4; ++i) {
    a.push_back(FakeBuffer(absl::StrCat("out", i), Access::kWrite,
                           absl::StrCat("count*(outputs>", i, ")")));
  }
  a.push_back(FakeScalar("count"));
  FakeScalars(a, "s", 0, 15, ArgumentKind::kF32);
  for (const char* name : {"div", "mod", "len"}) FakeScalars(a, name, 0, 7);
  if (strided) {
    a.push_back(FakeScalar("rank"));
    FakeScalars(a, "extents", 0, 7);
    FakeScalars(a, "strides", 0, 63);
  }
  for (const char* name : {"inputs", "outputs", "slots"}) FakeConstant(kernel, name);
  FakeConstants(kernel, "mode", 0, 7);
  FakeConstants(kernel, "type", 0, 7);
  FakeConstants(kernel, "code", 0, 15);
  FakeConstants(kernel, "oreg", 0, 3);
  return kernel;
}

// The block of a prologue ("p") or an epilogue ("e"), as oa-pack adds it.
struct FakeMachine {
  std::string prefix;
  int first_input, inputs;
  int first_output, outputs;
  int slots;
  bool typed;
};

inline void AddFakeMachine(Kernel& kernel, const FakeMachine& m) {
  std::vector<KernelArgument>& a = kernel.arguments;
  const std::string& p = m.prefix;
  for (int i = m.first_input; i < m.inputs; ++i) {
    a.push_back(FakeBuffer(
        absl::StrCat(p, "in", i), Access::kRead,
        absl::StrCat("(", p, "count*(", p, "mode", i, "==0)+max(", p, "len", i, ",1)*(", p, "mode",
                     i, "!=0))*(", p, "inputs>", i, ")",
                     m.typed ? absl::StrCat("*(4-3*(etype", i, "==1)-2*(etype", i, "==4))") : ""),
        m.typed ? 1 : 4));
  }
  for (int i = m.first_output; i < m.outputs; ++i) {
    a.push_back(FakeBuffer(absl::StrCat(p, "out", i), Access::kWrite,
                           absl::StrCat(p, "count*(", p, "outputs>", i, ")")));
  }
  a.push_back(FakeScalar(p + "count"));
  FakeScalars(a, p + "s", 0, m.slots - 1, ArgumentKind::kF32);
  for (const char* name : {"div", "mod", "len"}) {
    FakeScalars(a, p + name, m.first_input, m.inputs - 1);
  }
  for (const char* name : {"inputs", "outputs", "slots"}) FakeConstant(kernel, p + name);
  FakeConstants(kernel, p + "mode", m.first_input, m.inputs - 1);
  if (m.typed) FakeConstants(kernel, p + "type", m.first_input, m.inputs - 1);
  FakeConstants(kernel, p + "code", 0, m.slots - 1);
  FakeConstants(kernel, p + "oreg", 0, m.outputs - 1);
}

inline void AddFakePrologue(Kernel& kernel) { AddFakeMachine(kernel, {"p", 0, 3, 1, 2, 4, false}); }
inline void AddFakeEpilogue(Kernel& kernel) { AddFakeMachine(kernel, {"e", 1, 5, 0, 2, 8, true}); }

// c[i] = a[i] + b[count - 1 - i], then the epilogue: a stand-in for a product that, like one, reads
// operands of other elements.
inline Kernel FakeProduct() {
  Kernel kernel = FakeKernel("product_f32", 64);
  kernel.arguments = {FakeBuffer("a", Access::kRead, "n"), FakeBuffer("b", Access::kRead, "n"),
                      FakeScalar("n")};
  FakeConstant(kernel, "flavour");  // one of the kernel's own, in front of the epilogue's
  AddFakeEpilogue(kernel);
  return kernel;
}

// y[i] = x[i] * weight[0] + x[count - 1 - i] with prologue and epilogue: a stand-in for a norm.
inline Kernel FakeNorm() {
  Kernel kernel = FakeKernel("norm_f32", 64);
  kernel.arguments = {FakeBuffer("weight", Access::kRead, "1"), FakeScalar("n")};
  AddFakePrologue(kernel);
  AddFakeEpilogue(kernel);
  return kernel;
}

// param[i] -= rate[0] * grad[i] for each record.
inline Kernel FakeUpdate() {
  Kernel kernel = FakeKernel("update_f32", 64);
  kernel.arguments = {FakeBuffer("rate", Access::kRead, "1"), FakeScalar("record_count"),
                      FakeScalar("total_blocks")};
  kernel.records = {FakeBuffer("param", Access::kReadWrite, "count"),
                    FakeBuffer("grad", Access::kRead, "count"), FakeScalar("first_block"),
                    FakeScalar("blocks"), FakeScalar("count")};
  kernel.tile = {8};
  return kernel;
}

// Writes small elements as whole words.
inline Kernel FakeCast() {
  Kernel kernel = FakeKernel("cast", 64);
  kernel.arguments = {FakeBuffer("x", Access::kRead, "count*(4-3*(source==3)-2*(source==4))", 1),
                      FakeBuffer("y", Access::kWrite, "count*(4-3*(target==3)-2*(target==4))", 1),
                      FakeScalar("count")};
  for (const char* name : {"source", "target"}) FakeConstant(kernel, name);
  return kernel;
}

inline KernelPack FakePack() {
  std::vector<Kernel> kernels;
  for (const char* name : {"elementwise_f32_s4", "elementwise_f32_s4_v4", "elementwise_f32_s16",
                           "elementwise_f32_s16_v4"}) {
    kernels.push_back(FakeElementwise(name, false));
  }
  kernels.push_back(FakeElementwise("elementwise_strided_f32_s16", true));
  kernels.push_back(FakeProduct());
  kernels.push_back(FakeNorm());
  kernels.push_back(FakeUpdate());
  kernels.push_back(FakeCast());
  return KernelPack(std::move(kernels), "none");
}

}  // namespace oa::ir

#endif  // OA_TESTS_IR_FAKE_KERNELS_H_
