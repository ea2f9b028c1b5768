#include "tools/common/stream.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/shuffle.h"

namespace oa::tools {
namespace {

// "[*, 64]".
std::string RowShapeText(absl::Span<const uint64_t> shape) {
  std::string text = "[*";
  for (uint64_t extent : shape.subspan(1)) absl::StrAppend(&text, ", ", extent);
  return text + "]";
}

absl::Status CheckRowShape(const PlanIo& io, const NpyArray& array) {
  if (io.shape.empty() || io.shape[0] == 0) {
    return UsageError("the input '", io.name, "' is ", TypeText(io.dtype, io.shape),
                      " and has no first extent to stream over; use --input.");
  }
  const absl::Span<const uint64_t> got = array.header.shape;
  const absl::Span<const uint64_t> wanted = io.shape;
  if (!got.empty() && got.subspan(1) == wanted.subspan(1)) return absl::OkStatus();
  return UsageError("'", array.name, "' has shape ", ShapeText(got), " but streaming the input '",
                    io.name, "' ", TypeText(io.dtype, io.shape), " needs ", RowShapeText(wanted),
                    ".");
}

}  // namespace

absl::Status BatchStream::Add(const PlanIo& io, const TensorArg& arg) {
  OA_ASSIGN_OR_RETURN(const NpyArray array, LoadArray(arg));
  OA_RETURN_IF_ERROR(CheckRowShape(io, array));
  const uint64_t rows = array.header.shape[0];
  const uint64_t batch = io.shape[0];
  if (sources_.empty()) {
    rows_ = rows;
    batch_ = batch;
  }
  if (rows != rows_) {
    return UsageError("streamed inputs must have equally many rows: '", sources_[0].name, "' has ",
                      rows_, ", '", io.name, "' has ", rows, ".");
  }
  if (batch != batch_) {
    return UsageError("streamed inputs must have the same batch: '", sources_[0].name, "' takes ",
                      batch_, " rows a step, '", io.name, "' takes ", batch, ".");
  }
  if (rows < batch) {
    return UsageError("'", array.name, "' has ", rows, " rows, less than one batch of ", batch,
                      ".");
  }
  Source source;
  source.name = io.name;
  OA_ASSIGN_OR_RETURN(source.data, ConvertElements(array, io.dtype));
  source.row_bytes = source.data.size() / rows;
  sources_.push_back(std::move(source));
  return absl::OkStatus();
}

absl::StatusOr<BatchStream> BatchStream::Create(const Plan& plan,
                                                absl::Span<const TensorArg> args) {
  BatchStream stream;
  for (const TensorArg& arg : args) {
    for (const Source& source : stream.sources_) {
      if (source.name == arg.name) return UsageError("'", arg.name, "' is streamed twice.");
    }
    OA_ASSIGN_OR_RETURN(const PlanIo* io, FindIo(plan.inputs, arg.name, "input"));
    OA_RETURN_IF_ERROR(stream.Add(*io, arg));
  }
  if (stream.sources_.empty()) return UsageError("no input is streamed.");
  return stream;
}

std::vector<std::string> BatchStream::names() const {
  std::vector<std::string> names;
  for (const Source& source : sources_) names.push_back(source.name);
  return names;
}

void BatchStream::Shuffle(uint64_t seed, uint64_t epoch) {
  order_ = EpochOrder(rows_, seed, epoch);
}

void BatchStream::Fill(uint64_t index, ByteViews& views) {
  const uint64_t first = index * batch_;
  for (Source& source : sources_) {
    const uint64_t width = source.row_bytes;
    if (order_.empty()) {
      views[source.name] = source.data.bytes().subspan(first * width, batch_ * width);
      continue;
    }
    source.gathered.resize(batch_ * width);
    if (width == 0) continue;
    for (uint64_t i = 0; i < batch_; ++i) {
      std::memcpy(source.gathered.data() + i * width,
                  source.data.bytes().data() + order_[first + i] * width, width);
    }
    views[source.name] = source.gathered;
  }
}

}  // namespace oa::tools
