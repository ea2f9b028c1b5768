#include "schema/device_profile.h"

#include <doctest/doctest.h>

#include <string>

namespace oa {
namespace {

std::string ErrorOf(absl::string_view json) {
  const absl::StatusOr<DeviceProfile> profile = ProfileFromJson(json);
  if (profile.ok()) return "";
  CHECK(absl::IsInvalidArgument(profile.status()));
  return std::string(profile.status().message());
}

bool Mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a profile survives the trip through JSON") {
  DeviceProfile profile;
  profile.name = "quote \" backslash \\ newline \n";
  profile.is_cpu = true;
  profile.subgroup_size = 8;
  profile.shared_memory_bytes = 32768;
  profile.max_workgroup_invocations = 1024;
  profile.max_workgroups_per_axis = UINT32_MAX;
  profile.max_allocation_bytes = UINT64_MAX;
  profile.heap_bytes = uint64_t{1} << 37;
  profile.compute_units = 132;
  profile.features = {"int8_storage", "shader_float16"};
  const std::string json = ProfileToJson(profile);
  const absl::StatusOr<DeviceProfile> back = ProfileFromJson(json);
  REQUIRE(back.ok());
  CHECK(ProfileToJson(*back) == json);
  CHECK(back->name == profile.name);
  CHECK(back->is_cpu);
  CHECK(back->max_allocation_bytes == UINT64_MAX);
  CHECK(back->Has("shader_float16"));
  CHECK_FALSE(back->Has("shader"));
}

TEST_CASE("missing fields keep their defaults, features are sorted") {
  const absl::StatusOr<DeviceProfile> empty = ProfileFromJson("{}");
  REQUIRE(empty.ok());
  CHECK(ProfileToJson(*empty) == ProfileToJson(DeviceProfile()));
  const absl::StatusOr<DeviceProfile> sorted = ProfileFromJson(R"({"features": ["b", "a", "b"]})");
  REQUIRE(sorted.ok());
  CHECK(sorted->features == std::vector<std::string>{"a", "b"});
}

TEST_CASE("unknown and mistyped fields are named") {
  CHECK(Mentions(ErrorOf(R"({"subgroup": 8})"), "'subgroup' is unknown"));
  CHECK(Mentions(ErrorOf(R"({"name": 8})"), "'name' must be a string"));
  CHECK(Mentions(ErrorOf(R"({"is_cpu": 1})"), "'is_cpu'"));
  CHECK(Mentions(ErrorOf(R"({"subgroup_size": -1})"), "'subgroup_size'"));
  CHECK(Mentions(ErrorOf(R"({"subgroup_size": 1.5})"), "'subgroup_size'"));
  CHECK(Mentions(ErrorOf(R"({"subgroup_size": 12})"), "power of two"));
  CHECK(Mentions(ErrorOf(R"({"subgroup_size": 4294967296})"), "4294967295"));
  CHECK(Mentions(ErrorOf(R"({"max_allocation_bytes": 0})"), "'max_allocation_bytes'"));
  CHECK(Mentions(ErrorOf(R"({"features": "a"})"), "'features'"));
  CHECK(Mentions(ErrorOf(R"({"features": [1]})"), "'features'"));
}

TEST_CASE("text that is not a JSON object is refused") {
  for (const char* text : {"", "[", "[]", "null", "{\"name\": }", "{} x"}) {
    CAPTURE(text);
    CHECK_FALSE(ErrorOf(text).empty());
  }
  CHECK_FALSE(ErrorOf(std::string(100000, '[')).empty());
  CHECK_FALSE(ErrorOf(std::string(2000000, ' ')).empty());
}

}  // namespace oa
