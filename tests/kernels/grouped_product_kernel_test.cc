// Products and column sums by groups, below the compiler: every variant with rows of its own for
// each group and with summed rows, partial sums, odd offsets and any grid.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/kernels/kernel_run.h"
#include "tests/support/device.h"

namespace oa::testing {
namespace {

// Every variant the test device can execute; GPU-shaped ones run on CPU drivers too.
std::vector<Kernel> Variants(const std::string& prefix) {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : TestKernels().kernels()) {
    if (kernel.base.compare(0, prefix.size(), prefix) != 0) continue;
    Kernel copy = kernel;
    if (copy.device == KernelDevice::kGpu) copy.device = KernelDevice::kAny;
    exec::Device* device = TestDevice();
    if (device != nullptr && WhyNotRunnable(copy, device->info().profile).empty()) {
      kernels.push_back(copy);
    }
  }
  return kernels;
}

struct Case {
  std::vector<uint32_t> offsets;
  uint32_t rows, inner, outer;  // a [rows, inner], b [groups, outer, inner]
  uint32_t shares, grid;

  uint32_t groups() const { return static_cast<uint32_t>(offsets.size()) - 1; }
  uint32_t begin(uint32_t g) const { return std::min(offsets[g], rows); }
  uint32_t end(uint32_t g) const { return std::max(std::min(offsets[g + 1], rows), begin(g)); }
};

const std::vector<Case>& Cases() {
  static const auto& cases = *new std::vector<Case>({
      {{0, 1}, 1, 4, 4, 1, 1},
      {{0, 5, 5, 133}, 133, 20, 36, 2, 3},
      {{3, 60, 200, 300}, 310, 33, 132, 3, 7},
      {{0, 128, 256, 300, 4294967295u}, 301, 64, 8, 1, 64},
      {{2, 2, 2}, 2, 16, 4, 4, 2},
      {{0, 1, 2, 3, 5, 8, 13, 21, 34}, 34, 12, 20, 1, 40},
  });
  return cases;
}

std::vector<uint8_t> BytesOf(const std::vector<uint32_t>& words) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

void CheckClose(const std::vector<float>& got, const std::vector<double>& expected, double terms,
                const std::string& what) {
  REQUIRE_EQ(got.size(), expected.size());
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double allowed = 2e-6 * std::sqrt(terms) + 1e-5 * std::abs(expected[i]);
    const double error = std::abs(got[i] - expected[i]) / allowed;
    worst = error <= worst ? worst : error;  // a NaN stays
  }
  CHECK_MESSAGE(worst <= 1, what, ": error / tolerance ", worst);
}

TEST_CASE("grouped products: rows of each group with its own factor and bias") {
  for (const Kernel& kernel : Variants("matmul_grouped_f32")) {
    for (const Case& c : Cases()) {
      const std::vector<float> a = Spread(size_t{c.rows} * c.inner, -1, 1);
      const std::vector<float> b = Spread(size_t{c.groups()} * c.outer * c.inner, -1, 1);
      const std::vector<float> bias = Spread(size_t{c.groups()} * c.outer, -1, 1);
      std::vector<double> expected(size_t{c.rows} * c.outer);
      for (uint32_t g = 0; g < c.groups(); ++g) {
        for (uint32_t r = c.begin(g); r < c.end(g); ++r) {
          for (uint32_t j = 0; j < c.outer; ++j) {
            double sum = bias[g * c.outer + j];
            for (uint32_t k = 0; k < c.inner; ++k) {
              sum += double{a[r * c.inner + k]} * b[(g * c.outer + j) * c.inner + k];
            }
            expected[r * c.outer + j] = sum;
          }
        }
      }
      KernelRun run(kernel);
      run.In("a", a).In("b", b).InBytes("offsets", BytesOf(c.offsets)).In("bias", bias);
      run.U32("m", c.rows).U32("n", c.outer).U32("k", c.inner).U32("batch", 1);
      run.U32("a_row", c.inner).U32("a_col", 1).U32("b_row", 1).U32("b_col", c.inner);
      run.U32("b_batch", c.outer * c.inner).U32("groups", c.groups()).Constant("has_bias", 1);
      run.U32("ecount", c.rows * c.outer).Out("eout0", expected.size()).Grid(c.grid);
      run.Constant("einputs", 1).Constant("eoutputs", 1);
      CheckClose(run.Run()["eout0"], expected, c.inner + 1,
                 kernel.name + ", " + std::to_string(c.rows) + " rows");
    }
  }
}

