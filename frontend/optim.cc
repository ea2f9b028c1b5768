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

absl::Status RecordedAlready(absl::string_view op) {
  return absl::FailedPreconditionError(
      absl::StrCat(op,
                   ": this optimiser has recorded its step already; replay the graph for "
                   "further steps, or use a second optimiser with another name"));
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
  if (hyper) return RecordedAlready(op);
  const std::string name = options.name.empty() ? default_name : options.name;
  return internal::Atomically(*graph, [&]() -> absl::Status {
    const State state = graph->State(
        absl::StrCat(name, ".hyper"), DType::U32, {6},
        Words({0, std::bit_cast<uint32_t>(options.learning_rate),
               std::bit_cast<uint32_t>(options.beta1), std::bit_cast<uint32_t>(options.beta2),
               std::bit_cast<uint32_t>(options.epsilon),
               std::bit_cast<uint32_t>(options.weight_decay)}));
    OA_RETURN_IF_ERROR(AdamUpdates(*graph, op, options, name, state, gradients));
    OA_RETURN_IF_ERROR(graph->status());
    hyper = state;
    return absl::OkStatus();
  });
}

absl::Status SgdUpdates(Graph& graph, const SgdOptions& options, const Matrix& hyper,
                        const autograd::Gradients& gradients) {
  const ir::Attributes attributes = ir::Attributes()
                                        .F32("lr", options.learning_rate)
                                        .F32("momentum", options.momentum)
                                        .F32("weight_decay", options.weight_decay)
                                        .Bool("nesterov", options.nesterov);
  for (const auto& [parameter, gradient] : gradients.parameters()) {
    const Matrix data = parameter.data();
    Matrix momentum;
    if (options.momentum != 0) {
      momentum = Moment(graph, options.name, parameter, "momentum").value();
    }
    OA_RETURN_IF_ERROR(
        internal::RecordAll("sgd_step",
                            {&data, &gradient, options.momentum != 0 ? &momentum : nullptr, &hyper},
                            attributes)
            .status());
  }
  return absl::OkStatus();
}

// The gradients, each in a storage of its own: two parameters may share one gradient (the operands
// of an addition do), which must not be scaled twice.
Result<std::vector<Matrix>> OwnStorages(const autograd::Gradients& gradients) {
  std::set<int32_t> storages;
  std::vector<Matrix> result;
  for (const auto& [parameter, gradient] : gradients.parameters()) {
    if (!gradient.valid()) {
      return absl::InvalidArgumentError(absl::StrCat("clip_grad_norm: the gradient of parameter '",
                                                     parameter.name(),
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
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> results,
                      internal::Atomically(*graph, [&] { return Clipped(gradients, max_norm); }));
  for (size_t i = 0; i + 1 < results.size(); ++i) gradients.SetParameterGradient(i, results[i]);
  return results.back();
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
  if (hyper_) return RecordedAlready("sgd_step");
  return internal::Atomically(*graph, [&]() -> absl::Status {
    const State state = graph->State(
        absl::StrCat(options_.name, ".hyper"), {3},
        init::Values({options_.learning_rate, options_.momentum, options_.weight_decay}));
    OA_RETURN_IF_ERROR(graph->status());
    OA_RETURN_IF_ERROR(SgdUpdates(*graph, options_, state.value(), gradients));
    OA_RETURN_IF_ERROR(graph->status());
    hyper_ = state;
    return absl::OkStatus();
  });
}

}  // namespace oa::ml::optim
