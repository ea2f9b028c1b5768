// Blob: immutable bytes with shared ownership, so that a tensor in a mapped file is never copied.
// Thread-safe (immutable).
#ifndef OA_SCHEMA_BLOB_H_
#define OA_SCHEMA_BLOB_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace oa {

class Blob {
 public:
  Blob() = default;

  // Takes ownership of `bytes`.
  static Blob Own(std::vector<uint8_t> bytes) {
    auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
    absl::Span<const uint8_t> view = *owner;
    return Blob(std::move(owner), view);
  }

  // `view` stays valid as long as `owner` lives.
  static Blob Share(std::shared_ptr<const void> owner, absl::Span<const uint8_t> view) {
    return Blob(std::move(owner), view);
  }

  absl::Span<const uint8_t> bytes() const { return view_; }
  uint64_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }

 private:
  Blob(std::shared_ptr<const void> owner, absl::Span<const uint8_t> view)
      : owner_(std::move(owner)), view_(view) {}

  std::shared_ptr<const void> owner_;
  absl::Span<const uint8_t> view_;
};

}  // namespace oa

#endif  // OA_SCHEMA_BLOB_H_
