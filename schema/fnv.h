// FNV-1a 64 over little-endian 32-bit words: the hash of config_identity and graph_identity.
// Source: Fowler, Noll, Vo; the word rules are in FORMAT.md.
#ifndef OA_SCHEMA_FNV_H_
#define OA_SCHEMA_FNV_H_

#include <bit>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace oa {

inline constexpr uint64_t kFnvOffsetBasis = 14695981039346656037ull;

class Fnv1a64 {
 public:
  void Byte(uint8_t byte) { hash_ = (hash_ ^ byte) * 1099511628211ull; }
  void Word(uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) Byte(static_cast<uint8_t>(word >> shift));
  }
  // Low word first.
  void Word64(uint64_t value) {
    Word(static_cast<uint32_t>(value));
    Word(static_cast<uint32_t>(value >> 32));
  }
  void Float(float value) { Word(std::bit_cast<uint32_t>(value)); }
  // The raw bytes, without a length.
  void Text(absl::string_view text) {
    for (char c : text) Byte(static_cast<uint8_t>(c));
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = kFnvOffsetBasis;
};

}  // namespace oa

#endif  // OA_SCHEMA_FNV_H_
