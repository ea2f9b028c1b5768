// GraphIdentity: FNV-1a 64 over the tables of a graph in their order. Every list is preceded by its
// length and every text by its size, so that no two graphs give the same words.
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "schema/fnv.h"

namespace oa::ir {
namespace {

void HashCount(Fnv1a64& hash, size_t count) { hash.Word64(count); }

void HashText(Fnv1a64& hash, absl::string_view text) {
  HashCount(hash, text.size());
  hash.Text(text);
}

void HashIds(Fnv1a64& hash, absl::Span<const int32_t> ids) {
  HashCount(hash, ids.size());
  for (int32_t id : ids) hash.Word(static_cast<uint32_t>(id));
}

void HashNamed(Fnv1a64& hash, absl::Span<const NamedValue> list) {
  HashCount(hash, list.size());
  for (const NamedValue& named : list) {
    HashText(hash, named.name);
    hash.Word(static_cast<uint32_t>(named.value));
  }
}

void HashValue(Fnv1a64& hash, const Value& value) {
  hash.Word(static_cast<uint32_t>(value.dtype));
  HashCount(hash, value.shape.size());
  for (uint64_t extent : value.shape) hash.Word64(extent);
  hash.Word(static_cast<uint32_t>(value.storage));
  hash.Word(value.version);
}

void HashNode(Fnv1a64& hash, const Node& node) {
  HashText(hash, node.op->name);
  hash.Word(node.op->version);
  hash.Word64(node.config_identity);
  HashIds(hash, node.inputs);
  HashIds(hash, node.outputs);
}

}  // namespace

uint64_t GraphIdentity(const Graph& graph) {
  Fnv1a64 hash;
  HashCount(hash, graph.storages().size());
  for (const Storage& storage : graph.storages()) {
    hash.Word(static_cast<uint32_t>(storage.kind));
    HashText(hash, storage.name);
  }
  HashCount(hash, graph.values().size());
  for (const Value& value : graph.values()) HashValue(hash, value);
  HashCount(hash, graph.nodes().size());
  for (const Node& node : graph.nodes()) HashNode(hash, node);
  HashNamed(hash, graph.inputs());
  HashNamed(hash, graph.outputs());
  return hash.value();
}

}  // namespace oa::ir
