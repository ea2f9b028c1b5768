#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- vq_assign ----

double SquaredDistance(const Tensor& latent, size_t n, const Tensor& codebook, size_t k) {
  const size_t columns = latent.shape[1];
  double sum = 0;
  for (size_t d = 0; d < columns; ++d) {
    const double difference = latent[n * columns + d] - codebook[k * columns + d];
    sum += difference * difference;
  }
  return sum;
}

std::vector<Tensor> Assign(absl::Span<const Tensor> in, const Attributes&) {
  const Tensor& latent = in[0];
  const Tensor& codebook = in[1];
  const size_t columns = latent.shape[1];
  Tensor indices(DType::I32, {latent.shape[0]}), quantized(DType::F32, latent.shape);
  for (size_t n = 0; n < latent.shape[0]; ++n) {
    size_t best = 0;
    double least = SquaredDistance(latent, n, codebook, 0);
    for (size_t k = 1; k < codebook.shape[0]; ++k) {
      const double distance = SquaredDistance(latent, n, codebook, k);
      if (!(distance < least)) continue;
      least = distance;
      best = k;
    }
    indices[n] = static_cast<double>(best);
    for (size_t d = 0; d < columns; ++d) quantized[n * columns + d] = codebook[best * columns + d];
  }
  return {indices, quantized};
}

// Codes that repeat every `period`, so that each row has a tie, far apart.
InputSpec RepeatedCodes(uint64_t codes, uint64_t columns, uint64_t period) {
  std::vector<double> values;
  for (uint64_t i = 0; i < codes * columns; ++i) {
    const uint64_t code = i / columns % period, d = i % columns;
    values.push_back(static_cast<float>(0.1 * static_cast<double>((code * 7 + d * 5) % 31) - 1.5));
  }
  return Values(DType::F32, {codes, columns}, values);
}

ReferenceOp AssignOp() {
  ReferenceOp row = {"vq_assign", Assign};
  const auto add = [&row](uint64_t rows, uint64_t codes, uint64_t columns) {
    row.samples.push_back({{Uniform({rows, columns}), Uniform({codes, columns})}, {}, kExact});
  };
  add(1, 1, 1);
  add(7, 5, 3);
  add(65, 67, 19);  // one more than the tiles of a GPU, and odd columns
  add(33, 300, 8);
  add(300, 17, 33);
  add(2, 3000, 16);
  row.samples.push_back({{Uniform({40, 6}), RepeatedCodes(200, 6, 31)}, {}, kExact});
  row.samples.push_back({{Uniform({20, 17}), RepeatedCodes(1000, 17, 130)}, {}, kExact});
  // Ties between different codes: the origin is equally far from all.
  row.samples.push_back({{Values(DType::F32, {2, 2}, {0, 0, 0, 0.5}),
                          Values(DType::F32, {5, 2}, {0, 3, 1, 0, -1, 0, 0, 1, 0, -1})},
                         {},
                         kExact});
  // Distances that are infinite or not a number; the first code keeps what nothing is smaller than.
  row.samples.push_back({{Values(DType::F32, {5, 1}, {kNan, kInf, -kInf, 1, 0}),
                          Values(DType::F32, {4, 1}, {3, kNan, -3, 0})},
                         {},
                         kExact});
  row.samples.push_back(
      {{Values(DType::F32, {3, 1}, {0, kInf, 1}), Values(DType::F32, {3, 1}, {kNan, 0, 1})},
       {},
       kExact});
  row.rejections = {
      {"a latent of rank 1", {Uniform({3}), Uniform({4, 3})}},
      {"a latent of rank 3", {Uniform({5, 3, 1}), Uniform({4, 3})}},
      {"a codebook of rank 1", {Uniform({5, 3}), Uniform({3})}},
      {"different columns", {Uniform({5, 3}), Uniform({4, 2})}},
      {"no latent", {Uniform({0, 3}), Uniform({4, 3})}},
      {"no code", {Uniform({5, 3}), Uniform({0, 3})}},
      {"no column", {Uniform({5, 0}), Uniform({4, 0})}},
      {"an integer latent", {Integers(DType::I32, {5, 3}, 0, 3), Uniform({4, 3})}},
      {"an integer codebook", {Uniform({5, 3}), Integers(DType::I32, {4, 3}, 0, 3)}},
  };
  return row;
}

// ---- vq_lookup ----

bool Names(double index, size_t rows) { return index >= 0 && index < static_cast<double>(rows); }

std::vector<Tensor> Lookup(absl::Span<const Tensor> in, const Attributes&) {
  const size_t columns = in[0].shape[1];
  Tensor y(DType::F32, {in[1].size(), columns});
  for (size_t n = 0; n < in[1].size(); ++n) {
    if (!Names(in[1][n], in[0].shape[0])) continue;
    for (size_t d = 0; d < columns; ++d) {
      y[n * columns + d] = in[0][static_cast<size_t>(in[1][n]) * columns + d];
    }
  }
  return {y};
}

