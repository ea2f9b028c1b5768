#include "executor/pipeline_cache.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "schema/container.h"
#include "schema/file_io.h"

namespace oa::exec {
namespace {

constexpr uint32_t kMagic = 0x4350414f;  // "OAPC"
constexpr uint32_t kVersion = 1;
// A file that grew beyond this is started afresh.
constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

// The file is this header and then the driver's data. It is only read by the machine that wrote
// it, so its byte order is the machine's.
struct CacheHeader {
  uint32_t magic;
  uint32_t version;
  uint8_t uuid[16];
  uint32_t driver_version;
  uint32_t reserved;
  uint64_t payload_bytes;
  uint64_t payload_digest;
};
static_assert(sizeof(CacheHeader) == 48);

CacheHeader MakeHeader(const DeviceInfo& info, absl::Span<const uint8_t> payload) {
  CacheHeader header = {};
  header.magic = kMagic;
  header.version = kVersion;
  std::memcpy(header.uuid, info.uuid.data(), sizeof(header.uuid));
  header.driver_version = info.driver_version;
  header.payload_bytes = payload.size();
  header.payload_digest = Digest(payload);
  return header;
}

absl::Span<const uint8_t> AsBytes(const CacheHeader& header) {
  return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&header), sizeof(header));
}

absl::StatusOr<Handle<VkPipelineCache>> CreateCache(DeviceImpl& device,
                                                    absl::Span<const uint8_t> data) {
  VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  return OA_VK_CREATE(device, PipelineCache, "the pipeline cache", info);
}

}  // namespace

std::string DefaultCacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return absl::StrCat(cache, "/oa");
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return absl::StrCat(home, "/.cache/oa");
  return "";
}

std::string PipelineCachePath(const std::string& folder, const DeviceInfo& info) {
  std::string path = absl::StrCat(folder, "/pipelines-");
  for (uint8_t byte : info.uuid) absl::StrAppend(&path, absl::Hex(byte, absl::kZeroPad2));
  absl::StrAppend(&path, "-", absl::Hex(info.driver_version, absl::kZeroPad8), ".bin");
  return path;
}

std::vector<uint8_t> ReadPipelineCache(const std::string& folder, const DeviceInfo& info) {
  const absl::StatusOr<Blob> file = ReadFile(PipelineCachePath(folder, info));
  if (!file.ok() || file->size() <= sizeof(CacheHeader) || file->size() > kMaxBytes) return {};
  const absl::Span<const uint8_t> payload = file->bytes().subspan(sizeof(CacheHeader));
  const CacheHeader expected = MakeHeader(info, payload);
  if (std::memcmp(file->bytes().data(), &expected, sizeof(expected)) != 0) return {};
  return std::vector<uint8_t>(payload.begin(), payload.end());
}

void WritePipelineCache(const std::string& folder, const DeviceInfo& info,
                        absl::Span<const uint8_t> data) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return;
  const CacheHeader header = MakeHeader(info, data);
  const absl::Span<const uint8_t> parts[] = {AsBytes(header), data};
  WriteFileAtomically(PipelineCachePath(folder, info), parts).IgnoreError();
}

absl::StatusOr<PipelineCache> PipelineCache::Load(DeviceImpl& device) {
  PipelineCache result;
  const std::string& folder = device.options().cache_folder;
  if (!folder.empty()) {
    const std::vector<uint8_t> data = ReadPipelineCache(folder, device.info());
    if (!data.empty()) {
      absl::StatusOr<Handle<VkPipelineCache>> cache = CreateCache(device, data);
      if (cache.ok()) {
        result.cache_ = *std::move(cache);
        result.loaded_bytes_ = data.size();
        return result;
      }
    }
  }
  OA_ASSIGN_OR_RETURN(result.cache_, CreateCache(device, {}));
  return result;
}

void PipelineCache::Save(DeviceImpl& device) const {
  if (device.options().cache_folder.empty()) return;
  size_t size = 0;
  if (!OA_VK_CALL(device, vkGetPipelineCacheData, "the pipeline cache", device.handle(),
                  cache_.get(), &size, nullptr)
           .ok()) {
    return;
  }
  if (size <= loaded_bytes_) return;
  std::vector<uint8_t> data(size);
  if (!OA_VK_CALL(device, vkGetPipelineCacheData, "the pipeline cache", device.handle(),
                  cache_.get(), &size, data.data())
           .ok()) {
    return;
  }
  data.resize(size);
  WritePipelineCache(device.options().cache_folder, device.info(), data);
}

}  // namespace oa::exec
