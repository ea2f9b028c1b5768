// What all layers share. A layer declares its parameters when it is constructed and records
// operators, nothing else, when it is called:
//
//   oa::ml::nn::Linear hidden(graph, "hidden", 64, 128);
//   OA_ASSIGN_OR_RETURN(oa::Matrix h, hidden(x));
//
// Parameters are named `<layer>.<parameter>`, so the same layers constructed with the same names in
// a training and in an evaluation graph have the same parameters: `oa-run --save-params` of one is
// `--params` of the other. Values that training tracks but no gradient changes (running statistics,
// balancing biases) are frozen parameters, so that they travel the same way.
//
// A layer may be called several times; its parameters are shared then. Like declarations, an
// impossible constructor argument is reported by the call. A refused call names the layer and
// leaves the graph as it was.
#ifndef OA_FRONTEND_NN_LAYER_H_
#define OA_FRONTEND_NN_LAYER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontend/graph.h"

namespace oa::ml::nn {

// Of layers that compute something else while they are trained.
enum class Mode { kTraining, kEvaluation };

class Layer {
 public:
  const std::string& name() const { return name_; }
  // In the order of declaration, those of inner layers included, frozen ones too.
  const std::vector<Parameter>& parameters() const { return parameters_; }

 protected:
  Layer(Graph& graph, absl::string_view name) : graph_(&graph), name_(name) {}

  Graph& graph() const { return *graph_; }

  // Declares `<layer>.<suffix>`.
  Parameter Declare(absl::string_view suffix, const Shape& shape,
                    const init::Initialiser& initialiser, bool requires_grad = true);
  // Counts the parameters of an inner layer among this one's.
  void Adopt(const Layer& inner);
  // `<layer>.<suffix>`, for inner layers.
  std::string Inner(absl::string_view suffix) const;
  // A seed of its own for every parameter of a graph, from `seed`, the layer's name and the suffix.
  uint64_t SeedOf(absl::string_view suffix, uint64_t seed) const;

  // Keeps the first reason why this layer cannot be called.
  void Refuse(absl::string_view reason);
  // Runs `operators` with the layer's name as the label of what they record. On failure everything
  // recorded by them is undone and the error names the layer.
  Result<Matrix> Record(const std::function<Result<Matrix>()>& operators) const;

 private:
  Graph* graph_;
  std::string name_;
  std::vector<Parameter> parameters_;
  absl::Status status_;
};

}  // namespace oa::ml::nn

#endif  // OA_FRONTEND_NN_LAYER_H_
