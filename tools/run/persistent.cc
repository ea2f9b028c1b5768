#include "tools/run/persistent.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "schema/closest_names.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/text.h"

namespace oa::tools {
namespace {

bool Belongs(const PlanBuffer& buffer, PersistentSet set) {
  if (buffer.kind == BufferKind::kParameter) return true;
  return set == PersistentSet::kAll && buffer.kind == BufferKind::kState;
}

// Null when `name` is no parameter or state.
const PlanBuffer* FindWritable(const Plan& plan, const std::string& name) {
  const int index = plan.FindPersistent(name);
  if (index < 0 || !Belongs(plan.buffers[index], PersistentSet::kAll)) return nullptr;
  return &plan.buffers[index];
}

absl::StatusOr<const PlanBuffer*> RequireWritable(const Plan& plan, const std::string& name) {
  if (const PlanBuffer* buffer = FindWritable(plan, name)) return buffer;
  std::vector<std::string> names;
  for (const PlanBuffer& b : plan.buffers) {
    if (Belongs(b, PersistentSet::kAll)) names.push_back(Printable(b.name));
  }
  return UsageError("--set: there is no parameter or state '", name, "'", ClosestNames(name, names),
                    ".");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckTensors(const Plan& plan, const Safetensors& file,
                                                      const std::string& path, PersistentSet set) {
  std::vector<std::string> missing;
  size_t used = 0;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (!Belongs(buffer, set)) continue;
    const Tensor* tensor = file.Find(buffer.name);
    if (tensor == nullptr) {
      missing.push_back(Printable(buffer.name));
      continue;
    }
    ++used;
    if (tensor->dtype == buffer.dtype && tensor->shape == buffer.shape) continue;
    return BadFile("'", path, "': '", Printable(buffer.name), "' is ",
                   TypeText(tensor->dtype, tensor->shape), " but the model wants ",
                   TypeText(buffer.dtype, buffer.shape), ".");
  }
  if (!missing.empty()) {
    return BadFile("'", path, "' lacks ", Counted(missing.size(), "tensor"),
                   " that the model needs: ", absl::StrJoin(missing, ", "), ".");
  }
  std::vector<std::string> extra;
  if (used == file.tensors.size()) return extra;
  for (const Tensor& tensor : file.tensors) {
    const PlanBuffer* buffer = FindWritable(plan, tensor.name);
    if (buffer == nullptr || !Belongs(*buffer, set)) extra.push_back(Printable(tensor.name));
  }
  return extra;
}

absl::Status WriteTensors(exec::Session& session, const Plan& plan, const Safetensors& file,
                          PersistentSet set) {
  for (const PlanBuffer& buffer : plan.buffers) {
    if (!Belongs(buffer, set)) continue;
    const Tensor* tensor = file.Find(buffer.name);
    if (tensor == nullptr) continue;
    OA_RETURN_IF_ERROR(session.WritePersistent(buffer.name, tensor->data.bytes()));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> SaveTensors(exec::Session& session, const Plan& plan,
                                   const std::string& path, PersistentSet set) {
  Safetensors file;
  file.metadata = {{"format", "oa"},
                   {"model", Printable(plan.name)},
                   {"graph_identity", absl::StrFormat("%016x", plan.graph_identity)}};
  for (const PlanBuffer& buffer : plan.buffers) {
    if (!Belongs(buffer, set)) continue;
    OA_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, session.ReadPersistent(buffer.name));
    file.tensors.push_back({buffer.name, buffer.dtype, buffer.shape, Blob::Own(std::move(bytes))});
  }
  OA_RETURN_IF_ERROR(WriteSafetensors(path, file));
  return file.tensors.size();
}

absl::Status CheckSetArgs(const Plan& plan, absl::Span<const SetArg> args) {
  for (const SetArg& arg : args) {
    OA_ASSIGN_OR_RETURN(const PlanBuffer* buffer, RequireWritable(plan, arg.name));
    std::vector<uint8_t> scratch(buffer->size_bytes);
    OA_RETURN_IF_ERROR(SetElement(arg, buffer->dtype, scratch));
  }
  return absl::OkStatus();
}

absl::Status ApplySetArgs(exec::Session& session, const Plan& plan, absl::Span<const SetArg> args) {
  for (const SetArg& arg : args) {
    OA_ASSIGN_OR_RETURN(const PlanBuffer* buffer, RequireWritable(plan, arg.name));
    OA_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, session.ReadPersistent(arg.name));
    OA_RETURN_IF_ERROR(SetElement(arg, buffer->dtype, bytes));
    OA_RETURN_IF_ERROR(session.WritePersistent(arg.name, bytes));
  }
  return absl::OkStatus();
}

}  // namespace oa::tools
