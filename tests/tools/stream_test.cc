// Shuffling, streaming, epoch figures and comparisons.
#include "tools/common/stream.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/tools/temp_folder.h"
#include "tools/common/compare.h"
#include "tools/common/scalars.h"
#include "tools/common/shuffle.h"

namespace oa::tools {
namespace {

TEST_CASE("shuffle: SplitMix64 yields the published numbers") {
  SplitMix64 generator(1234567);
  CHECK_EQ(generator.Next(), 6457827717110365317u);
  CHECK_EQ(generator.Next(), 3203168211198807973u);
  CHECK_EQ(generator.Next(), 9817491932198370423u);
}

TEST_CASE("shuffle: a permutation, the same each time, another each epoch") {
  const std::vector<uint64_t> first = EpochOrder(1000, 7, 0);
  CHECK(first == EpochOrder(1000, 7, 0));
  CHECK(first != EpochOrder(1000, 7, 1));
  CHECK(first != EpochOrder(1000, 8, 0));
  std::vector<uint64_t> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (uint64_t i = 0; i < sorted.size(); ++i) REQUIRE_EQ(sorted[i], i);
  // Part of the contract: runs recorded elsewhere must be repeatable.
  CHECK(EpochOrder(8, 7, 0) == EpochOrder(8, 7, 0));
  CHECK(EpochOrder(0, 7, 0).empty());
}

// images u8[2, 3] and labels u8[2], from files of `rows` rows.
struct Files {
  testing::TempFolder folder;
  std::vector<TensorArg> args;