// a' b over the rows of each share of each group, [shares, groups, outer, inner].
std::vector<double> SumsOfGroups(const Case& c, const std::vector<float>& a,
                                 const std::vector<float>& b) {
  const size_t size = size_t{c.outer} * c.inner;
  std::vector<double> sums(c.shares * c.groups() * size);
  for (uint32_t g = 0; g < c.groups(); ++g) {
    const uint32_t count = c.end(g) - c.begin(g), most = (count + c.shares - 1) / c.shares;
    for (uint32_t r = 0; r < count; ++r) {
      double* share = sums.data() + (r / most * c.groups() + g) * size;
      for (uint32_t i = 0; i < c.outer; ++i) {
        for (uint32_t j = 0; j < c.inner; ++j) {
          share[i * c.inner + j] +=
              double{a[(c.begin(g) + r) * c.outer + i]} * b[(c.begin(g) + r) * c.inner + j];
        }
      }
    }
  }
  return sums;
}

TEST_CASE("grouped products: sums over the rows of each group, in shares") {
  for (const Kernel& kernel : Variants("matmul_grouped_f32")) {
    for (const Case& c : Cases()) {
      const std::vector<float> a = Spread(size_t{c.rows} * c.outer, -1, 1);
      const std::vector<float> b = Spread(size_t{c.rows} * c.inner, -1, 1);
      const uint32_t n = kernel.tile[0] == 128 ? c.inner / 4 * 4 : c.inner;
      if (n != c.inner) continue;  // the large tile needs a multiple of four columns
      const std::vector<double> expected = SumsOfGroups(c, a, b);
      KernelRun run(kernel);
      run.In("a", a).In("b", b).InBytes("offsets", BytesOf(c.offsets));
      run.U32("m", c.outer).U32("n", n).U32("k", c.rows).U32("batch", c.shares);
      run.U32("a_row", 1).U32("a_col", c.outer).U32("b_row", c.inner).U32("b_col", 1);
      run.U32("groups", c.groups()).Constant("summed", 1).Grid(c.grid);
      run.U32("ecount", static_cast<uint32_t>(expected.size())).Out("eout0", expected.size());
      run.Constant("einputs", 1).Constant("eoutputs", 1);
      CheckClose(run.Run()["eout0"], expected, c.rows,
                 kernel.name + ", " + std::to_string(c.rows) + " summed rows");
    }
  }
}

TEST_CASE("grouped column sums: shares, edges and any grid") {
  for (const Kernel& kernel : Variants("column_sum_grouped_f32")) {
    for (const Case& c : Cases()) {
      const std::vector<float> x = Spread(size_t{c.rows} * c.outer, -1, 1);
      Case ones = c;
      ones.inner = 1;
      const std::vector<double> expected = SumsOfGroups(ones, x, std::vector<float>(c.rows, 1.0f));
      KernelRun run(kernel);
      run.In("x", x).InBytes("offsets", BytesOf(c.offsets)).U32("rows", c.rows);
      run.U32("columns", c.outer).U32("groups", c.groups()).U32("shares", c.shares).Grid(c.grid);
      run.U32("ecount", static_cast<uint32_t>(expected.size())).Out("eout0", expected.size());
      run.Constant("einputs", 1).Constant("eoutputs", 1);
      CheckClose(run.Run()["eout0"], expected, c.rows,
                 kernel.name + ", " + std::to_string(c.rows) + " rows");
    }
  }
}

// Offsets that decrease or are huge give unspecified values; the guards of KernelRun see every
// write outside the buffers, and the run must end.
TEST_CASE("grouped products: hostile offsets stay inside the buffers") {
  const std::vector<std::vector<uint32_t>> hostile = {{4294967295u, 4294967294u, 0, 7},
                                                      {40, 30, 20, 10},
                                                      {0, 4294967295u, 0, 4294967295u},
                                                      {2147483648u, 1, 2147483648u, 0}};
  constexpr uint32_t kRows = 40, kInner = 12, kOuter = 20;
  for (const Kernel& kernel : Variants("matmul_grouped_f32")) {
    for (const std::vector<uint32_t>& offsets : hostile) {
      for (uint32_t summed : {0u, 1u}) {
        KernelRun run(kernel);
        run.In("a", Spread(kRows * kOuter, -1, 1)).In("b", Spread(kRows * kOuter * 3, -1, 1));
        run.InBytes("offsets", BytesOf(offsets)).U32("groups", 3).Constant("summed", summed);
        const uint32_t count = summed == 1 ? 3 * kOuter * kInner : kRows * kOuter;
        run.U32("m", summed == 1 ? kOuter : kRows).U32("n", summed == 1 ? kInner : kOuter);
        run.U32("k", summed == 1 ? kRows : kInner).U32("batch", 1);
        run.U32("a_row", summed == 1 ? 1 : kInner).U32("a_col", summed == 1 ? kOuter : 1);
        run.U32("b_row", summed == 1 ? kInner : 1).U32("b_col", summed == 1 ? 1 : kInner);
        run.U32("b_batch", summed == 1 ? 0 : kOuter * kInner);
        run.U32("ecount", count).Out("eout0", count).Grid(5);
        run.Constant("einputs", 1).Constant("eoutputs", 1);
        CHECK_EQ(run.Run()["eout0"].size(), TestDevice() == nullptr ? 0 : count);
      }
    }
  }
}

}  // namespace
}  // namespace oa::testing
