#include "frontend/graph.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ir/graph.h"
#include "ir/graph_io.h"
#include "schema/file_io.h"

namespace oa {
namespace {

const Shape& EmptyShape() {
  static const Shape& shape = *new Shape();
  return shape;
}

const std::string& EmptyName() {
  static const std::string& name = *new std::string();
  return name;
}

std::vector<uint8_t> ToBytes(const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

DType Matrix::dtype() const { return valid() ? graph_->ir().value(id_).dtype : DType::F32; }

const Shape& Matrix::shape() const {
  return valid() ? graph_->ir().value(id_).shape : EmptyShape();
}

const std::string& Parameter::name() const {
  return storage_ < 0 ? EmptyName() : graph_->ir().storages()[storage_].name;
}

Matrix Parameter::data() const {
  if (storage_ < 0) return graph_ == nullptr ? Matrix() : graph_->Handle(-1);
  return graph_->Latest(storage_);
}

uint32_t Parameter::version() const {
  return storage_ < 0 ? 0 : graph_->ir().storages()[storage_].version;
}

bool Parameter::requires_grad() const {
  if (storage_ < 0) return false;
  return std::find(graph_->frozen_.begin(), graph_->frozen_.end(), storage_) ==
         graph_->frozen_.end();
}

const std::string& State::name() const {
  return storage_ < 0 ? EmptyName() : graph_->ir().storages()[storage_].name;
}

Matrix State::value() const {
  if (storage_ < 0) return graph_ == nullptr ? Matrix() : graph_->Handle(-1);
  return graph_->Latest(storage_);
}

Graph::Graph(absl::string_view name) : ir_(std::make_unique<ir::Graph>(std::string(name))) {}
Graph::~Graph() = default;

const std::string& Graph::name() const { return ir_->name(); }

void Graph::Keep(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

int32_t Graph::Declare(const absl::StatusOr<int32_t>& value) {
  if (!value.ok()) {
    Keep(value.status());
    return -1;
  }
  NoteResults({*value});
  return *value;
}

void Graph::NoteResults(absl::Span<const int32_t> values) {
  latest_.resize(ir_->storages().size(), -1);
  for (int32_t id : values) {
    if (id < 0) continue;
    int32_t& latest = latest_[ir_->value(id).storage];
    if (latest < 0 || ir_->value(latest).version < ir_->value(id).version) latest = id;
  }
}

void Graph::ForgetRolledBack() {
  status_ = absl::OkStatus();
  latest_.clear();
  if (replay_counter_ >= static_cast<int32_t>(ir_->values().size())) replay_counter_ = -1;
  for (size_t id = 0; id < ir_->values().size(); ++id) NoteResults({static_cast<int32_t>(id)});
}

Matrix Graph::Latest(int32_t storage) { return Matrix(this, latest_[storage]); }

// All random numbers of a replay read the first version: the graph orders them before the node that
// overwrites it.
Result<Matrix> Graph::ReplayCounter() {
  if (replay_counter_ >= 0) return Handle(replay_counter_);
  OA_ASSIGN_OR_RETURN(const int32_t counter,
                      ir_->AddStorage(BufferKind::kState, "random.replay", DType::U32, {1}));
  OA_ASSIGN_OR_RETURN(const std::vector<int32_t> next, ir_->Record("replay_advance", {counter}));
  NoteResults({counter, next[0]});
  replay_counter_ = counter;
  return Handle(counter);
}

Matrix Graph::Input(absl::string_view name, DType dtype, const Shape& shape) {
  return Matrix(this, Declare(ir_->AddStorage(BufferKind::kInput, name, dtype, shape)));
}

void Graph::ApplyInitialiser(int32_t value, const Shape& shape,
                             const init::Initialiser& initialiser) {
  if (initialiser.kind == init::Initialiser::Kind::kFill) {
    Keep(ir_->SetInitialFill(value, std::bit_cast<uint32_t>(initialiser.value), initialiser.text));
    return;
  }
  Keep(ir_->SetInitialData(value, Blob::Own(ToBytes(init::Materialise(initialiser, shape))),
                           initialiser.text));
}

Parameter Graph::Param(absl::string_view name, const Shape& shape,
                       const init::Initialiser& initialiser, bool requires_grad) {
  const int32_t value = Declare(ir_->AddStorage(BufferKind::kParameter, name, DType::F32, shape));
  if (value < 0) return Parameter(this, -1);
  ApplyInitialiser(value, shape, initialiser);
  const int32_t storage = ir_->value(value).storage;
  if (!requires_grad) frozen_.push_back(storage);
  parameters_.push_back(Parameter(this, storage));
  return parameters_.back();
}

State Graph::State(absl::string_view name, DType dtype, const Shape& shape) {
  const int32_t value = Declare(ir_->AddStorage(BufferKind::kState, name, dtype, shape));
  return oa::State(this, value < 0 ? -1 : ir_->value(value).storage);
}

State Graph::State(absl::string_view name, DType dtype, const Shape& shape,
                   std::vector<uint8_t> bytes) {
  const int32_t value = Declare(ir_->AddStorage(BufferKind::kState, name, dtype, shape));
  if (value < 0) return oa::State(this, -1);
  Keep(ir_->SetInitialData(value, Blob::Own(std::move(bytes)), "values"));
  return oa::State(this, ir_->value(value).storage);
}

State Graph::State(absl::string_view name, const Shape& shape,
                   const init::Initialiser& initialiser) {
  const int32_t value = Declare(ir_->AddStorage(BufferKind::kState, name, DType::F32, shape));
  if (value < 0) return oa::State(this, -1);
  ApplyInitialiser(value, shape, initialiser);
  return oa::State(this, ir_->value(value).storage);
}

Matrix Graph::Constant(absl::string_view name, DType dtype, const Shape& shape,
                       std::vector<uint8_t> bytes) {
  const int32_t value = Declare(ir_->AddStorage(BufferKind::kConstant, name, dtype, shape));
  if (value >= 0) Keep(ir_->SetInitialData(value, Blob::Own(std::move(bytes)), "values"));
  return Matrix(this, value);
}

Matrix Graph::Constant(absl::string_view name, const Shape& shape,
                       const std::vector<float>& values) {
  return Constant(name, DType::F32, shape, ToBytes(values));
}

void Graph::Output(absl::string_view name, const Matrix& value) {
  if (!value.valid() || value.graph() != this) {
    Keep(absl::InvalidArgumentError(
        absl::StrCat("output '", name, "' is not a value of graph '", this->name(), "'")));
    return;
  }
  Keep(ir_->AddOutput(name, value.id()));
}

absl::Status Graph::AddTestVector(TestVector vector) {
  OA_RETURN_IF_ERROR(status_);
  ir_->test_vectors().push_back(std::move(vector));
  // The loader's checks are the checks: a vector it would refuse is refused here.
  absl::Status checked = ir::ParseGraph(Blob::Own(ir::SerializeGraph(*ir_)), name()).status();
  if (!checked.ok()) ir_->test_vectors().pop_back();
  return checked;
}

Result<std::vector<uint8_t>> Graph::Serialize() const {
  OA_RETURN_IF_ERROR(status_);
  return ir::SerializeGraph(*ir_);
}

absl::Status Graph::Save(const std::string& path) const {
  OA_RETURN_IF_ERROR(status_);
  return ir::SaveGraph(*ir_, path);
}

}  // namespace oa
