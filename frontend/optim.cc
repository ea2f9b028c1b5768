#include "frontend/optim.h"

#include <bit>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/matrix.h"
#include "frontend/record.h"
#include "ir/graph.h"

namespace oa::ml::optim {
namespace {

std::vector<uint8_t> Words(const std::vector<uint32_t>& words) {
  std::vector<uint8_t> bytes(words.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

Graph* GraphOf(const autograd::Gradients& gradients) {
  return gradients.parameters().empty() ? nullptr : gradients.parameters()[0].second.graph();
}

absl::Status NothingToUpdate(absl::string_view op) {
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": the gradients hold no parameter; the loss depends on none"));
}

// Undoes everything a half-recorded step left in the graph.
absl::Status Undo(Graph& graph, const ir::Graph::Mark& mark, const absl::Status& error) {
  graph.ir().Rollback(mark);
  graph.ForgetRolledBack();
  return error;
}

State Moment(Graph& graph, const std::string& optimiser, const Parameter& parameter,
             const char* moment) {
  return graph.State(absl::StrCat(optimiser, ".", parameter.name(), ".", moment), DType::F32,
                     parameter.data().shape());
}

absl::Status AdamUpdates(Graph& graph, const char* op, const AdamOptions& options,
                         const std::string& name, const State& hyper,
                         const autograd::Gradients& gradients) {
  const ir::Attributes attributes = ir::Attributes()
                                        .F32("lr", options.learning_rate)
                                        .F32("beta1", options.beta1)
                                        .F32("beta2", options.beta2)
                                        .F32("epsilon", options.epsilon)
                                        .F32("weight_decay", options.weight_decay);
  Matrix state = hyper.value();
  OA_RETURN_IF_ERROR(internal::Record("optimiser_advance", {&state}).status());
  state = hyper.value();
  for (const auto& [parameter, gradient] : gradients.parameters()) {
    const Matrix data = parameter.data();
    const Matrix m = Moment(graph, name, parameter, "m").value();
    const Matrix v = Moment(graph, name, parameter, "v").value();
    OA_RETURN_IF_ERROR(
        internal::RecordAll(op, {&data, &gradient, &m, &v, &state}, attributes).status());
  }
  return absl::OkStatus();
}

absl::Status AdamStep(const char* op, const AdamOptions& options, const char* default_name,
                      std::optional<State>& hyper, const autograd::Gradients& gradients) {
  Graph* graph = GraphOf(gradients);
  if (graph == nullptr) return NothingToUpdate(op);
  if (hyper) {
    return absl::FailedPreconditionError(
        absl::StrCat(op, ": this optimiser has recorded its step already; replay the graph for "
                         "further steps, or use a second optimiser with another name"));
  }
  OA_RETURN_IF_ERROR(graph->status());
  const std::string name = options.name.empty() ? default_name : options.name;
  const ir::Graph::Mark mark = graph->ir().mark();
  const State state = graph->State(
      absl::StrCat(name, ".hyper"), DType::U32, {6},
      Words({0, std::bit_cast<uint32_t>(options.learning_rate),
             std::bit_cast<uint32_t>(options.beta1), std::bit_cast<uint32_t>(options.beta2),
             std::bit_cast<uint32_t>(options.epsilon),
             std::bit_cast<uint32_t>(options.weight_decay)}));
  absl::Status recorded = AdamUpdates(*graph, op, options, name, state, gradients);
  if (recorded.ok()) recorded = graph->status();
  if (!recorded.ok()) return Undo(*graph, mark, recorded);
  hyper = state;
  return absl::OkStatus();
}

// The gradients, each in a storage of its own: two parameters may share one gradient (the operands
// of an addition do), which must not be scaled twice.
Result<std::vector<Matrix>> OwnStorages(const autograd::Gradients& gradients) {
  std::set<int32_t> storages;
  std::vector<Matrix> result;
  for (const auto& [parameter, gradient] : gradients.parameters()) {
    if (!gradient.valid()) {
      return absl::InvalidArgumentError(
          absl::StrCat("clip_grad_norm: the gradient of parameter '", parameter.name(),
                       "' is a Matrix of no graph"));
    }
    Matrix own = gradient;
    if (!storages.insert(gradient.graph()->ir().value(gradient.id()).storage).second) {
      OA_ASSIGN_OR_RETURN(own, matrix::copy(gradient));
    }
    result.push_back(own);
  }
  return result;
}

// The gradients scaled, and behind them their norm.
Result<std::vector<Matrix>> Clipped(const autograd::Gradients& gradients, float max_norm) {
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> own, OwnStorages(gradients));
  std::vector<OptMatrix> operands;
  for (const Matrix& gradient : own) operands.push_back(&gradient);
  return internal::RecordAll("clip_grad_norm", operands,
                             ir::Attributes().F32("max_norm", max_norm));
}

}  // namespace

Result<Matrix> clip_grad_norm(autograd::Gradients& gradients, float max_norm) {
  if (gradients.parameters().empty()) return NothingToUpdate("clip_grad_norm");
  Graph* graph = GraphOf(gradients);
  if (graph == nullptr) {
    return absl::InvalidArgumentError("clip_grad_norm: a gradient is a Matrix of no graph");
  }
  OA_RETURN_IF_ERROR(graph->status());
  const ir::Graph::Mark mark = graph->ir().mark();
  Result<std::vector<Matrix>> results = Clipped(gradients, max_norm);
  if (!results.ok()) return Undo(*graph, mark, results.status());
  for (size_t i = 0; i + 1 < results->size(); ++i) {
    gradients.SetParameterGradient(i, (*results)[i]);
  }
  return results->back();
}

absl::Status Adam::Step(const autograd::Gradients& gradients) {
  return AdamStep("adam_step", options_, "adam", hyper_, gradients);
}

absl::Status AdamW::Step(const autograd::Gradients& gradients) {
  return AdamStep("adamw_step", options_, "adamw", hyper_, gradients);
}

absl::Status Sgd::Step(const autograd::Gradients& gradients) {
  Graph* graph = GraphOf(gradients);
  if (graph == nullptr) return NothingToUpdate("sgd_step");
  if (hyper_) {
    return absl::FailedPreconditionError(
        "sgd_step: this optimiser has recorded its step already; replay the graph for further "
        "steps, or use a second optimiser with another name");
  }
  OA_RETURN_IF_ERROR(graph->status());
  const ir::Graph::Mark mark = graph->ir().mark();
  const State state = graph->State(absl::StrCat(options_.name, ".hyper"), {3},
                                   init::Values({options_.learning_rate, options_.momentum,
                                                 options_.weight_decay}));
  const ir::Attributes attributes = ir::Attributes()
                                        .F32("lr", options_.learning_rate)
                                        .F32("momentum", options_.momentum)
                                        .F32("weight_decay", options_.weight_decay)
                                        .Bool("nesterov", options_.nesterov);
  const Matrix hyper = state.value();
  absl::Status recorded = graph->status();
  for (const auto& [parameter, gradient] : gradients.parameters()) {
    if (!recorded.ok()) break;
    const Matrix data = parameter.data();
    Matrix momentum;
    if (options_.momentum != 0) {
      momentum = Moment(*graph, options_.name, parameter, "momentum").value();
    }
    recorded = internal::RecordAll(
                   "sgd_step",
                   {&data, &gradient, options_.momentum != 0 ? &momentum : nullptr, &hyper},
                   attributes)
                   .status();
  }
  if (recorded.ok()) recorded = graph->status();
  if (!recorded.ok()) return Undo(*graph, mark, recorded);
  hyper_ = state;
  return absl::OkStatus();
}

}  // namespace oa::ml::optim
