#include "tools/common/bind_inputs.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "schema/closest_names.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/text.h"

namespace oa::tools {
namespace {

absl::Status Missing(const Plan& plan, const std::vector<const PlanIo*>& missing) {
  std::string list;
  for (const PlanIo* io : missing) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", Printable(io->name), " ",
                    TypeText(io->dtype, io->shape));
  }
  return UsageError("'", Printable(plan.name), "' needs ",
                    missing.size() == 1 ? "the input " : "the inputs ", list,
                    "; give each as --input ", Printable(missing[0]->name), "=@file.npy.");
}

}  // namespace

absl::StatusOr<const PlanIo*> FindIo(const std::vector<PlanIo>& list, const std::string& name,
                                     const std::string& what) {
  std::vector<std::string> names;
  for (const PlanIo& io : list) {
    if (io.name == name) return &io;
    names.push_back(Printable(io.name));
  }
  if (names.empty()) return UsageError("there is no ", what, " '", name, "'; the model has none.");
  return UsageError("there is no ", what, " '", name, "'", ClosestNames(name, names), ".");
}

absl::StatusOr<BoundInputs> BindInputs(const Plan& plan, absl::Span<const TensorArg> args,
                                       const BindOptions& options) {
  BoundInputs inputs;
  for (const TensorArg& arg : args) {
    OA_ASSIGN_OR_RETURN(const PlanIo* io, FindIo(plan.inputs, arg.name, "input"));
    if (inputs.contains(arg.name) || absl::c_linear_search(options.provided_elsewhere, arg.name)) {
      return UsageError("the input '", arg.name, "' is given twice.");
    }
    OA_ASSIGN_OR_RETURN(inputs[arg.name], LoadTensor(arg, io->dtype, io->shape));
  }
  std::vector<const PlanIo*> missing;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanIo& io = plan.inputs[i];
    if (inputs.contains(io.name) || absl::c_linear_search(options.provided_elsewhere, io.name)) {
      continue;
    }
    if (!options.random_when_missing) {
      missing.push_back(&io);
      continue;
    }
    OA_ASSIGN_OR_RETURN(const uint64_t count, ElementCount(io.shape));
    inputs[io.name] = RandomTensor(i, io.dtype, count);
  }
  if (!missing.empty()) return Missing(plan, missing);
  return inputs;
}

ByteViews ViewsOf(const BoundInputs& inputs) {
  ByteViews views;
  for (const auto& [name, blob] : inputs) views[name] = blob.bytes();
  return views;
}

}  // namespace oa::tools
