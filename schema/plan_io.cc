// The .oax file: Plan to flatbuffer and back. VerifyPlan (plan_verify.cc) judges what was read.
#include <utility>

#include "absl/algorithm/container.h"
#include "schema/flatbuffer_io.h"
#include "schema/plan.h"
#include "schema/plan_generated.h"
#include "schema/status_macros.h"

namespace oa {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// ---- Reading ----

// Calls `read` for each table of the vector and collects the results.
template <class T, class Read>
auto ReadAll(FieldReader& reader, const char* name, const flatbuffers::Vector<Offset<T>>* tables,
             Read read) {
  std::vector<decltype(read(*tables->Get(0)))> result;
  const size_t count = reader.Count(tables);
  result.reserve(count);
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    reader.Enter(name, i);
    result.push_back(read(*tables->Get(static_cast<flatbuffers::uoffset_t>(i))));
  }
  return result;
}

PlanArena ReadArena(FieldReader& reader, const fbs::PlanArena& table) {
  return {reader.Enum(table.kind(), ArenaKind::kIo, "kind"), table.size_bytes()};
}

PlanBuffer ReadBuffer(FieldReader& reader, const fbs::PlanBuffer& table) {
  PlanBuffer buffer;
  buffer.name = reader.Text(table.name());
  buffer.kind = reader.Enum(table.kind(), BufferKind::kConstant, "kind");
  buffer.dtype = reader.Type(table.dtype());
  buffer.shape = reader.Extents(table.shape());
  buffer.size_bytes = table.size_bytes();
  buffer.arena = table.arena();
  buffer.offset = table.offset();
  buffer.init = reader.Enum(table.init(), InitKind::kData, "init");
  buffer.fill_bits = table.fill_bits();
  buffer.data = reader.Data(table.data(), "data");
  buffer.first_stage = table.first_stage();
  buffer.last_stage = table.last_stage();
  return buffer;
}

PlanArgument ReadArgument(FieldReader& reader, const fbs::PlanArgument& table) {
  PlanArgument argument;
  argument.kind = reader.Enum(table.kind(), ArgumentKind::kF32, "argument.kind");
  argument.buffer = table.buffer();
  argument.offset = table.offset();
  argument.size_bytes = table.size_bytes();
  argument.access = reader.Enum(table.access(), Access::kReadWrite, "argument.access");
  argument.bits = table.bits();
  return argument;
}

PlanDispatch ReadDispatch(FieldReader& reader, const fbs::PlanDispatch& table) {
  PlanDispatch dispatch;
  dispatch.kernel = table.kernel();
  const size_t count = reader.Count(table.arguments());
  dispatch.arguments.reserve(count);
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const auto* argument = table.arguments()->Get(static_cast<flatbuffers::uoffset_t>(i));
    dispatch.arguments.push_back(ReadArgument(reader, *argument));
  }
  dispatch.constants = reader.Numbers(table.constants());
  const std::vector<uint32_t> grid = reader.Numbers(table.grid());
  if (grid.size() == 3) {
    absl::c_copy(grid, dispatch.grid.begin());
  } else {
    reader.Fail(absl::StrCat("grid has ", grid.size(), " numbers, 3 are needed."));
  }
  dispatch.label = reader.Text(table.label());
  dispatch.nodes = reader.Numbers(table.nodes());
  dispatch.flops = table.flops();
  dispatch.bytes_read = table.bytes_read();
  dispatch.bytes_written = table.bytes_written();
  return dispatch;
}

PlanStage ReadStage(FieldReader& reader, const fbs::PlanStage& table) {
  return {reader.Enum(table.kind(), StageKind::kDispatches, "kind"), table.first_dispatch(),
          table.dispatch_count()};
}

PlanIo ReadIo(FieldReader& reader, const fbs::PlanIo& table) {
  PlanIo io;
  io.name = reader.Text(table.name());
  io.buffer = table.buffer();
  io.dtype = reader.Type(table.dtype());
  io.shape = reader.Extents(table.shape());
  return io;
}

void ReadTables(FieldReader& reader, const fbs::Plan& root, Plan& plan) {
  // Binds the reader, so that each table kind is one line.
  const auto with = [&reader](auto read) {
    return [&reader, read](const auto& table) { return read(reader, table); };
  };
  plan.arenas = ReadAll(reader, "arenas", root.arenas(), with(ReadArena));
  plan.buffers = ReadAll(reader, "buffers", root.buffers(), with(ReadBuffer));
  plan.kernels = ReadAll(reader, "kernels", root.kernels(), [&](const fbs::PlanKernel& table) {
    return PlanKernel{reader.Text(table.name()), table.digest()};
  });
  plan.dispatches = ReadAll(reader, "dispatches", root.dispatches(), with(ReadDispatch));
  plan.stages = ReadAll(reader, "stages", root.stages(), with(ReadStage));
  plan.inputs = ReadAll(reader, "inputs", root.inputs(), with(ReadIo));
  plan.outputs = ReadAll(reader, "outputs", root.outputs(), with(ReadIo));
  plan.test_vectors = reader.TestVectors(root.test_vectors());
  reader.Enter("plan", 0);
  plan.bundled_pack = reader.Data(root.bundled_pack(), "bundled_pack");
}

// ---- Writing ----

flatbuffers::Offset<flatbuffers::Vector<uint64_t>> StoreShape(FlatBufferBuilder& builder,
                                                              const Shape& shape) {
  return builder.CreateVector(shape.data(), shape.size());
}

