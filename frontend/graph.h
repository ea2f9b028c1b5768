// Graph, Matrix, Parameter and State: what a program records into and refers to.
//
//   oa::Graph graph("classifier");
//   oa::Matrix x = graph.Input("x", oa::F32, {32, 64});
//   oa::Parameter w = graph.Param("w", {10, 64}, oa::init::KaimingUniform(1));
//   OA_ASSIGN_OR_RETURN(oa::Matrix y, oa::matrix::linear(x, w, nullptr));
//   graph.Output("y", y);
//   OA_RETURN_IF_ERROR(graph.Save("classifier.oag"));
//
// Nothing is computed while recording. Not thread-safe; one thread records one graph.
#ifndef OA_FRONTEND_GRAPH_H_
#define OA_FRONTEND_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/init.h"
#include "schema/dtype.h"
#include "schema/status_macros.h"
#include "schema/test_vector.h"

namespace oa {

namespace ir {
class Graph;
}

class Graph;

// A handle on one value of a graph: cheap to copy, valid as long as its graph lives.
class Matrix {
 public:
  Matrix() = default;

  DType dtype() const;
  const Shape& shape() const;
  // Number of extents, and one of them.
  int rank() const { return static_cast<int>(shape().size()); }
  uint64_t extent(int axis) const { return shape()[axis]; }

  Graph* graph() const { return graph_; }
  int32_t id() const { return id_; }
  // False for a default-constructed handle and for the result of a failed declaration.
  bool valid() const { return graph_ != nullptr && id_ >= 0; }

 private:
  friend class Graph;
  Matrix(Graph* graph, int32_t id) : graph_(graph), id_(id) {}

  Graph* graph_ = nullptr;
  int32_t id_ = -1;
};

// An operand that may be absent; nullptr means it is.
using OptMatrix = const Matrix*;

// A named F32 value that persists between replays and is trained. Cheap handle.
class Parameter {
 public:
  Parameter() = default;

  const std::string& name() const;
  // The newest recorded version of the data.
  Matrix data() const;
  operator Matrix() const { return data(); }
  // How often the data has been overwritten by recorded nodes.
  uint32_t version() const;
  bool requires_grad() const;

 private:
  friend class Graph;
  Parameter(Graph* graph, int32_t storage) : graph_(graph), storage_(storage) {}

  Graph* graph_ = nullptr;
  int32_t storage_ = -1;
};

// A named value that persists between replays without being trained: optimiser moments,
// recurrent states, running statistics. Cheap handle.
class State {
 public:
  State() = default;
  const std::string& name() const;
  // The newest recorded version.
  Matrix value() const;
  operator Matrix() const { return value(); }

 private:
  friend class Graph;
  State(Graph* graph, int32_t storage) : graph_(graph), storage_(storage) {}

  Graph* graph_ = nullptr;
  int32_t storage_ = -1;
};

// A recorded program. Declarations (Input, Param, State, Constant, Output) report an error through
// status(), which every later operator call and Save return too, so they read as plain statements;
// operators return Result.
class Graph {
 public:
  explicit Graph(absl::string_view name);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Given anew for every replay.
  Matrix Input(absl::string_view name, DType dtype, const Shape& shape);
  // F32; `requires_grad` false freezes it.
  Parameter Param(absl::string_view name, const Shape& shape, const init::Initialiser& initialiser,
                  bool requires_grad = true);
  // All zero bytes at first, or the given bytes (exactly the size of the value).
  oa::State State(absl::string_view name, DType dtype, const Shape& shape);
  oa::State State(absl::string_view name, DType dtype, const Shape& shape,
                  std::vector<uint8_t> bytes);
  // F32 state filled by an initialiser.
  oa::State State(absl::string_view name, const Shape& shape, const init::Initialiser& initialiser);
  // Never written by the graph; its bytes travel in the file.
  Matrix Constant(absl::string_view name, DType dtype, const Shape& shape,
                  std::vector<uint8_t> bytes);
  Matrix Constant(absl::string_view name, const Shape& shape, const std::vector<float>& values);

  // Names a value that the host can read after every replay.
  void Output(absl::string_view name, const Matrix& value);

  // The first error of a declaration; OK while there is none.
  const absl::Status& status() const { return status_; }

  // All parameters in the order of declaration.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::string& name() const;

  // Inputs and expected outputs that `oa-run check` replays; names and sizes are checked.
  absl::Status AddTestVector(TestVector vector);

  // Every operator recorded from now on carries `label` in dumps and error messages.
  void SetLabel(absl::string_view label) { label_ = std::string(label); }

  // The bytes of the .oag file; equal programs give equal bytes.
  Result<std::vector<uint8_t>> Serialize() const;
  // Writes atomically.
  absl::Status Save(const std::string& path) const;

  // For passes and tests: the graph as the compiler sees it.
  ir::Graph& ir() { return *ir_; }
  const ir::Graph& ir() const { return *ir_; }

  // For the operator functions: a handle on value `id`, and the newest value of its storage.
  Matrix Handle(int32_t id) { return Matrix(this, id); }
  Matrix Latest(int32_t storage);
  // The replay counter that random numbers are drawn with (frontend/random.h): the first version of
  // the state `random.replay`. The first call declares it and records the node that advances it.
  Result<Matrix> ReplayCounter();
  // Called with the results of every recorded node.
  void NoteResults(absl::Span<const int32_t> values);
  // Called after the underlying graph was rolled back to where status() was OK: forgets handles on
  // what is gone, and the error of a declaration that is.
  void ForgetRolledBack();
  const std::string& label() const { return label_; }

 private:
  friend class Parameter;
  friend class oa::State;

  // The new value's id, or -1 after keeping the error in status_.
  int32_t Declare(const absl::StatusOr<int32_t>& value);
  void Keep(const absl::Status& status);
  void ApplyInitialiser(int32_t value, const Shape& shape, const init::Initialiser& initialiser);

  std::unique_ptr<ir::Graph> ir_;
  absl::Status status_;
  std::vector<Parameter> parameters_;
  std::vector<int32_t> frozen_;          // storages of parameters without gradient
  std::vector<int32_t> latest_;          // newest value by storage, -1 unknown
  int32_t replay_counter_ = -1;          // -1: no random numbers yet
  std::string label_;
};

}  // namespace oa

#endif  // OA_FRONTEND_GRAPH_H_