ReferenceOp LookupOp() {
  ReferenceOp row = {"vq_lookup", Lookup};
  const auto add = [&row](InputSpec codebook, InputSpec indices) {
    row.samples.push_back({{std::move(codebook), std::move(indices)}, {}, kExact});
  };
  add(Uniform({1, 1}), Integers(DType::I32, {1}, 0, 0));
  add(Uniform({7, 5}), Integers(DType::I32, {33}, -2, 8));
  add(Uniform({300, 12}), Integers(DType::I32, {131}, 0, 299));
  add(Uniform({4, 6}),
      Values(DType::I32, {7}, {-2147483648.0, -1, 0, 3, 4, 2147483647.0, 1073741824.0}));
  add(Uniform({4, 6}), Integers(DType::I32, {0}, 0, 3));
  const InputSpec indices = Integers(DType::I32, {5}, 0, 3);
  row.rejections = {
      {"a codebook of rank 1", {Uniform({4}), indices}},
      {"indices of rank 2", {Uniform({4, 3}), Integers(DType::I32, {5, 1}, 0, 3)}},
      {"U32 indices", {Uniform({4, 3}), Integers(DType::U32, {5}, 0, 3)}},
      {"no code", {Uniform({0, 3}), indices}},
      {"no column", {Uniform({4, 0}), indices}},
      {"neither code nor index", {Uniform({0, 3}), Integers(DType::I32, {0}, 0, 3)}},
      {"an integer codebook", {Integers(DType::I32, {4, 3}, 0, 3), indices}},
  };
  return row;
}

// ---- vq_ema_update ----

uint32_t ReviveHash(uint32_t k, uint32_t seed) {
  uint32_t h = ((k + 1) * 2654435761u) ^ (seed * 2246822519u) ^ (seed >> 15);
  h ^= h >> 13;
  h *= 3266489917u;
  return h ^ (h >> 16);
}

// Row k of `sum` and `code` before revival.
void UpdateCode(absl::Span<const Tensor> in, const Attributes& attributes, size_t k, double size,
                Tensor& sums, Tensor& codes) {
  const Tensor& latent = in[0];
  const size_t columns = latent.shape[1];
  const double decay = attributes.f32("decay"), epsilon = attributes.f32("epsilon");
  double squares = 0;
  for (size_t d = 0; d < columns; ++d) {
    double sum = 0;
    for (size_t n = 0; n < latent.shape[0]; ++n) {
      if (in[1][n] == static_cast<double>(k)) sum += latent[n * columns + d];
    }
    sums[k * columns + d] = decay * in[2][k * columns + d] + (1 - decay) * sum;
    codes[k * columns + d] = sums[k * columns + d] / std::max(size, epsilon);
    squares += codes[k * columns + d] * codes[k * columns + d];
  }
  const double rms = std::sqrt(squares / static_cast<double>(columns));
  if (!attributes.boolean("normalize") || !(rms > epsilon)) return;
  for (size_t d = 0; d < columns; ++d) codes[k * columns + d] /= rms;
}

std::vector<Tensor> EmaUpdate(absl::Span<const Tensor> in, const Attributes& attributes) {
  const Tensor& latent = in[0];
  const size_t columns = latent.shape[1];
  const double decay = attributes.f32("decay");
  Tensor sums(DType::F32, in[2].shape), sizes(DType::F32, in[3].shape), codes = sums;
  for (size_t k = 0; k < in[2].shape[0]; ++k) {
    const double count = static_cast<double>(
        std::count(in[1].data.begin(), in[1].data.end(), static_cast<double>(k)));
    sizes[k] = decay * in[3][k] + (1 - decay) * count;
    UpdateCode(in, attributes, k, sizes[k], sums, codes);
    if (sizes[k] >= attributes.f32("dead_threshold")) continue;
    const size_t from = ReviveHash(static_cast<uint32_t>(k), attributes.u32("seed")) %
                        static_cast<uint32_t>(latent.shape[0]);
    for (size_t d = 0; d < columns; ++d) {
      sums[k * columns + d] = codes[k * columns + d] = latent[from * columns + d];
    }
    sizes[k] = 1;
  }
  return {sums, sizes, codes};
}

Attributes Ema(float decay, float epsilon, float threshold, uint32_t seed, bool normalize) {
  return Attributes()
      .F32("decay", decay)
      .F32("epsilon", epsilon)
      .F32("dead_threshold", threshold)
      .U32("seed", seed)
      .Bool("normalize", normalize);
}

std::vector<InputSpec> EmaInputs(uint64_t rows, uint64_t codes, uint64_t columns,
                                 InputSpec indices) {
  return {Uniform({rows, columns}), std::move(indices), Uniform({codes, columns}),
          Uniform({codes}, 0.1, 4), Uniform({codes, columns})};
}