Offset<fbs::PlanBuffer> StoreBuffer(FlatBufferBuilder& builder, ContainerWriter& writer,
                                    const PlanBuffer& b) {
  const auto name = builder.CreateString(b.name);
  const auto shape = StoreShape(builder, b.shape);
  const auto data = StoreBlob(builder, writer, b.data);
  return fbs::CreatePlanBuffer(builder, name, static_cast<uint8_t>(b.kind),
                               static_cast<uint8_t>(b.dtype), shape, b.size_bytes, b.arena,
                               b.offset, static_cast<uint8_t>(b.init), b.fill_bits, data,
                               b.first_stage, b.last_stage);
}

Offset<fbs::PlanDispatch> StoreDispatch(FlatBufferBuilder& builder, const PlanDispatch& d) {
  const auto arguments =
      TableVector<fbs::PlanArgument>(builder, d.arguments, [&](const PlanArgument& a) {
        return fbs::CreatePlanArgument(builder, static_cast<uint8_t>(a.kind), a.buffer, a.offset,
                                       a.size_bytes, static_cast<uint8_t>(a.access), a.bits);
      });
  const auto constants = builder.CreateVector(d.constants);
  const auto grid = builder.CreateVector(d.grid.data(), d.grid.size());
  const auto label = builder.CreateString(d.label);
  const auto nodes = builder.CreateVector(d.nodes);
  return fbs::CreatePlanDispatch(builder, d.kernel, arguments, constants, grid, label, nodes,
                                 d.flops, d.bytes_read, d.bytes_written);
}

Offset<flatbuffers::Vector<Offset<fbs::PlanIo>>> StoreIo(FlatBufferBuilder& builder,
                                                         const std::vector<PlanIo>& list) {
  return TableVector<fbs::PlanIo>(builder, list, [&](const PlanIo& io) {
    const auto name = builder.CreateString(io.name);
    const auto shape = StoreShape(builder, io.shape);
    return fbs::CreatePlanIo(builder, name, io.buffer, static_cast<uint8_t>(io.dtype), shape);
  });
}

void StorePlan(FlatBufferBuilder& builder, ContainerWriter& writer, const Plan& plan) {
  const auto name = builder.CreateString(plan.name);
  const auto profile = builder.CreateString(ProfileToJson(plan.profile));
  const auto arenas = TableVector<fbs::PlanArena>(builder, plan.arenas, [&](const PlanArena& a) {
    return fbs::CreatePlanArena(builder, static_cast<uint8_t>(a.kind), a.size_bytes);
  });
  const auto buffers = TableVector<fbs::PlanBuffer>(
      builder, plan.buffers, [&](const PlanBuffer& b) { return StoreBuffer(builder, writer, b); });
  const auto kernels =
      TableVector<fbs::PlanKernel>(builder, plan.kernels, [&](const PlanKernel& k) {
        const auto kernel_name = builder.CreateString(k.name);
        return fbs::CreatePlanKernel(builder, kernel_name, k.digest);
      });
  const auto dispatches = TableVector<fbs::PlanDispatch>(
      builder, plan.dispatches, [&](const PlanDispatch& d) { return StoreDispatch(builder, d); });
  const auto stages = TableVector<fbs::PlanStage>(builder, plan.stages, [&](const PlanStage& s) {
    return fbs::CreatePlanStage(builder, static_cast<uint8_t>(s.kind), s.first_dispatch,
                                s.dispatch_count);
  });
  const auto inputs = StoreIo(builder, plan.inputs);
  const auto outputs = StoreIo(builder, plan.outputs);
  const auto vectors = StoreTestVectors(builder, writer, plan.test_vectors);
  const auto pack = StoreBlob(builder, writer, plan.bundled_pack);
  fbs::FinishPlanBuffer(
      builder, fbs::CreatePlan(builder, name, plan.graph_identity, profile, arenas, buffers,
                               kernels, dispatches, stages, inputs, outputs, vectors, pack));
}

}  // namespace

absl::StatusOr<Plan> ParsePlan(Blob file, const std::string& name) {
  OA_ASSIGN_OR_RETURN(const ContainerReader container,
                      ContainerReader::Parse(FileKind::kPlan, std::move(file), name));
  OA_ASSIGN_OR_RETURN(const fbs::Plan* root, VerifiedRoot<fbs::Plan>(container, FileKind::kPlan));
  FieldReader reader(container);
  Plan plan;
  plan.name = reader.Text(root->name());
  plan.graph_identity = root->graph_identity();
  absl::StatusOr<DeviceProfile> profile = ProfileFromJson(reader.Text(root->profile()));
  if (!profile.ok()) {
    return absl::DataLossError(absl::StrCat("'", name, "': ", profile.status().message()));
  }
  plan.profile = *std::move(profile);
  ReadTables(reader, *root, plan);
  OA_RETURN_IF_ERROR(reader.Finish());
  OA_RETURN_IF_ERROR(VerifyPlan(plan, name));
  return plan;
}

std::vector<uint8_t> SerializePlan(const Plan& plan) {
  FlatBufferBuilder builder;
  ContainerWriter writer(FileKind::kPlan);
  StorePlan(builder, writer, plan);
  return writer.Serialize({builder.GetBufferPointer(), builder.GetSize()});
}

absl::Status SavePlan(const Plan& plan, const std::string& path) {
  FlatBufferBuilder builder;
  ContainerWriter writer(FileKind::kPlan);
  StorePlan(builder, writer, plan);
  return writer.Write(path, {builder.GetBufferPointer(), builder.GetSize()});
}

}  // namespace oa
