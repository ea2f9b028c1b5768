#include "schema/device_profile.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "schema/status_macros.h"

namespace oa {
namespace {

using Json = nlohmann::json;

// A profile is a page of text; more is not one.
constexpr size_t kMaxTextBytes = size_t{1} << 20;

std::string Quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status FieldError(const std::string& field, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("the device profile's field '", field, "' ", reason, "."));
}

absl::Status Read(const std::string& field, const Json& value, std::string& out) {
  if (!value.is_string()) return FieldError(field, "must be a string");
  out = value.get_ref<const std::string&>();
  return absl::OkStatus();
}

absl::Status Read(const std::string& field, const Json& value, bool& out) {
  if (!value.is_boolean()) return FieldError(field, "must be true or false");
  out = value.get<bool>();
  return absl::OkStatus();
}

template <class Unsigned>
absl::Status ReadUnsigned(const std::string& field, const Json& value, Unsigned& out) {
  constexpr uint64_t kLimit = std::numeric_limits<Unsigned>::max();
  if (!value.is_number_unsigned() || value.get<uint64_t>() > kLimit) {
    return FieldError(field, absl::StrCat("must be a whole number from 0 to ", kLimit));
  }
  out = static_cast<Unsigned>(value.get<uint64_t>());
  return absl::OkStatus();
}

absl::Status Read(const std::string& field, const Json& value, uint32_t& out) {
  return ReadUnsigned(field, value, out);
}
absl::Status Read(const std::string& field, const Json& value, uint64_t& out) {
  return ReadUnsigned(field, value, out);
}

absl::Status Read(const std::string& field, const Json& value, std::vector<std::string>& out) {
  if (!value.is_array()) return FieldError(field, "must be a list of strings");
  out.clear();
  for (const Json& item : value) {
    if (!item.is_string()) return FieldError(field, "must be a list of strings");
    out.push_back(item.get_ref<const std::string&>());
  }
  absl::c_sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return absl::OkStatus();
}

std::string Text(const std::string& value) { return Quoted(value); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(uint32_t value) { return absl::StrCat(value); }
std::string Text(uint64_t value) { return absl::StrCat(value); }
std::string Text(const std::vector<std::string>& values) {
  return absl::StrCat("[",
                      absl::StrJoin(values, ", ",
                                    [](std::string* out, const std::string& s) {
                                      absl::StrAppend(out, Quoted(s));
                                    }),
                      "]");
}

// The one list of fields, for both directions. Stops when `visit` returns true.
template <class Profile, class Visit>
bool VisitFields(Profile& p, Visit visit) {
  return visit("name", p.name) || visit("is_cpu", p.is_cpu) ||
         visit("subgroup_size", p.subgroup_size) ||
         visit("shared_memory_bytes", p.shared_memory_bytes) ||
         visit("max_workgroup_invocations", p.max_workgroup_invocations) ||
         visit("max_workgroups_per_axis", p.max_workgroups_per_axis) ||
         visit("max_allocation_bytes", p.max_allocation_bytes) ||
         visit("heap_bytes", p.heap_bytes) || visit("compute_units", p.compute_units) ||
         visit("features", p.features);
}

// Limits of zero would make every later division and comparison meaningless.
absl::Status CheckLimits(const DeviceProfile& p) {
  if (p.shared_memory_bytes == 0) return FieldError("shared_memory_bytes", "must not be 0");
  if (p.max_workgroup_invocations == 0) {
    return FieldError("max_workgroup_invocations", "must not be 0");
  }
  if (p.max_workgroups_per_axis == 0) {
    return FieldError("max_workgroups_per_axis", "must not be 0");
  }
  if (p.max_allocation_bytes == 0) return FieldError("max_allocation_bytes", "must not be 0");
  if ((p.subgroup_size & (p.subgroup_size - 1)) != 0) {
    return FieldError("subgroup_size",
                      absl::StrCat("is ", p.subgroup_size, ", not 0 or a power of two"));
  }
  return absl::OkStatus();
}

}  // namespace

bool DeviceProfile::Has(absl::string_view feature) const {
  return absl::c_linear_search(features, feature);
}

std::string ProfileToJson(const DeviceProfile& profile) {
  std::vector<std::string> lines;
  VisitFields(profile, [&](const char* name, const auto& value) {
    lines.push_back(absl::StrCat("  \"", name, "\": ", Text(value)));
    return false;
  });
  return absl::StrCat("{\n", absl::StrJoin(lines, ",\n"), "\n}\n");
}

absl::StatusOr<DeviceProfile> ProfileFromJson(absl::string_view json) {
  if (json.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the device profile has ", json.size(),
                                                   " bytes, the limit is ", kMaxTextBytes, "."));
  }
  const Json root = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) {
    return absl::InvalidArgumentError("the device profile is not a JSON object.");
  }
  DeviceProfile profile;
  for (auto item = root.begin(); item != root.end(); ++item) {
    absl::Status status;
    const bool known = VisitFields(profile, [&](const char* name, auto& value) {
      if (item.key() != name) return false;
      status = Read(item.key(), item.value(), value);
      return true;
    });
    if (!known) return FieldError(item.key(), "is unknown");
    OA_RETURN_IF_ERROR(status);
  }
  OA_RETURN_IF_ERROR(CheckLimits(profile));
  return profile;
}

}  // namespace oa
