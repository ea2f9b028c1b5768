#include "executor/io_layout.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "schema/checked_math.h"
#include "schema/closest_names.h"
#include "schema/container.h"

namespace oa::exec {
namespace {

// Gives the value a place in the last staging buffer, or in a new one where that is full.
void Stage(uint64_t max_staging_bytes, std::vector<uint64_t>& staging_bytes, IoBinding& binding) {
  const uint64_t used = staging_bytes.empty() ? 0 : AlignUp(staging_bytes.back(), kTensorAlignment);
  const bool fits = used <= max_staging_bytes && binding.size_bytes <= max_staging_bytes - used;
  if (staging_bytes.empty() || !fits) {
    staging_bytes.push_back(0);
  } else {
    binding.staging_offset = used;
  }
  binding.staging_buffer = static_cast<uint32_t>(staging_bytes.size() - 1);
  staging_bytes.back() = binding.staging_offset + binding.size_bytes;
}

std::vector<IoBinding> Bind(const Plan& plan, const std::vector<PlanIo>& values, bool stage,
                            uint64_t max_staging_bytes, std::vector<uint64_t>& staging_bytes) {
  std::vector<IoBinding> bindings;
  bindings.reserve(values.size());
  for (const PlanIo& value : values) {
    const PlanBuffer& buffer = plan.buffers[value.buffer];
    IoBinding binding;
    binding.name = value.name;
    binding.arena = buffer.arena;
    binding.offset = buffer.offset;
    binding.size_bytes = buffer.size_bytes;
    binding.staged = stage && buffer.size_bytes != 0;
    if (binding.staged) Stage(max_staging_bytes, staging_bytes, binding);
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

}  // namespace

IoLayout LayoutIo(const Plan& plan, bool stage_inputs, bool stage_outputs,
                  uint64_t max_staging_bytes) {
  IoLayout layout;
  layout.inputs = Bind(plan, plan.inputs, stage_inputs, max_staging_bytes, layout.upload_bytes);
  layout.outputs =
      Bind(plan, plan.outputs, stage_outputs, max_staging_bytes, layout.readback_bytes);
  return layout;
}

uint64_t IoArenaBytes(const Plan& plan) {
  uint64_t bytes = 0;
  for (const PlanArena& arena : plan.arenas) {
    if (arena.kind == ArenaKind::kIo) bytes += arena.size_bytes;
  }
  return bytes;
}

absl::Status CheckInputs(const Plan& plan, const InputMap& inputs) {
  std::vector<std::string> names;
  for (const PlanIo& input : plan.inputs) {
    names.push_back(input.name);
    const auto given = inputs.find(input.name);
    const std::string type = TypeText(input.dtype, input.shape);
    if (given == inputs.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input \"", input.name, "\" (", type, ") of plan \"", plan.name, "\" was not given"));
    }
    const uint64_t wanted = plan.buffers[input.buffer].size_bytes;
    if (given->second.size() != wanted) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", input.name, "\" has ",
                                                     given->second.size(), " bytes; its type ",
                                                     type, " takes ", wanted));
    }
  }
  if (inputs.size() == plan.inputs.size()) return absl::OkStatus();
  for (const auto& [name, bytes] : inputs) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat("plan \"", plan.name, "\" has no input \"", name,
                                                   "\"", ClosestNames(name, names)));
  }
  return absl::OkStatus();
}

}  // namespace oa::exec
