// `oa-run devices`: what Vulkan offers on this machine, and profiles for oa-compile.
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/device.h"
#include "schema/status_macros.h"
#include "tools/common/describe_json.h"
#include "tools/common/exit_codes.h"
#include "tools/common/table.h"
#include "tools/common/text.h"
#include "tools/run/command.h"

namespace oa::tools {
namespace {

struct DevicesOptions {
  std::string device;  // of --profile
  bool profile = false;
  bool json = false;
};

using Devices = std::vector<exec::DeviceInfo>;

std::string Known(uint64_t value) { return value == 0 ? "?" : absl::StrCat(value); }

void PrintTable(const Devices& devices) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"#", kRight},
               {"name", Table::Align::kLeft, true},
               {"type"},
               {"Vulkan"},
               {"memory", kRight},
               {"shared", kRight},
               {"subgroup", kRight},
               {"usable"}});
  for (const exec::DeviceInfo& d : devices) {
    table.Add({absl::StrCat(d.index), d.name, exec::DeviceTypeName(d.type), d.api_version,
               d.profile.heap_bytes == 0 ? "?" : HumanBytes(d.profile.heap_bytes),
               HumanBytes(d.profile.shared_memory_bytes), Known(d.profile.subgroup_size),
               d.unsuitable.empty() ? "yes" : "no"});
  }
  std::fputs(table.Text().c_str(), stdout);
}

// "  name      text", continued under the text when it is long.
void PrintField(const char* name, const std::string& text) {
  constexpr size_t kTextWidth = 68;
  for (const std::string& line : WrapWords(text, kTextWidth)) {
    std::printf("  %-8s  %s\n", name, line.c_str());
    name = "";
  }
}

void PrintDetails(const exec::DeviceInfo& d) {
  const DeviceProfile& p = d.profile;
  std::printf("\n%u: %s\n", d.index, Printable(d.name).c_str());
  PrintField("driver", Printable(d.driver));
  PrintField("limits", absl::StrCat(HumanBytes(p.max_allocation_bytes), " an allocation, ",
                                    p.max_workgroup_invocations, " invocations a workgroup, ",
                                    Known(p.compute_units), " compute units"));
  PrintField("features", p.features.empty() ? "none" : absl::StrJoin(p.features, ", "));
  if (!d.unsuitable.empty()) PrintField("unusable", Printable(d.unsuitable));
}

void PrintJson(const Devices& devices) {
  for (const exec::DeviceInfo& d : devices) {
    const OrderedJson line = {
        {"index", d.index},
        {"name", d.name},
        {"type", exec::DeviceTypeName(d.type)},
        {"driver", d.driver},
        {"api_version", d.api_version},
        {"usable", d.unsuitable.empty()},
        {"unsuitable", d.unsuitable},
        {"profile", OrderedJson::parse(ProfileToJson(d.profile), nullptr, false)}};
    std::printf("%s\n", JsonText(line).c_str());
  }
}

absl::StatusOr<int> ListDevices(const DevicesOptions& options) {
  auto instance = exec::Instance::Create({});
  if (!instance.ok()) return WithExit(instance.status(), kExitDevice);
  const absl::StatusOr<Devices> devices = (*instance)->EnumerateDevices();
  if (!devices.ok()) return WithExit(devices.status(), kExitDevice);
  if (options.profile) {
    const absl::StatusOr<uint32_t> index = exec::SelectDevice(*devices, options.device);
    if (!index.ok()) {
      return WithExit(index.status(), options.device.empty() ? kExitDevice : kExitUsage);
    }
    std::string json = ProfileToJson((*devices)[*index].profile);
    if (json.empty() || json.back() != '\n') json.push_back('\n');
    std::fputs(json.c_str(), stdout);
    return kExitOk;
  }
  if (options.json) {
    PrintJson(*devices);
    return kExitOk;
  }
  if (devices->empty()) {
    return WithExit(
        absl::FailedPreconditionError("there is no Vulkan device; install a driver (Debian: "
                                      "mesa-vulkan-drivers has one for every CPU)."),
        kExitDevice);
  }
  PrintTable(*devices);
  for (const exec::DeviceInfo& device : *devices) PrintDetails(device);
  return kExitOk;
}

}  // namespace

Command AddDevicesCommand(CLI::App& app) {
  CLI::App* devices = app.add_subcommand("devices", "List Vulkan devices, or print a profile");
  auto o = std::make_shared<DevicesOptions>();
  CLI::Option* profile = devices->add_flag(
      "--profile", o->profile, "Print the device's profile as JSON, for\noa-compile --device");
  devices->add_option("device", o->device, "With --profile: index or part of a name")
      ->needs(profile);
  devices->add_flag("--json", o->json, "JSON Lines on stdout instead of text");
  devices->footer(std::string("Examples:\n"
                              "  oa-run devices\n"
                              "  oa-run devices --profile > device.json\n"
                              "  oa-run devices --profile nvidia > device.json\n") +
                  kExitCodeHelp);
  return {devices, [o] { return ListDevices(*o); }};
}

}  // namespace oa::tools
