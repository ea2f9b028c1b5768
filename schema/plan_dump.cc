#include <bit>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "schema/container.h"
#include "schema/plan.h"

namespace oa {
namespace {

const char* ArenaKindName(ArenaKind kind) {
  switch (kind) {
    case ArenaKind::kTransient:
      return "transient";
    case ArenaKind::kPersistent:
      return "persistent";
    case ArenaKind::kIo:
      return "io";
  }
  return "?";
}

// Names come from files: one line stays one line.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\"");
}

std::string BufferText(const Plan& plan, uint32_t buffer) {
  if (buffer >= plan.buffers.size()) return absl::StrCat("?#", buffer);
  return absl::StrCat(absl::Utf8SafeCEscape(plan.buffers[buffer].name), "#", buffer);
}

// Initial content of a persistent buffer, lifetime of a transient one.
std::string BufferNote(const PlanBuffer& b) {
  if (b.kind == BufferKind::kTransient) {
    return absl::StrCat(" stages ", b.first_stage, "-", b.last_stage);
  }
  if (!IsPersistent(b.kind)) return "";
  if (b.init == InitKind::kData) return absl::StrFormat(" data %016x", Digest(b.data.bytes()));
  return absl::StrFormat(" fill 0x%08x", b.fill_bits);
}

void AppendBuffers(const Plan& plan, std::string& out) {
  for (size_t i = 0; i < plan.arenas.size(); ++i) {
    absl::StrAppend(&out, "arena ", i, " ", ArenaKindName(plan.arenas[i].kind), " ",
                    plan.arenas[i].size_bytes, " bytes\n");
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& b = plan.buffers[i];
    absl::StrAppend(&out, "buffer ", i, " ", BufferKindName(b.kind), " ", Quoted(b.name), " ",
                    TypeText(b.dtype, b.shape), " ", b.size_bytes, " bytes at ", b.arena, ":",
                    b.offset, BufferNote(b), "\n");
  }
}

void AppendIo(const Plan& plan, const char* word, const std::vector<PlanIo>& list,
              std::string& out) {
  for (const PlanIo& io : list) {
    absl::StrAppend(&out, word, " ", Quoted(io.name), " ", TypeText(io.dtype, io.shape), " in ",
                    BufferText(plan, io.buffer), "\n");
  }
}

// "r x#2" for a whole buffer, "r x#2[256:512]" for bytes 256 to 511, "null", "7", "0.5f".
std::string ArgumentText(const Plan& plan, const PlanArgument& a) {
  if (a.kind == ArgumentKind::kU32) return absl::StrCat(a.bits);
  if (a.kind == ArgumentKind::kF32) return absl::StrFormat("%.9gf", std::bit_cast<float>(a.bits));
  if (a.size_bytes == 0) return "null";
  std::string text = absl::StrCat(AccessName(a.access), " ", BufferText(plan, a.buffer));
  const bool whole = a.offset == 0 && a.buffer < plan.buffers.size() &&
                     a.size_bytes == plan.buffers[a.buffer].size_bytes;
  if (!whole) absl::StrAppend(&text, "[", a.offset, ":", a.offset + a.size_bytes, "]");
  return text;
}

std::string DispatchText(const Plan& plan, uint32_t index) {
  const PlanDispatch& d = plan.dispatches[index];
  std::string text = absl::StrCat("  ", index, " ",
                                  d.kernel < plan.kernels.size()
                                      ? absl::Utf8SafeCEscape(plan.kernels[d.kernel].name)
                                      : absl::StrCat("?#", d.kernel),
                                  " ", Quoted(d.label), " grid ", absl::StrJoin(d.grid, "x"));
  // Constants default to 0 and most kernels have many: the zeros at the end say nothing.
  size_t used = d.constants.size();
  while (used > 0 && d.constants[used - 1] == 0) --used;
  if (used > 0) {
    const auto begin = d.constants.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(used);
    absl::StrAppend(&text, " constants [", absl::StrJoin(begin, end, ","), "]");
  }
  const auto argument = [&plan](std::string* out, const PlanArgument& a) {
    out->append(ArgumentText(plan, a));
  };
  return absl::StrCat(text, " (", absl::StrJoin(d.arguments, ", ", argument), ")\n");
}

void AppendStages(const Plan& plan, std::string& out) {
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const PlanStage& stage = plan.stages[i];
    absl::StrAppend(&out, "stage ", i, "\n");
    for (uint32_t k = 0; k < stage.dispatch_count; ++k) {
      const uint64_t index = uint64_t{stage.first_dispatch} + k;
      if (index >= plan.dispatches.size()) break;
      out.append(DispatchText(plan, static_cast<uint32_t>(index)));
    }
  }
}

}  // namespace

std::string DumpPlan(const Plan& plan) {
  std::string out = absl::StrFormat("plan %s graph %016x profile %s\n", Quoted(plan.name),
                                    plan.graph_identity, Quoted(plan.profile.name));
  AppendBuffers(plan, out);
  AppendIo(plan, "input", plan.inputs, out);
  AppendIo(plan, "output", plan.outputs, out);
  AppendStages(plan, out);
  for (const TestVector& vector : plan.test_vectors) {
    absl::StrAppend(&out, "test ", Quoted(vector.name), " replays ", vector.replays, " inputs ",
                    vector.inputs.size(), " outputs ", vector.outputs.size(), "\n");
  }
  return out;
}

}  // namespace oa