void AddEmaSamples(ReferenceOp& row) {
  const auto add = [&row](std::vector<InputSpec> inputs, Attributes attributes, double terms) {
    row.samples.push_back(
        {std::move(inputs), std::move(attributes), ReductionTolerance(terms, 40)});
  };
  const auto some = [](uint64_t rows, uint64_t codes, uint64_t columns) {
    // Some indices name no code.
    return EmaInputs(rows, codes, columns,
                     Integers(DType::I32, {rows}, -2, static_cast<int64_t>(codes)));
  };
  add(some(1, 1, 1), Ema(0.9f, 1e-5f, 0, 0, false), 1);
  add(some(20, 7, 5), Ema(0.9f, 1e-5f, 0.5f, 3, false), 20);
  add(some(20, 7, 5), Ema(0.9f, 1e-5f, 0.5f, 3, true), 20);
  add(some(977, 300, 33), Ema(0.75f, 1e-5f, 1.75f, 4294967295u, true), 16);
  add(some(600, 3, 300), Ema(0.99f, 1e-5f, 1, 1234567, true), 600);
  add(some(3000, 1100, 4), Ema(0, 1e-5f, 0.5f, 7, false), 16);
  add(some(64, 40, 8), Ema(1, 1e-5f, 2, 9, false), 1);
  // One code has every latent; the sizes of the others stay above the threshold.
  add(EmaInputs(1000, 2, 6, Integers(DType::I32, {1000}, 1, 1)), Ema(0.5f, 1e-5f, 0, 1, false),
      1000);
  // Nothing was ever counted: epsilon divides, the code stays zero and is not normalised.
  add({Uniform({4, 3}), Values(DType::I32, {4}, {-2147483648.0, 2147483647.0, 2, -1}),
       Values(DType::F32, {2, 3}, {0, 0, 0, 0, 0, 0}), Values(DType::F32, {2}, {0, 0}),
       Uniform({2, 3})},
      Ema(0.5f, 0.25f, 0, 5, true), 1);
  add({Uniform({4, 3}), Values(DType::I32, {4}, {0, 2, 0, -1}),
       Values(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6}), Values(DType::F32, {2}, {0, 0.125}),
       Uniform({2, 3})},
      Ema(1, 0.25f, 0, 5, false), 1);
}

ReferenceOp EmaOp() {
  ReferenceOp row = {"vq_ema_update", EmaUpdate};
  AddEmaSamples(row);
  const Attributes good = Ema(0.9f, 1e-5f, 1, 3, true);
  const std::vector<InputSpec> inputs = EmaInputs(5, 4, 3, Integers(DType::I32, {5}, 0, 3));
  const auto reject = [&](const char* why, size_t operand, InputSpec spec) {
    std::vector<InputSpec> changed = inputs;
    changed[operand] = std::move(spec);
    row.rejections.push_back({why, std::move(changed), good});
  };
  reject("a latent of rank 1", 0, Uniform({5}));
  reject("a latent of other columns", 0, Uniform({5, 2}));
  reject("no latent", 0, Uniform({0, 3}));
  reject("an integer latent", 0, Integers(DType::I32, {5, 3}, 0, 3));
  reject("indices of another extent", 1, Integers(DType::I32, {4}, 0, 3));
  reject("indices of rank 2", 1, Integers(DType::I32, {5, 1}, 0, 3));
  reject("U32 indices", 1, Integers(DType::U32, {5}, 0, 3));
  reject("an embed_sum of rank 1", 2, Uniform({4}));
  reject("an embed_sum of other codes", 2, Uniform({5, 3}));
  reject("a cluster_size of rank 2", 3, Uniform({4, 1}));
  reject("a cluster_size of other codes", 3, Uniform({5}));
  reject("a codebook of other codes", 4, Uniform({5, 3}));
  reject("a codebook of other columns", 4, Uniform({4, 2}));
  reject("an integer codebook", 4, Integers(DType::I32, {4, 3}, 0, 3));
  for (const Attributes& bad :
       {Ema(-0.1f, 1e-5f, 1, 3, true), Ema(1.1f, 1e-5f, 1, 3, true), Ema(NAN, 1e-5f, 1, 3, true),
        Ema(0.9f, 0, 1, 3, true), Ema(0.9f, -1, 1, 3, true), Ema(0.9f, INFINITY, 1, 3, true),
        Ema(0.9f, NAN, 1, 3, true), Ema(0.9f, 1e-5f, -1, 3, true),
        Ema(0.9f, 1e-5f, INFINITY, 3, true), Ema(0.9f, 1e-5f, NAN, 3, true)}) {
    row.rejections.push_back({"an attribute out of range", inputs, bad});
  }
  row.rejections.push_back({"no attributes", inputs});
  return row;
}

}  // namespace

std::vector<ReferenceOp> VqReference() { return {AssignOp(), LookupOp(), EmaOp()}; }

}  // namespace oa::reference
