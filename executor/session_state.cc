// Allocation of a session, and the values that persist in it.
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/memory_report.h"
#include "executor/record.h"
#include "executor/session_impl.h"
#include "schema/checked_math.h"
#include "schema/closest_names.h"
#include "schema/status_macros.h"

namespace oa::exec {
namespace {

constexpr uint32_t kMaxFrames = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Create(Program& program,
                                                         const SessionOptions& options) {
  auto& implementation = static_cast<ProgramImpl&>(program);
  auto session = std::make_unique<SessionImpl>(implementation, options);
  const absl::Status status = session->Initialize();
  if (status.ok()) return session;
  if (!absl::IsResourceExhausted(status)) return status;
  return absl::ResourceExhaustedError(absl::StrCat(
      status.message(), "\n", MemoryReport(program.plan()), implementation.device().HeapText()));
}

SessionImpl::SessionImpl(ProgramImpl& program, const SessionOptions& options)
    : program_(program), device_(program.device()), plan_(program.plan()), options_(options) {}

SessionImpl::~SessionImpl() { device_.Drain(); }

absl::Status SessionImpl::Initialize() {
  OA_RETURN_IF_ERROR(CheckOptions());
  const uint64_t io_bytes = IoArenaBytes(plan_) * options_.frames_in_flight;
  OA_ASSIGN_OR_RETURN(memory_,
                      ChooseMemory(device_.memory(), device_.allowed_memory_types(), io_bytes));
  if (options_.stage_everything) memory_ = StageEverything(memory_);
  const uint64_t max_staging_bytes = options_.max_staging_bytes != 0
                                         ? options_.max_staging_bytes
                                         : device_.info().profile.max_allocation_bytes;
  io_ = LayoutIo(plan_, memory_.stage_inputs, memory_.stage_outputs, max_staging_bytes);
  chunks_ = SplitPlan(plan_, {.is_cpu = device_.info().profile.is_cpu,
                              .serialize = device_.options().serialize,
                              .max_submit_ms = options_.max_submit_ms});
  if (options_.timestamps) {
    profile_ = Profile(static_cast<uint32_t>(plan_.dispatches.size()),
                       device_.info().timestamp_period_ns, device_.limits().timestamp_valid_bits);
  }
  OA_RETURN_IF_ERROR(CreateTimeline());
  OA_RETURN_IF_ERROR(CreateArenas());
  frames_.resize(options_.frames_in_flight);
  for (Frame& frame : frames_) OA_RETURN_IF_ERROR(CreateFrame(frame));
  if (options_.check_guards) OA_RETURN_IF_ERROR(FillGuards());
  return InitializePersistent();
}

absl::Status SessionImpl::CheckOptions() const {
  if (options_.frames_in_flight == 0 || options_.frames_in_flight > kMaxFrames) {
    return absl::InvalidArgumentError(absl::StrCat(
        "frames_in_flight is ", options_.frames_in_flight, ", it must be from 1 to ", kMaxFrames));
  }
  // Written so that NaN is refused too.
  if (!(options_.max_submit_ms > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_submit_ms is ", options_.max_submit_ms, ", it must be positive"));
  }
  if (options_.timestamps && device_.info().timestamp_period_ns == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the compute queue of \"", device_.info().name, "\" has no timestamps; run without"));
  }
  return absl::OkStatus();
}

absl::Status SessionImpl::CreateTimeline() {
  VkSemaphoreTypeCreateInfo type = {VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  semaphore.pNext = &type;
  OA_ASSIGN_OR_RETURN(timeline_, OA_VK_CREATE(device_, Semaphore, "the timeline", semaphore));
  VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.queueFamilyIndex = device_.queue_family();
  OA_ASSIGN_OR_RETURN(pool_, OA_VK_CREATE(device_, CommandPool, "the session", pool));
  return absl::OkStatus();
}

absl::StatusOr<DeviceBuffer> SessionImpl::CreateArena(uint32_t arena, MemoryUse use) const {
  const PlanArena& entry = plan_.arenas[arena];
  const uint64_t guard_bytes = options_.check_guards ? kGuardTailBytes : 0;
  return DeviceBuffer::Create(device_, entry.size_bytes + guard_bytes, use,
                              absl::StrCat(ArenaKindName(entry.kind), " arena ", arena));
}

absl::Status SessionImpl::CreateArenas() {
  arenas_.resize(plan_.arenas.size());
  for (uint32_t i = 0; i < arenas_.size(); ++i) {
    if (plan_.arenas[i].kind == ArenaKind::kIo) continue;
    OA_ASSIGN_OR_RETURN(arenas_[i], CreateArena(i, memory_.arena));
  }
  return absl::OkStatus();
}

absl::Status SessionImpl::CreateStaging(absl::Span<const uint64_t> sizes, MemoryUse use,
                                        absl::string_view what,
                                        std::vector<DeviceBuffer>& buffers) const {
  for (uint64_t size_bytes : sizes) {
    OA_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Create(device_, size_bytes, use, what));
    buffers.push_back(std::move(buffer));
  }
  return absl::OkStatus();
}

absl::Status SessionImpl::CreateFrame(Frame& frame) {
  frame.io.resize(plan_.arenas.size());
  for (uint32_t i = 0; i < frame.io.size(); ++i) {
    if (plan_.arenas[i].kind != ArenaKind::kIo) continue;
    OA_ASSIGN_OR_RETURN(frame.io[i], CreateArena(i, memory_.io));
  }
  OA_RETURN_IF_ERROR(WriteArguments(frame));
  OA_RETURN_IF_ERROR(
      CreateStaging(io_.upload_bytes, memory_.upload, "input staging", frame.upload));
  OA_RETURN_IF_ERROR(
      CreateStaging(io_.readback_bytes, memory_.readback, "output staging", frame.readback));
  if (options_.timestamps && !plan_.dispatches.empty()) {
    VkQueryPoolCreateInfo queries = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
    queries.queryCount = 2 * static_cast<uint32_t>(plan_.dispatches.size());
    OA_ASSIGN_OR_RETURN(frame.queries, OA_VK_CREATE(device_, QueryPool, "timestamps", queries));
  }
  return CreateCommands(frame);
}

// The addresses of io arenas differ between frames, so every frame has its own blocks.
absl::Status SessionImpl::WriteArguments(Frame& frame) {
  const ArgumentBlocks& blocks = program_.blocks();
  OA_ASSIGN_OR_RETURN(frame.arguments, DeviceBuffer::Create(device_, blocks.size_bytes,
                                                            memory_.arguments, "argument blocks"));
  std::vector<uint64_t> addresses;
  for (uint32_t i = 0; i < plan_.arenas.size(); ++i) addresses.push_back(Arena(frame, i).address());
  WriteArgumentBlocks(plan_, program_.kernels(), blocks, addresses,
                      frame.arguments.Host(0, blocks.size_bytes));
  return frame.arguments.Flush(0, blocks.size_bytes);
}

absl::Status SessionImpl::CreateCommands(Frame& frame) {
  frame.commands.resize(chunks_.size());
  VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = pool_.get();
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = static_cast<uint32_t>(chunks_.size());
  OA_RETURN_IF_ERROR(OA_VK_CALL(device_, vkAllocateCommandBuffers, "a replay", device_.handle(),
                                &info, frame.commands.data()));
  return RecordFrame({.program = program_,
                      .io = io_,
                      .chunks = chunks_,
                      .arenas = arenas_,
                      .poison_transients = options_.poison_transients},
                     frame);
}

absl::Status SessionImpl::FillGuards() {
  std::vector<FillRegion> fills;
  for (uint32_t arena = 0; arena < plan_.arenas.size(); ++arena) {
    const uint64_t arena_bytes = Arena(frames_.front(), arena).size_bytes();
    for (const ByteRange& range : GuardRanges(plan_, arena, arena_bytes)) {
      guards_.push_back({arena, range});
      const bool io = plan_.arenas[arena].kind == ArenaKind::kIo;
      for (size_t f = 0; f < (io ? frames_.size() : 1); ++f) {
        fills.push_back({&Arena(frames_[f], arena), range.offset, range.size, kGuardWord});
      }
    }
  }
  return Fill(device_, fills);
}

absl::Status SessionImpl::CheckGuards(const Frame& frame) {
  std::vector<std::vector<uint8_t>> found;
  std::vector<DownloadRegion> regions;
  found.reserve(guards_.size());
  for (const Guard& guard : guards_) {
    found.emplace_back(guard.range.size);
    regions.push_back(
        {&Arena(frame, guard.arena), guard.range.offset, absl::MakeSpan(found.back())});
  }
  OA_RETURN_IF_ERROR(Download(device_, memory_.readback, regions));
  for (size_t i = 0; i < guards_.size(); ++i) {
    OA_RETURN_IF_ERROR(CheckGuard(plan_, guards_[i].arena, guards_[i].range, found[i]));
  }
  return absl::OkStatus();
}

absl::Status SessionImpl::InitializePersistent() {
  std::vector<FillRegion> fills;
  std::vector<UploadRegion> uploads;
  for (const PlanBuffer& buffer : plan_.buffers) {
    if (!IsPersistent(buffer.kind)) continue;
    const DeviceBuffer* arena = &arenas_[buffer.arena];
    if (buffer.init == InitKind::kFill) {
      fills.push_back({arena, buffer.offset, AlignUp(buffer.size_bytes, 4), buffer.fill_bits});
    } else {
      uploads.push_back({arena, buffer.offset, buffer.data.bytes()});
    }
  }
  OA_RETURN_IF_ERROR(Fill(device_, fills));
  return Upload(device_, memory_.upload, uploads);
}

absl::StatusOr<const PlanBuffer*> SessionImpl::FindPersistent(const std::string& name) const {
  const int index = plan_.FindPersistent(name);
  if (index >= 0) return &plan_.buffers[index];
  std::vector<std::string> names;
  for (const PlanBuffer& buffer : plan_.buffers) {
    if (IsPersistent(buffer.kind)) names.push_back(buffer.name);
  }
  return absl::NotFoundError(absl::StrCat("plan \"", plan_.name, "\" has no parameter or state \"",
                                          name, "\"", ClosestNames(name, std::move(names))));
}

absl::StatusOr<std::vector<uint8_t>> SessionImpl::ReadPersistent(const std::string& name) {
  OA_RETURN_IF_ERROR(failure_);
  OA_ASSIGN_OR_RETURN(const PlanBuffer* buffer, FindPersistent(name));
  OA_RETURN_IF_ERROR(FinishUpTo(UINT64_MAX));
  std::vector<uint8_t> bytes(buffer->size_bytes);
  const DownloadRegion region = {&arenas_[buffer->arena], buffer->offset, absl::MakeSpan(bytes)};
  OA_RETURN_IF_ERROR(Download(device_, memory_.readback, {&region, 1}));
  return bytes;
}

absl::Status SessionImpl::WritePersistent(const std::string& name,
                                          absl::Span<const uint8_t> bytes) {
  OA_RETURN_IF_ERROR(failure_);
  OA_ASSIGN_OR_RETURN(const PlanBuffer* buffer, FindPersistent(name));
  if (buffer->kind == BufferKind::kConstant) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" is a constant of the plan and cannot be replaced"));
  }
  if (bytes.size() != buffer->size_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" takes ", buffer->size_bytes, " bytes (",
                     TypeText(buffer->dtype, buffer->shape), ") and was given ", bytes.size()));
  }
  OA_RETURN_IF_ERROR(FinishUpTo(UINT64_MAX));
  const UploadRegion region = {&arenas_[buffer->arena], buffer->offset, bytes};
  return Upload(device_, memory_.upload, {&region, 1});
}

absl::Status SessionImpl::Reset() {
  OA_RETURN_IF_ERROR(failure_);
  OA_RETURN_IF_ERROR(FinishUpTo(UINT64_MAX));
  return InitializePersistent();
}

}  // namespace oa::exec
