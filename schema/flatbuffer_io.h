// Reading flatbuffer tables from untrusted files, and the tables that graph and plan share.
// Included only by the .cc files that read and write a file kind, never by public headers.
#ifndef OA_SCHEMA_FLATBUFFER_IO_H_
#define OA_SCHEMA_FLATBUFFER_IO_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "flatbuffers/flatbuffers.h"
#include "schema/common_generated.h"
#include "schema/container.h"
#include "schema/dtype.h"
#include "schema/test_vector.h"

namespace oa {

// The verified root table of `file`. The deepest chain of any schema is four tables; a table takes
// at least four bytes and the reference to it four more, which bounds their number by the file.
template <class Root>
absl::StatusOr<const Root*> VerifiedRoot(const ContainerReader& file, FileKind kind) {
  const absl::Span<const uint8_t> bytes = file.flatbuffer();
  constexpr flatbuffers::uoffset_t kMaxDepth = 8;
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 8 + 1);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kMaxDepth, max_tables);
  if (!verifier.VerifyBuffer<Root>(FileMagic(kind))) {
    return absl::DataLossError(
        absl::StrCat("'", file.name(), "': the flatbuffer does not follow its schema."));
  }
  return flatbuffers::GetRoot<Root>(bytes.data());
}

// Copies fields out of verified tables. Missing fields read as empty. The first error is kept and
// reading goes on with harmless values; ask Finish() at the end.
//
// A hostile file may refer to one large vector from many tables. Everything copied is therefore
// charged against the size of the flatbuffer, which a file without such sharing never exceeds.
class FieldReader {
 public:
  explicit FieldReader(const ContainerReader& file)
      : file_(file), budget_(file.flatbuffer().size()) {}

  // Where the following fields are, for messages: "buffers[3]".
  void Enter(const char* table, size_t index) {
    table_ = table;
    index_ = index;
  }

  std::string Text(const flatbuffers::String* text) {
    if (text == nullptr || !Charge(text->size())) return "";
    return std::string(text->c_str(), text->size());
  }

  template <class T>
  std::vector<T> Numbers(const flatbuffers::Vector<T>* numbers) {
    if (numbers == nullptr || !Charge(uint64_t{numbers->size()} * sizeof(T))) return {};
    std::vector<T> result(numbers->size());
    // Element by element through memcpy: the verifier does not check that 64-bit elements are
    // aligned.
    for (flatbuffers::uoffset_t i = 0; i < numbers->size(); ++i) {
      std::memcpy(&result[i], numbers->Data() + uint64_t{i} * sizeof(T), sizeof(T));
      result[i] = flatbuffers::EndianScalar(result[i]);
    }
    return result;
  }

  // Elements of a vector of tables or strings; 0 once something failed, so that loops end.
  template <class T>
  size_t Count(const flatbuffers::Vector<flatbuffers::Offset<T>>* tables) {
    if (tables == nullptr || !Charge(uint64_t{tables->size()} * 4)) return 0;
    return tables->size();
  }

  // `last` is the enum's greatest value.
  template <class E>
  E Enum(uint8_t raw, E last, const char* field) {
    if (raw <= static_cast<uint8_t>(last)) return static_cast<E>(raw);
    Fail(absl::StrCat(field, " is ", raw, ", the greatest known value is ", static_cast<int>(last),
                      "."));
    return E{};
  }

  DType Type(uint8_t raw) { return Enum(raw, static_cast<DType>(kDTypeCount - 1), "dtype"); }

  Shape Extents(const flatbuffers::Vector<uint64_t>* extents) {
    if (extents == nullptr) return {};
    if (extents->size() > kMaxRank) {
      Fail(absl::StrCat("shape has rank ", extents->size(), ", the limit is ", kMaxRank, "."));
      return {};
    }
    const std::vector<uint64_t> numbers = Numbers(extents);
    return Shape(numbers.begin(), numbers.end());
  }

  Blob Data(const fbs::BlobRef* ref, const char* field) {
    if (ref == nullptr) return Blob();
    const BlobRef range = {ref->offset(), ref->size()};
    absl::StatusOr<Blob> blob = file_.Get(range, absl::StrCat(Where(), ".", field));
    if (!blob.ok()) {
      if (status_.ok()) status_ = blob.status();
      return Blob();
    }
    refs_.push_back(range);
    return *std::move(blob);
  }

