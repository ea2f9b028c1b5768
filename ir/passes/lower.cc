// Every storage that is used becomes one buffer; views and in-place versions share it by
// construction. Nodes are lowered in execution order by their operator rows, so that the order of
// dispatches is right from the start. A named output either owns the buffer of its storage or, when
// that storage lives longer or is overwritten later, gets a copy of the version it names.
#include "ir/passes/lower.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/passes/copy.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

absl::Status CheckAddressable(const PlanBuffer& buffer) {
  const uint64_t elements = buffer.size_bytes / SizeOf(buffer.dtype);
  if (elements <= INT32_MAX) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("'", buffer.name, "' ", TypeText(buffer.dtype, buffer.shape), " has ", elements,
                   " elements; kernels address at most ", INT32_MAX, ". Split the value."));
}

class GraphLowering {
 public:
  GraphLowering(const Graph& graph, const std::vector<NodeId>& nodes, const KernelPack& pack,
                const DeviceProfile& profile, const Routes& routes)
      : graph_(graph), nodes_(nodes), pack_(pack), profile_(profile), routes_(routes) {}

  absl::StatusOr<Program> Run() {
    program_.name = graph_.name();
    program_.graph_identity = GraphIdentity(graph_);
    FindUses();
    for (size_t s = 0; s < used_.size(); ++s) {
      if (used_[s]) OA_RETURN_IF_ERROR(AddBuffer(static_cast<StorageId>(s)));
    }
    AddInputs();
    AddOutputs();
    for (size_t s = 0; s < used_.size(); ++s) {
      if (graph_.storages()[s].kind == BufferKind::kTransient) continue;
      OA_RETURN_IF_ERROR(EmitCopies(static_cast<StorageId>(s), 0));
    }
    for (NodeId node : nodes_) OA_RETURN_IF_ERROR(LowerNode(node));
    DropUnusedTransients(program_);
    return std::move(program_);
  }

 private:
  // Inputs and persistent storages are part of the model even when nothing touches them.
  void FindUses() {
    const size_t storages = graph_.storages().size();
    used_.assign(storages, false);
    last_version_.assign(storages, 0);
    first_value_.assign(storages, kAbsent);
    for (size_t v = 0; v < graph_.values().size(); ++v) {
      ValueId& first = first_value_[graph_.values()[v].storage];
      if (first == kAbsent) first = static_cast<ValueId>(v);
    }
    for (size_t s = 0; s < storages; ++s) {
      used_[s] = graph_.storages()[s].kind != BufferKind::kTransient;
    }
    for (NodeId node : nodes_) {
      for (ValueId id : graph_.nodes()[node].inputs) Use(id);
      for (ValueId id : graph_.nodes()[node].outputs) Use(id);
    }
    for (const NamedValue& output : graph_.outputs()) Use(output.value);
  }

  void Use(ValueId id) {
    if (id == kAbsent) return;
    const Value& value = graph_.value(id);
    used_[value.storage] = true;
    last_version_[value.storage] = std::max(last_version_[value.storage], value.version);
  }

  absl::Status AddBuffer(StorageId s) {
    const Storage& storage = graph_.storages()[s];
    const Value& value = graph_.value(first_value_[s]);
    PlanBuffer buffer;
    buffer.name = storage.kind == BufferKind::kTransient ? TransientName(s) : storage.name;
    buffer.kind = storage.kind;
    buffer.dtype = value.dtype;
    buffer.shape = value.shape;
    buffer.size_bytes = storage.size_bytes;
    buffer.init = storage.init;
    buffer.fill_bits = storage.fill_bits;
    buffer.data = storage.data;
    OA_RETURN_IF_ERROR(CheckAddressable(buffer));
    buffers_[s] = static_cast<int32_t>(program_.buffers.size());
    program_.buffers.push_back(std::move(buffer));
    return absl::OkStatus();
  }

  // "linear#3", or "linear#3.1" for a result that is not the first.
  std::string TransientName(StorageId s) const {
    const ValueId id = first_value_[s];
    const Value& value = graph_.value(id);
    const Node& node = graph_.nodes()[value.producer];
    const auto found = std::find(node.outputs.begin(), node.outputs.end(), id);
    const auto index = found - node.outputs.begin();
    return absl::StrCat(node.op->name, "#", value.producer,
                        index == 0 ? "" : absl::StrCat(".", index));
  }

