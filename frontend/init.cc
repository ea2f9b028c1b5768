#include "frontend/init.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace oa::init {
namespace {

constexpr double kTwoPi = 6.283185307179586476925;
constexpr double kUnit24 = 1.0 / 16777216.0;  // 2^-24

Initialiser Make(Initialiser::Kind kind, std::string text) {
  Initialiser result;
  result.kind = kind;
  result.text = std::move(text);
  return result;
}

Initialiser Random(Initialiser::Kind kind, std::string text, double low, double high,
                   uint64_t seed, Initialiser::Fan fan) {
  Initialiser result = Make(kind, std::move(text));
  result.low = low;
  result.high = high;
  result.seed = seed;
  result.fan = fan;
  return result;
}

double FanScale(Initialiser::Fan fan, const Shape& shape) {
  if (fan == Initialiser::Fan::kNone) return 1.0;
  double fan_in = 1, fan_out = shape.empty() ? 1.0 : static_cast<double>(shape[0]);
  for (size_t i = 1; i < shape.size(); ++i) {
    fan_in *= static_cast<double>(shape[i]);
    if (i > 1) fan_out *= static_cast<double>(shape[i]);
  }
  const double divisor = fan == Initialiser::Fan::kIn ? fan_in : fan_in + fan_out;
  return 1.0 / std::sqrt(divisor);
}

// Elements 4b .. 4b+3 of the stream.
void DrawBlock(const Initialiser& init, uint64_t block, double scale, double out[4]) {
  const bool normal = init.kind == Initialiser::Kind::kNormal;
  const PhiloxBlock counter = {{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                                normal ? 1u : 0u, 0u}};
  const PhiloxBlock words = Philox(counter, init.seed);
  const double low = init.low * scale, high = init.high * scale;
  if (!normal) {
    for (int j = 0; j < 4; ++j) out[j] = low + (words.word[j] >> 8) * kUnit24 * (high - low);
    return;
  }
  for (int j = 0; j < 4; j += 2) {
    const double radius = std::sqrt(-2.0 * std::log(((words.word[j] >> 8) + 1) * kUnit24));
    const double angle = kTwoPi * (words.word[j + 1] >> 8) * kUnit24;
    out[j] = low + high * radius * std::cos(angle);
    out[j + 1] = low + high * radius * std::sin(angle);
  }
}

}  // namespace

Initialiser Zeros() { return Constant(0); }
Initialiser Ones() { return Constant(1); }

Initialiser Constant(float value) {
  Initialiser result = Make(Initialiser::Kind::kFill, absl::StrFormat("constant(%g)", value));
  result.value = value;
  return result;
}

Initialiser Values(std::vector<float> values) {
  Initialiser result = Make(Initialiser::Kind::kValues, "values");
  result.values = std::move(values);
  return result;
}

Initialiser Uniform(float low, float high, uint64_t seed) {
  return Random(Initialiser::Kind::kUniform,
                absl::StrFormat("uniform(%g, %g, seed=%d)", low, high, seed), low, high, seed,
                Initialiser::Fan::kNone);
}

Initialiser Normal(float mean, float stddev, uint64_t seed) {
  return Random(Initialiser::Kind::kNormal,
                absl::StrFormat("normal(%g, %g, seed=%d)", mean, stddev, seed), mean, stddev, seed,
                Initialiser::Fan::kNone);
}

Initialiser KaimingUniform(uint64_t seed) {
  return Random(Initialiser::Kind::kUniform, absl::StrFormat("kaiming_uniform(seed=%d)", seed),
                -std::sqrt(6.0), std::sqrt(6.0), seed, Initialiser::Fan::kIn);
}

Initialiser XavierUniform(uint64_t seed) {
  return Random(Initialiser::Kind::kUniform, absl::StrFormat("xavier_uniform(seed=%d)", seed),
                -std::sqrt(6.0), std::sqrt(6.0), seed, Initialiser::Fan::kAverage);
}

std::vector<float> Materialise(const Initialiser& initialiser, const Shape& shape) {
  if (initialiser.kind == Initialiser::Kind::kValues) return initialiser.values;
  uint64_t count = 1;
  for (uint64_t extent : shape) count *= extent;
  std::vector<float> result(count, initialiser.value);
  if (initialiser.kind == Initialiser::Kind::kFill) return result;
  const double scale = FanScale(initialiser.fan, shape);
  for (uint64_t i = 0; i < count; i += 4) {
    double block[4];
    DrawBlock(initialiser, i / 4, scale, block);
    for (uint64_t j = 0; j < 4 && i + j < count; ++j) result[i + j] = static_cast<float>(block[j]);
  }
  return result;
}

PhiloxBlock Philox(PhiloxBlock c, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c.word[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c.word[2];
    c = {{static_cast<uint32_t>(p1 >> 32) ^ c.word[1] ^ k0, static_cast<uint32_t>(p1),
          static_cast<uint32_t>(p0 >> 32) ^ c.word[3] ^ k1, static_cast<uint32_t>(p0)}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

}  // namespace oa::init
