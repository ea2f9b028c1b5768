// Products and column sums below the compiler: strides, batches, edges of tiles, any grid, and the
// epilogue with all its inputs and outputs.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/common/elementwise_opcodes.h"
#include "tests/kernels/kernel_run.h"
#include "tests/support/device.h"

namespace oa::testing {
namespace {

struct Case {
  uint32_t m, n, k, batch;
  bool a_transposed, b_transposed;
  uint32_t grid;
};

// Every variant the test device can execute; GPU-shaped ones run on CPU drivers too.
std::vector<Kernel> ProductKernels() {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : TestKernels().kernels()) {
    if (kernel.base != "matmul_f32" && kernel.base != "matmul_f32_t128") continue;
    Kernel copy = kernel;
    if (copy.device == KernelDevice::kGpu) copy.device = KernelDevice::kAny;
    exec::Device* device = TestDevice();
    if (device != nullptr && WhyNotRunnable(copy, device->info().profile).empty()) {
      kernels.push_back(copy);
    }
  }
  return kernels;
}

std::vector<double> Multiply(const Case& c, const std::vector<float>& a,
                             const std::vector<float>& b) {
  std::vector<double> y(size_t{c.batch} * c.m * c.n);
  for (uint32_t e = 0; e < c.batch; ++e) {
    for (uint32_t i = 0; i < c.m; ++i) {
      for (uint32_t j = 0; j < c.n; ++j) {
        double sum = 0;
        for (uint32_t k = 0; k < c.k; ++k) {
          const uint32_t at_a = c.a_transposed ? k * c.m + i : i * c.k + k;
          const uint32_t at_b = c.b_transposed ? j * c.k + k : k * c.n + j;
          sum += double{a[e * c.m * c.k + at_a]} * b[e * c.k * c.n + at_b];
        }
        y[(size_t{e} * c.m + i) * c.n + j] = sum;
      }
    }
  }
  return y;
}

KernelRun ProductRun(const Kernel& kernel, const Case& c, const std::vector<float>& a,
                     const std::vector<float>& b) {
  KernelRun run(kernel);
  run.In("a", a).In("b", b).U32("m", c.m).U32("n", c.n).U32("k", c.k).U32("batch", c.batch);
  run.U32("a_row", c.a_transposed ? 1 : c.k).U32("a_col", c.a_transposed ? c.m : 1);
  run.U32("b_row", c.b_transposed ? 1 : c.n).U32("b_col", c.b_transposed ? c.k : 1);
  run.U32("a_batch", c.m * c.k).U32("b_batch", c.k * c.n);
  run.U32("ecount", c.batch * c.m * c.n).Out("eout0", size_t{c.batch} * c.m * c.n);
  run.Constant("einputs", 1).Constant("eoutputs", 1).Grid(c.grid);
  return run;
}

void CheckClose(const std::vector<float>& got, const std::vector<double>& expected, double terms,
                const std::string& what) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double allowed = 2e-6 * std::sqrt(terms) + 1e-5 * std::abs(expected[i]);
    const double error = std::abs(got[i] - expected[i]) / allowed;
    worst = error <= worst ? worst : error;
  }
  CHECK_MESSAGE(worst <= 1, what, ": error / tolerance ", worst);
}

TEST_CASE("products: every variant, transposition, edge and grid") {
  const Case cases[] = {
      {1, 4, 1, 1, false, false, 1},    {17, 12, 13, 3, false, true, 2},
      {33, 20, 8, 1, true, false, 64},  {130, 132, 33, 1, false, false, 5},
      {128, 128, 64, 2, true, true, 9}, {65, 68, 100, 1, false, true, 40},
  };
  for (const Kernel& kernel : ProductKernels()) {
    for (const Case& c : cases) {
      const std::vector<float> a = Spread(size_t{c.batch} * c.m * c.k, -1, 1);
      const std::vector<float> b = Spread(size_t{c.batch} * c.k * c.n, -1, 1);
      const std::vector<float> got = ProductRun(kernel, c, a, b).Run()["eout0"];
      CheckClose(got, Multiply(c, a, b), c.k,
                 kernel.name + " " + std::to_string(c.m) + "x" + std::to_string(c.n));
    }
  }
}

TEST_CASE("products: an epilogue with bias, residual and a second output") {
  const Case c = {37, 24, 19, 2, false, true, 3};
  const std::vector<float> a = Spread(2 * 37 * 19, -1, 1), b = Spread(2 * 24 * 19, -1, 1);
  const std::vector<float> bias = Spread(24, -1, 1), residual = Spread(2 * 37 * 24, -1, 1);
  const std::vector<double> product = Multiply(c, a, b);
  std::vector<double> pre(product.size()), post(product.size());
  for (size_t i = 0; i < product.size(); ++i) {
    pre[i] = product[i] + bias[i % 24];
    post[i] = 3 * std::max(pre[i], 0.0) + residual[i];
  }
  for (const Kernel& kernel : ProductKernels()) {
    KernelRun run = ProductRun(kernel, c, a, b);
    run.In("ein1", bias).In("ein2", residual).In("ein3", {3}).Out("eout1", pre.size());
    run.U32("ediv1", 1).U32("emod1", 24).U32("elen1", 24).U32("elen3", 1);
    run.Constant("einputs", 4).Constant("eoutputs", 2).Constant("eslots", 4);
    run.Constant("emode1", OA_EW_PERIODIC).Constant("emode3", OA_EW_SCALAR);
    run.Constant("ecode0", OA_EW_ADD | 0 << 8 | 1 << 16).Constant("ecode1", OA_EW_RELU | 5 << 8);
    run.Constant("ecode2", OA_EW_MUL | 6 << 8 | 3 << 16);
    run.Constant("ecode3", OA_EW_ADD | 7 << 8 | 2 << 16);
    run.Constant("eoreg0", 8).Constant("eoreg1", 5);
    auto got = run.Run();
    CheckClose(got["eout0"], post, 60, kernel.name + " after the epilogue");
    CheckClose(got["eout1"], pre, 20, kernel.name + " before the activation");
  }
}

TEST_CASE("column sums: chunks, edges and any grid") {
  const struct {
    uint32_t rows, columns, chunk, grid;
  } cases[] = {{1, 1, 1, 1}, {100, 33, 100, 2}, {1000, 70, 96, 50}, {513, 129, 1000, 3}};
  for (const auto& c : cases) {
    const uint32_t parts = (c.rows + c.chunk - 1) / c.chunk;
    const std::vector<float> x = Spread(size_t{c.rows} * c.columns, -1, 1);
    KernelRun run(KernelFor("column_sum_f32"));
    run.In("x", x).U32("rows", c.rows).U32("columns", c.columns).U32("chunk", c.chunk);
    run.U32("ecount", parts * c.columns).Out("eout0", size_t{parts} * c.columns).Grid(c.grid);
    run.Constant("einputs", 1).Constant("eoutputs", 1);
    std::vector<double> expected(size_t{parts} * c.columns);
    for (uint32_t r = 0; r < c.rows; ++r) {
      for (uint32_t j = 0; j < c.columns; ++j) {
        expected[size_t{r / c.chunk} * c.columns + j] += x[size_t{r} * c.columns + j];
      }
    }
    CheckClose(run.Run()["eout0"], expected, c.rows, "column_sum of " + std::to_string(c.rows));
  }
}

}  // namespace
}  // namespace oa::testing