  void AddInputs() {
    for (const NamedValue& input : graph_.inputs()) {
      const Value& value = graph_.value(input.value);
      program_.inputs.push_back(
          {input.name, static_cast<uint32_t>(buffers_[value.storage]), value.dtype, value.shape});
    }
  }

  void AddOutputs() {
    for (const NamedValue& output : graph_.outputs()) {
      const Value& value = graph_.value(output.value);
      PlanBuffer& own = program_.buffers[buffers_[value.storage]];
      const bool is_last = value.version == last_version_[value.storage];
      uint32_t buffer = static_cast<uint32_t>(buffers_[value.storage]);
      if (graph_.storages()[value.storage].kind == BufferKind::kTransient && is_last) {
        if (own.kind != BufferKind::kOutput) own.name = output.name;
        own.kind = BufferKind::kOutput;
      } else {
        buffer = AddCopyTarget(output);
      }
      program_.outputs.push_back({output.name, buffer, value.dtype, value.shape});
    }
  }

  uint32_t AddCopyTarget(const NamedValue& output) {
    const Value& value = graph_.value(output.value);
    PlanBuffer buffer;
    buffer.name = output.name;
    buffer.kind = BufferKind::kOutput;
    buffer.dtype = value.dtype;
    buffer.shape = value.shape;
    buffer.size_bytes = graph_.storages()[value.storage].size_bytes;
    const auto index = static_cast<uint32_t>(program_.buffers.size());
    program_.buffers.push_back(std::move(buffer));
    copies_[{value.storage, value.version}].push_back(index);
    return index;
  }

  // The copies of one version of a storage: right behind whatever made it.
  absl::Status EmitCopies(StorageId storage, uint32_t version) {
    const auto found = copies_.find({storage, version});
    if (found == copies_.end()) return absl::OkStatus();
    for (uint32_t target : found->second) {
      const auto source = static_cast<uint32_t>(buffers_[storage]);
      if (program_.buffers[target].size_bytes == 0) continue;
      OA_ASSIGN_OR_RETURN(Dispatch copy, CopyBuffer(program_, source, target, pack_, profile_));
      program_.dispatches.push_back(std::move(copy));
    }
    copies_.erase(found);
    return absl::OkStatus();
  }

  absl::Status LowerNode(NodeId id) {
    const Node& node = graph_.nodes()[id];
    const bool has_work =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
          return output != kAbsent && graph_.storage_of(output).size_bytes > 0;
        });
    if (node.op->lower != nullptr && has_work) {
      const size_t before = program_.buffers.size();
      LowerContext context(graph_, id, pack_, profile_, program_, buffers_);
      const auto route = routes_.find(node.op->name);
      if (route != routes_.end()) context.set_route(route->second);
      OA_RETURN_IF_ERROR(node.op->lower(context));
      for (size_t b = before; b < program_.buffers.size(); ++b) {
        OA_RETURN_IF_ERROR(CheckAddressable(program_.buffers[b]));
      }
    }
    for (ValueId output : node.outputs) {
      if (output == kAbsent) continue;
      const Value& value = graph_.value(output);
      OA_RETURN_IF_ERROR(EmitCopies(value.storage, value.version));
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const KernelPack& pack_;
  const DeviceProfile& profile_;
  const Routes& routes_;
  Program program_;
  std::vector<bool> used_;              // by StorageId, like the next three
  std::vector<uint32_t> last_version_;  // the newest one that a needed node makes or reads
  std::vector<ValueId> first_value_;
  std::vector<int32_t> buffers_ = std::vector<int32_t>(graph_.storages().size(), -1);
  // (storage, version) -> buffers that receive a copy.
  std::map<std::pair<StorageId, uint32_t>, std::vector<uint32_t>> copies_;
};

}  // namespace

absl::StatusOr<Program> LowerGraph(const Graph& graph, const std::vector<NodeId>& nodes,
                                   const KernelPack& pack, const DeviceProfile& profile,
                                   const Routes& routes) {
  return GraphLowering(graph, nodes, pack, profile, routes).Run();
}

}  // namespace oa::ir
