// Kernels of vector quantisation below the compiler: every variant, any number of shares (empty
// ones too) and any grid; lists that are not lists.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/kernels/kernel_run.h"
#include "tests/support/device.h"

namespace oa::testing {
namespace {

// Every variant the test device can execute; GPU-shaped ones run on CPU drivers too.
std::vector<Kernel> Variants(const std::string& base) {
  std::vector<Kernel> kernels;
  exec::Device* device = TestDevice();
  if (device == nullptr) return kernels;
  for (const Kernel& kernel : TestKernels().kernels()) {
    if (kernel.base == base && WhyNotRunnable(kernel, device->info().profile).empty()) {
      kernels.push_back(kernel);
    }
  }
  CHECK_FALSE(kernels.empty());
  return kernels;
}

std::vector<uint8_t> BytesOf(const std::vector<uint32_t>& words) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

struct Case {
  uint32_t rows, codes, columns;
};

// The best code of a row among [begin, end) and its distance, as the oracle of vq_assign says.
std::pair<uint32_t, double> Nearest(const Case& c, const std::vector<float>& latent,
                                    const std::vector<float>& codebook, uint32_t row,
                                    uint32_t begin, uint32_t end) {
  std::pair<uint32_t, double> best = {0xffffffffu, INFINITY};
  for (uint32_t k = begin; k < end; ++k) {
    double sum = 0;
    for (uint32_t d = 0; d < c.columns; ++d) {
      const double difference = double{latent[row * c.columns + d]} - codebook[k * c.columns + d];
      sum += difference * difference;
    }
    if (sum < best.second) best = {k, sum};
  }
  return best;
}

void CheckShares(const Kernel& kernel, const Case& c, uint32_t shares, uint32_t grid) {
  INFO(kernel.name, ", ", c.rows, " rows, ", c.codes, " codes, ", shares, " shares");
  const std::vector<float> latent = Spread(size_t{c.rows} * c.columns, -1, 1);
  const std::vector<float> codebook = Spread(size_t{c.codes} * c.columns, -0.9, 1.1);
  KernelRun run(kernel);
  run.In("latent", latent).In("codebook", codebook);
  run.Out("keys", size_t{shares} * c.rows).Out("indices", size_t{shares} * c.rows);
  run.U32("rows", c.rows).U32("columns", c.columns).U32("codes", c.codes).U32("shares", shares);
  const auto outputs = run.Constant("want_keys", 1).Grid(grid).Run();
  const uint32_t tile = kernel.tile[1], tiles = (c.codes + tile - 1) / tile;
  const uint32_t per_share = (tiles + shares - 1) / shares * tile;
  size_t wrong = 0;
  for (uint32_t share = 0; share < shares; ++share) {
    const uint32_t begin = std::min(share * per_share, c.codes);
    const uint32_t end = std::min(begin + per_share, c.codes);
    for (uint32_t row = 0; row < c.rows; ++row) {
      const size_t at = size_t{share} * c.rows + row;
      const auto [code, distance] = Nearest(c, latent, codebook, row, begin, end);
      const uint32_t got = std::bit_cast<uint32_t>(outputs.at("indices")[at]);
      // Two codes may be as near as rounding tells: then either is right.
      wrong += got != code &&
               !(got >= begin && got < end &&
                 Nearest(c, latent, codebook, row, got, got + 1).second <= distance * (1 + 1e-6));
      const float key = outputs.at("keys")[at];
      const bool empty = std::bit_cast<uint32_t>(key) == 0xffffffffu;
      wrong += empty != (begin == end);
      if (!empty) wrong += !(std::abs(key - distance) <= 1e-6 + 1e-5 * distance);
    }
  }
  CHECK_EQ(wrong, 0);
}

TEST_CASE("vq kernels: any number of shares and any grid") {
  for (const Kernel& kernel : Variants("vq_assign_f32")) {
    CheckShares(kernel, {1, 1, 1}, 1, 1);
    CheckShares(kernel, {70, 200, 21}, 1, 1);
    CheckShares(kernel, {70, 200, 21}, 3, 4);
    CheckShares(kernel, {17, 129, 40}, 7, 64);  // on a GPU more shares than tiles of codes
    CheckShares(kernel, {130, 64, 16}, 2, 3);
  }
}

TEST_CASE("vq kernels: of equal keys the first share's code") {
  for (const Kernel& kernel : Variants("vq_best_u32")) {
    KernelRun run(kernel);
    run.InBytes("keys", BytesOf({5, 9, 0xffffffffu, 5, 2, 0xffffffffu, 4, 2, 0x7f800000u}));
    run.InBytes("codes", BytesOf({0, 1, 2, 10, 11, 12, 20, 21, 22}));
    const auto outputs = run.Out("indices", 3).U32("rows", 3).U32("shares", 3).Grid(2).Run();
    const std::vector<float>& got = outputs.at("indices");
    CHECK_EQ(std::bit_cast<uint32_t>(got[0]), 20);
    CHECK_EQ(std::bit_cast<uint32_t>(got[1]), 11);
    CHECK_EQ(std::bit_cast<uint32_t>(got[2]), 22);
  }
}

// Ends that decrease or lie behind the last latent change counts, not what is read or written.
TEST_CASE("vq kernels: hostile ends stay inside the buffers") {
  for (const Kernel& kernel : Variants("vq_ema_update_f32")) {
    for (uint32_t normalize : {0u, 1u}) {
      KernelRun run(kernel);
      run.In("sums", Spread(4 * 9, -1, 1)).In("latent", Spread(5 * 9, -1, 1));
      run.InBytes("ends", BytesOf({7, 3, 0xffffffffu, 0})).In("embed_sum", Spread(4 * 9, -1, 1));
      run.In("cluster_size", {0, 1, 2, 3}).Constant("normalize_codes", normalize);
      run.Out("next_sum", 4 * 9).Out("next_size", 4).Out("next_codebook", 4 * 9);
      run.U32("rows", 5).U32("columns", 9).U32("codes", 4).U32("seed", 0xffffffffu).Grid(3);
      run.F32("decay", 0.5f).F32("epsilon", 1e-5f).F32("dead_threshold", 4);
      const auto outputs = run.Run();
      CHECK_EQ(outputs.at("next_size")[0], 1);  // 3.5 < 4: revived
      CHECK_EQ(outputs.at("next_size")[1], doctest::Approx(2147483646.5));
      for (float value : outputs.at("next_codebook")) CHECK(std::isfinite(value));
    }
  }
}

}  // namespace
}  // namespace oa::testing
