#include "tools/common/scalars.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/common/element.h"
#include "tools/common/text.h"

namespace oa::tools {

Scalars::Scalars(const std::vector<PlanIo>& outputs) {
  for (const PlanIo& io : outputs) {
    const absl::StatusOr<uint64_t> count = ElementCount(io.shape);
    if (!count.ok() || *count != 1) continue;
    Value value;
    value.name = io.name;
    value.is_count = io.dtype != DType::F32 && io.dtype != DType::BF16;
    values_.push_back(value);
    dtypes_.push_back(io.dtype);
  }
}

void Scalars::Add(const OutputBytes& outputs) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto it = outputs.find(values_[i].name);
    if (it == outputs.end() || it->second.size() < SizeOf(dtypes_[i])) continue;
    values_[i].last = ElementAt(dtypes_[i], it->second, 0);
    values_[i].sum += values_[i].last;
    ++values_[i].steps;
  }
}

void Scalars::Reset() {
  for (Value& value : values_) {
    value.sum = 0;
    value.steps = 0;
  }
}

std::string Scalars::LastText() const {
  std::string text;
  for (const Value& value : values_) {
    absl::StrAppend(&text, text.empty() ? "" : "  ", Printable(value.name), " ",
                    HumanNumber(value.last));
  }
  return text;
}

std::string Scalars::EpochText(uint64_t rows) const {
  std::string text;
  for (const Value& value : values_) {
    absl::StrAppend(&text, text.empty() ? "" : "  ", Printable(value.name), " ");
    if (!value.is_count) {
      absl::StrAppend(&text, HumanNumber(value.Mean()));
      continue;
    }
    absl::StrAppendFormat(&text, "%.0f", value.sum);
    if (rows > 0 && value.sum >= 0 && value.sum <= static_cast<double>(rows)) {
      absl::StrAppendFormat(&text, " (%.1f%% of %u)", 100 * value.sum / static_cast<double>(rows),
                            rows);
    }
  }
  return text;
}

}  // namespace oa::tools