  Files(uint64_t image_rows, uint64_t label_rows) {
    std::vector<uint8_t> images(image_rows * 3), labels(label_rows);
    for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<uint8_t>(i);
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<uint8_t>(100 + i);
    const std::string x = folder.File("x.npy"), y = folder.File("y.npy");
    REQUIRE(WriteNpy(x, DType::U8, Shape{image_rows, 3}, images).ok());
    REQUIRE(WriteNpy(y, DType::U8, Shape{label_rows}, labels).ok());
    args = {*ParseTensorArg("images=@" + x), *ParseTensorArg("labels=@" + y)};
  }
};

Plan StreamPlan() {
  Plan plan;
  plan.inputs = {{"images", 0, DType::U8, {2, 3}}, {"labels", 1, DType::U8, {2}}};
  return plan;
}

TEST_CASE("stream: batches in file order, the incomplete one dropped") {
  const Files files(5, 5);
  auto stream = BatchStream::Create(StreamPlan(), files.args);
  REQUIRE_MESSAGE(stream.ok(), stream.status().message());
  CHECK_EQ(stream->batches(), 2);
  CHECK_EQ(stream->dropped_rows(), 1);
  ByteViews views;
  stream->Fill(1, views);
  CHECK(views["images"] == absl::MakeConstSpan(std::vector<uint8_t>{6, 7, 8, 9, 10, 11}));
  CHECK(views["labels"] == absl::MakeConstSpan(std::vector<uint8_t>{102, 103}));
}

TEST_CASE("stream: shuffled inputs stay aligned") {
  const Files files(64, 64);
  auto stream = BatchStream::Create(StreamPlan(), files.args);
  REQUIRE(stream.ok());
  stream->Shuffle(3, 0);
  std::vector<bool> seen(64, false);
  ByteViews views;
  for (uint64_t batch = 0; batch < stream->batches(); ++batch) {
    stream->Fill(batch, views);
    for (int row = 0; row < 2; ++row) {
      const uint8_t index = static_cast<uint8_t>(views["labels"][row] - 100);
      CHECK_EQ(views["images"][3 * row], static_cast<uint8_t>(3 * index));
      CHECK_FALSE(seen[index]);
      seen[index] = true;
    }
  }
}

TEST_CASE("stream: files that do not fit are refused") {
  const auto message = [](const Plan& plan, const std::vector<TensorArg>& args) {
    return std::string(BatchStream::Create(plan, args).status().message());
  };
  CHECK(absl::StrContains(message(StreamPlan(), Files(4, 5).args), "equally many rows"));
  CHECK(absl::StrContains(message(StreamPlan(), Files(1, 1).args), "less than one batch"));
  const Files files(4, 4);
  Plan wide = StreamPlan();
  wide.inputs[0].shape = {2, 4};
  CHECK(absl::StrContains(message(wide, files.args), "needs [*, 4]"));
  Plan other = StreamPlan();
  other.inputs[1].shape = {4};
  CHECK(absl::StrContains(message(other, files.args), "same batch"));
  CHECK(absl::StrContains(message(StreamPlan(), {*ParseTensorArg("images=1")}), "from a file"));
  CHECK(absl::StrContains(message(StreamPlan(), {files.args[0], files.args[0]}), "twice"));
}

template <class T>
std::vector<uint8_t> BytesOf(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST_CASE("scalars: floats are averaged, counts are summed") {
  Scalars scalars({{"loss", 0, DType::F32, {1}},
                   {"correct", 1, DType::U32, {1}},
                   {"logits", 2, DType::F32, {2, 2}}});
  REQUIRE_EQ(scalars.values().size(), 2);
  scalars.Add({{"loss", BytesOf<float>({1})}, {"correct", BytesOf<uint32_t>({30})}});
  scalars.Add({{"loss", BytesOf<float>({2})}, {"correct", BytesOf<uint32_t>({18})}});
  CHECK_EQ(scalars.LastText(), "loss 2  correct 18");
  CHECK_EQ(scalars.EpochText(64), "loss 1.5  correct 48 (75.0% of 64)");
  CHECK_EQ(scalars.EpochText(0), "loss 1.5  correct 48");
  scalars.Reset();
  CHECK_EQ(scalars.values()[0].Mean(), 0);
}

TEST_CASE("compare: tolerances, bits, NaN and infinities") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto compare = [](std::vector<float> got, std::vector<float> want, Tolerance tolerance) {
    const auto result = Compare(DType::F32, BytesOf(got), BytesOf(want), tolerance);
    REQUIRE(result.ok());
    return *result;
  };
  CHECK(compare({1, 2}, {1, 2}, {}).ok());
  CHECK_FALSE(compare({0.0f}, {-0.0f}, {}).ok());  // bit for bit
  CHECK(compare({0.0f}, {-0.0f}, {1e-6, 0}).ok());
  CHECK(compare({1.01f}, {1}, {0, 0.02}).ok());
  CHECK_FALSE(compare({1.03f}, {1}, {0, 0.02}).ok());
  CHECK(compare({nan, inf}, {nan, inf}, {1e-6, 0}).ok());
  CHECK_FALSE(compare({1}, {inf}, {1e-6, 1e-3}).ok());
  CHECK_FALSE(compare({nan}, {1}, {10, 10}).ok());
  CHECK(std::isinf(compare({nan}, {1}, {10, 10}).max_abs));
  const Comparison worst = compare({1, 5, 9}, {1, 2, 3}, {1, 0});
  CHECK_EQ(worst.mismatches, 2);
  CHECK_EQ(worst.worst, 2);
  CHECK_EQ(worst.max_abs, 6);
  CHECK_EQ(worst.max_rel, 2);
  CHECK_FALSE(Compare(DType::F32, BytesOf<float>({1}), BytesOf<float>({1, 2}), {}).ok());
}

TEST_CASE("compare: overrides by element type") {
  const auto all = ToleranceOverrides::Parse("1e-3", "");
  REQUIRE(all.ok());
  CHECK_EQ(all->Apply(DType::F32, {1, 2}).rtol, 1e-3);
  CHECK_EQ(all->Apply(DType::F32, {1, 2}).atol, 1);
  CHECK_EQ(all->Apply(DType::I32, {0, 0}).rtol, 0);
  const auto by_type = ToleranceOverrides::Parse("f32=1e-4,bf16=1e-2", "i32=1");
  REQUIRE(by_type.ok());
  CHECK_EQ(by_type->Apply(DType::BF16, {}).rtol, 1e-2);
  CHECK_EQ(by_type->Apply(DType::I32, {}).atol, 1);
  for (const char* text : {"abc", "-1", "f33=1", "f32=", "nan"}) {
    CHECK_FALSE(ToleranceOverrides::Parse(text, "").ok());
  }
}

}  // namespace
}  // namespace oa::tools