  std::vector<TestVector> TestVectors(
      const flatbuffers::Vector<flatbuffers::Offset<fbs::TestVector>>* tables) {
    std::vector<TestVector> result;
    const size_t count = Count(tables);
    for (size_t i = 0; i < count && ok(); ++i) {
      Enter("test_vectors", i);
      const fbs::TestVector* table = tables->Get(static_cast<flatbuffers::uoffset_t>(i));
      TestVector vector;
      vector.name = Text(table->name());
      vector.replays = table->replays();
      vector.inputs = Tensors(table->inputs());
      vector.outputs = Tensors(table->outputs());
      result.push_back(std::move(vector));
    }
    return result;
  }

  void Fail(absl::string_view sentence) {
    if (!status_.ok()) return;
    status_ = absl::DataLossError(absl::StrCat("'", file_.name(), "': ", Where(), ".", sentence));
  }

  bool ok() const { return status_.ok(); }

  // The first error, or whether the blobs read so far are disjoint.
  absl::Status Finish() const {
    return status_.ok() ? CheckDisjoint(refs_, file_.name()) : status_;
  }

 private:
  std::string Where() const { return absl::StrCat(table_, "[", index_, "]"); }

  bool Charge(uint64_t bytes) {
    if (!status_.ok()) return false;
    if (bytes <= budget_) {
      budget_ -= bytes;
      return true;
    }
    status_ = absl::DataLossError(
        absl::StrCat("'", file_.name(), "': the tables up to ", Where(),
                     " hold more than the file's size; they share vectors, which is not allowed."));
    return false;
  }

  std::vector<TestTensor> Tensors(
      const flatbuffers::Vector<flatbuffers::Offset<fbs::NamedTensor>>* tables) {
    std::vector<TestTensor> result;
    const size_t count = Count(tables);
    for (size_t i = 0; i < count && ok(); ++i) {
      const fbs::NamedTensor* table = tables->Get(static_cast<flatbuffers::uoffset_t>(i));
      TestTensor tensor;
      tensor.name = Text(table->name());
      tensor.data = Data(table->data(), "data");
      tensor.atol = table->atol();
      tensor.rtol = table->rtol();
      result.push_back(std::move(tensor));
    }
    return result;
  }

  const ContainerReader& file_;
  uint64_t budget_;
  const char* table_ = "root";
  size_t index_ = 0;
  absl::Status status_;
  std::vector<BlobRef> refs_;
};

// Applies `make` to each element and stores the resulting tables as a vector.
template <class T, class Items, class Make>
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<T>>> TableVector(
    flatbuffers::FlatBufferBuilder& builder, const Items& items, Make make) {
  std::vector<flatbuffers::Offset<T>> tables;
  tables.reserve(items.size());
  for (const auto& item : items) tables.push_back(make(item));
  return builder.CreateVector(tables);
}

// Stores `blob` and refers to it; an empty blob is an absent field.
inline flatbuffers::Offset<fbs::BlobRef> StoreBlob(flatbuffers::FlatBufferBuilder& builder,
                                                   ContainerWriter& writer, const Blob& blob) {
  if (blob.empty()) return 0;
  const BlobRef ref = writer.Add(blob);
  return fbs::CreateBlobRef(builder, ref.offset, ref.size);
}

inline flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::TestVector>>>
StoreTestVectors(flatbuffers::FlatBufferBuilder& builder, ContainerWriter& writer,
                 const std::vector<TestVector>& vectors) {
  const auto tensor = [&](const TestTensor& t) {
    const auto name = builder.CreateString(t.name);
    const auto data = StoreBlob(builder, writer, t.data);
    return fbs::CreateNamedTensor(builder, name, data, t.atol, t.rtol);
  };
  return TableVector<fbs::TestVector>(builder, vectors, [&](const TestVector& v) {
    const auto name = builder.CreateString(v.name);
    const auto inputs = TableVector<fbs::NamedTensor>(builder, v.inputs, tensor);
    const auto outputs = TableVector<fbs::NamedTensor>(builder, v.outputs, tensor);
    return fbs::CreateTestVector(builder, name, v.replays, inputs, outputs);
  });
}

}  // namespace oa

#endif  // OA_SCHEMA_FLATBUFFER_IO_H_
