#include "tools/common/describe_json.h"

#include <bit>

#include "absl/strings/str_format.h"
#include "ir/op.h"
#include "schema/container.h"
#include "tools/common/memory_map.h"

namespace oa::tools {
namespace {

std::string Hex(uint64_t value) { return absl::StrFormat("%016x", value); }

OrderedJson ShapeJson(absl::Span<const uint64_t> shape) {
  return std::vector<uint64_t>(shape.begin(), shape.end());
}

OrderedJson IoJson(const std::vector<PlanIo>& list) {
  OrderedJson out = OrderedJson::array();
  for (const PlanIo& io : list) {
    out.push_back({{"name", io.name},
                   {"dtype", std::string(DTypeName(io.dtype))},
                   {"shape", ShapeJson(io.shape)},
                   {"buffer", io.buffer}});
  }
  return out;
}

OrderedJson NamedJson(const std::vector<ir::NamedValue>& list) {
  OrderedJson out = OrderedJson::array();
  for (const ir::NamedValue& named : list) {
    out.push_back({{"name", named.name}, {"value", named.value}});
  }
  return out;
}

OrderedJson BuffersJson(const Plan& plan) {
  OrderedJson out = OrderedJson::array();
  for (const PlanBuffer& b : plan.buffers) {
    OrderedJson json = {{"name", b.name},
                        {"kind", BufferKindName(b.kind)},
                        {"dtype", std::string(DTypeName(b.dtype))},
                        {"shape", ShapeJson(b.shape)},
                        {"size_bytes", b.size_bytes},
                        {"arena", b.arena},
                        {"offset", b.offset},
                        {"first_stage", b.first_stage},
                        {"last_stage", b.last_stage}};
    if (IsPersistent(b.kind) && b.init == InitKind::kData) {
      json["data_digest"] = Hex(Digest(b.data.bytes()));
    } else if (IsPersistent(b.kind)) {
      json["fill_bits"] = b.fill_bits;
    }
    out.push_back(std::move(json));
  }
  return out;
}

OrderedJson ArgumentJson(const PlanArgument& a) {
  if (a.kind == ArgumentKind::kU32) return a.bits;
  if (a.kind == ArgumentKind::kF32) return std::bit_cast<float>(a.bits);
  if (a.size_bytes == 0) return nullptr;
  return {{"buffer", a.buffer},
          {"offset", a.offset},
          {"size_bytes", a.size_bytes},
          {"access", AccessName(a.access)}};
}

OrderedJson DispatchJson(const Plan& plan, uint32_t index) {
  const PlanDispatch& d = plan.dispatches[index];
  OrderedJson arguments = OrderedJson::array();
  for (const PlanArgument& a : d.arguments) arguments.push_back(ArgumentJson(a));
  return {{"index", index},
          {"kernel", plan.kernels[d.kernel].name},
          {"label", d.label},
          {"grid", d.grid},
          {"constants", d.constants},
          {"nodes", d.nodes},
          {"flops", d.flops},
          {"bytes_read", d.bytes_read},
          {"bytes_written", d.bytes_written},
          {"arguments", std::move(arguments)}};
}

OrderedJson StagesJson(const Plan& plan) {
  OrderedJson out = OrderedJson::array();
  for (const PlanStage& stage : plan.stages) {
    OrderedJson dispatches = OrderedJson::array();
    for (uint32_t k = 0; k < stage.dispatch_count; ++k) {
      dispatches.push_back(DispatchJson(plan, stage.first_dispatch + k));
    }
    out.push_back({{"dispatches", std::move(dispatches)}});
  }
  return out;
}

OrderedJson TestVectorsJson(const std::vector<TestVector>& vectors) {
  OrderedJson out = OrderedJson::array();
  for (const TestVector& v : vectors) {
    OrderedJson outputs = OrderedJson::array();
    for (const TestTensor& t : v.outputs) {
      outputs.push_back({{"name", t.name}, {"atol", t.atol}, {"rtol", t.rtol}});
    }
    out.push_back({{"name", v.name}, {"replays", v.replays}, {"outputs", std::move(outputs)}});
  }
  return out;
}

OrderedJson NodesJson(const ir::Graph& graph) {
  OrderedJson out = OrderedJson::array();
  for (const ir::Node& node : graph.nodes()) {
    OrderedJson json = {{"op", node.op->name},
                        {"version", node.op->version},
                        {"inputs", node.inputs},
                        {"outputs", node.outputs},
                        {"attributes", ir::AttributesText(node.attributes)},
                        {"config_identity", Hex(node.config_identity)}};
    if (!node.label.empty()) json["label"] = node.label;
    out.push_back(std::move(json));
  }
  return out;
}

OrderedJson ValuesJson(const ir::Graph& graph) {
  OrderedJson out = OrderedJson::array();
  for (const ir::Value& v : graph.values()) {
    out.push_back({{"name", v.name},
                   {"dtype", std::string(DTypeName(v.dtype))},
                   {"shape", ShapeJson(v.shape)},
                   {"storage", v.storage},
                   {"version", v.version},
                   {"producer", v.producer}});
  }
  return out;
}

OrderedJson StoragesJson(const ir::Graph& graph) {
  OrderedJson out = OrderedJson::array();
  for (const ir::Storage& s : graph.storages()) {
    out.push_back({{"name", s.name},
                   {"kind", BufferKindName(s.kind)},
                   {"size_bytes", s.size_bytes},
                   {"versions", s.version},
                   {"initialiser", s.initialiser}});
  }
  return out;
}

}  // namespace

OrderedJson GraphJson(const ir::Graph& graph) {
  return {{"kind", "graph"},
          {"name", graph.name()},
          {"graph_identity", Hex(ir::GraphIdentity(graph))},
          {"inputs", NamedJson(graph.inputs())},
          {"outputs", NamedJson(graph.outputs())},
          {"nodes", NodesJson(graph)},
          {"values", ValuesJson(graph)},
          {"storages", StoragesJson(graph)},
          {"test_vectors", TestVectorsJson(graph.test_vectors())}};
}

OrderedJson PlanJson(const Plan& plan) {
  OrderedJson arenas = OrderedJson::array();
  for (const PlanArena& a : plan.arenas) {
    arenas.push_back({{"kind", ArenaName(a.kind)}, {"size_bytes", a.size_bytes}});
  }
  OrderedJson kernels = OrderedJson::array();
  for (const PlanKernel& k : plan.kernels) {
    kernels.push_back({{"name", k.name}, {"digest", Hex(k.digest)}});
  }
  return {{"kind", "plan"},
          {"name", plan.name},
          {"graph_identity", Hex(plan.graph_identity)},
          {"profile", plan.profile.name},
          {"inputs", IoJson(plan.inputs)},
          {"outputs", IoJson(plan.outputs)},
          {"arenas", std::move(arenas)},
          {"buffers", BuffersJson(plan)},
          {"kernels", std::move(kernels)},
          {"stages", StagesJson(plan)},
          {"test_vectors", TestVectorsJson(plan.test_vectors)},
          {"bundled_pack_bytes", plan.bundled_pack.size()}};
}

OrderedJson PackJson(const KernelPack& pack) {
  OrderedJson kernels = OrderedJson::array();
  for (const Kernel& k : pack.kernels()) {
    OrderedJson arguments = OrderedJson::array();
    for (const KernelArgument& a : k.arguments) arguments.push_back(a.name);
    OrderedJson constants = OrderedJson::array();
    for (const KernelConstant& c : k.constants) constants.push_back(c.name);
    kernels.push_back({{"name", k.name},
                       {"base", k.base},
                       {"digest", Hex(k.digest)},
                       {"spirv_bytes", k.spirv.size()},
                       {"local_size", k.local_size},
                       {"shared_bytes", k.shared_bytes},
                       {"arguments", std::move(arguments)},
                       {"constants", std::move(constants)},
                       {"features", k.features},
                       {"subgroup_size", k.subgroup_size}});
  }
  return {{"kind", "kernel pack"}, {"compiler", pack.compiler()}, {"kernels", std::move(kernels)}};
}

OrderedJson SafetensorsJson(const Safetensors& file) {
  OrderedJson tensors = OrderedJson::array();
  for (const Tensor& t : file.tensors) {
    tensors.push_back({{"name", t.name},
                       {"dtype", std::string(DTypeName(t.dtype))},
                       {"shape", ShapeJson(t.shape)},
                       {"size_bytes", t.data.size()}});
  }
  return {{"kind", "safetensors"}, {"metadata", file.metadata}, {"tensors", std::move(tensors)}};
}

OrderedJson NpyJson(const NpyArray& array) {
  return {{"kind", "npy"},
          {"dtype", NpyTypeName(array.header)},
          {"shape", ShapeJson(array.header.shape)},
          {"size_bytes", array.header.data_bytes}};
}

std::string JsonText(const OrderedJson& json, int indent) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace oa::tools
