#include "tools/pack/manifest.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "kernels/common/elementwise_opcodes.h"
#include "nlohmann/json.hpp"
#include "schema/closest_names.h"
#include "schema/feature_names.h"
#include "schema/status_macros.h"

namespace oa::pack {
namespace {

using Json = nlohmann::json;

absl::Status Wrong(absl::string_view sentence) { return absl::InvalidArgumentError(sentence); }

absl::Status RequireKeys(const Json& object, const std::vector<std::string>& known) {
  if (!object.is_object()) return Wrong("an object is expected.");
  for (const auto& [key, value] : object.items()) {
    if (!absl::c_linear_search(known, key)) {
      return Wrong(absl::StrCat("the key '", key, "' is unknown; known are ",
                                absl::StrJoin(known, ", "), "."));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadText(const Json& object, const std::string& key,
                                     const char* absent = nullptr) {
  auto it = object.find(key);
  if (it == object.end() && absent != nullptr) return std::string(absent);
  if (it == object.end()) return Wrong(absl::StrCat("the key '", key, "' is missing."));
  if (!it->is_string()) return Wrong(absl::StrCat("'", key, "' is not a text."));
  return it->get<std::string>();
}

absl::StatusOr<uint32_t> ReadNumber(const Json& object, const std::string& key, uint32_t absent) {
  auto it = object.find(key);
  if (it == object.end()) return absent;
  if (!it->is_number_unsigned() || it->get<uint64_t>() > UINT32_MAX) {
    return Wrong(absl::StrCat("'", key, "' is not an unsigned 32-bit number."));
  }
  return it->get<uint32_t>();
}

absl::StatusOr<bool> ReadFlag(const Json& object, const std::string& key, bool absent) {
  auto it = object.find(key);
  if (it == object.end()) return absent;
  if (!it->is_boolean()) return Wrong(absl::StrCat("'", key, "' is not true or false."));
  return it->get<bool>();
}

// The list under `key`, empty when absent.
absl::StatusOr<Json> ReadList(const Json& object, const std::string& key) {
  auto it = object.find(key);
  if (it == object.end()) return Json::array();
  if (!it->is_array()) return Wrong(absl::StrCat("'", key, "' is not a list."));
  return *it;
}

template <class T>
absl::StatusOr<T> Choose(absl::string_view what, const std::string& word,
                         const std::vector<std::pair<std::string, T>>& choices) {
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
  }
  return Wrong(absl::StrCat(what, " is '", word, "'; known are ",
                            absl::StrJoin(choices, ", ",
                                          [](std::string* out, const auto& choice) {
                                            absl::StrAppend(out, choice.first);
                                          }),
                            "."));
}

absl::Status ReadBuffer(const Json& row, const std::string& type, KernelArgument& argument) {
  OA_ASSIGN_OR_RETURN(
      argument.element_bytes,
      (Choose<uint32_t>(
          "'type'", type,
          {{"f32", 4}, {"i32", 4}, {"u32", 4}, {"u8", 1}, {"bf16", 2}, {"f32x4", 16}})));
  OA_ASSIGN_OR_RETURN(const std::string access, ReadText(row, "access"));
  OA_ASSIGN_OR_RETURN(
      argument.access,
      (Choose<Access>("'access'", access,
                      {{"r", Access::kRead}, {"w", Access::kWrite}, {"rw", Access::kReadWrite}})));
  OA_ASSIGN_OR_RETURN(argument.extent, ReadText(row, "extent"));
  return absl::OkStatus();
}

// Appends the argument, or name0 .. nameN-1 of an array; "{i}" in an extent is the index.
absl::Status AddArgument(const Json& row, std::vector<KernelArgument>& arguments) {
  OA_RETURN_IF_ERROR(RequireKeys(row, {"name", "type", "access", "extent", "array"}));
  KernelArgument argument;
  OA_ASSIGN_OR_RETURN(argument.name, ReadText(row, "name"));
  OA_ASSIGN_OR_RETURN(const std::string type, ReadText(row, "type"));
  if (row.contains("access") || row.contains("extent")) {
    OA_RETURN_IF_ERROR(ReadBuffer(row, type, argument));
  } else {
    OA_ASSIGN_OR_RETURN(
        argument.kind,
        (Choose<ArgumentKind>("the 'type' of a scalar", type,
                              {{"u32", ArgumentKind::kU32}, {"float", ArgumentKind::kF32}})));
  }
  OA_ASSIGN_OR_RETURN(const uint32_t count, ReadNumber(row, "array", 0));
  if (!row.contains("array")) arguments.push_back(argument);
  for (uint32_t i = 0; i < count; ++i) {
    KernelArgument element = argument;
    absl::StrAppend(&element.name, i);
    element.extent = absl::StrReplaceAll(argument.extent, {{"{i}", absl::StrCat(i)}});
    arguments.push_back(std::move(element));
  }
  return absl::OkStatus();
}

absl::Status AddArguments(const Json& object, const std::string& key,
                          std::vector<KernelArgument>& arguments) {
  OA_ASSIGN_OR_RETURN(const Json rows, ReadList(object, key));
  for (size_t i = 0; i < rows.size(); ++i) {
    OA_RETURN_IF_ERROR(Annotate(AddArgument(rows[i], arguments), absl::StrCat(key, "[", i, "]")));
  }
  return absl::OkStatus();
}

absl::Status AddConstant(const Json& row, std::vector<KernelConstant>& constants) {
  OA_RETURN_IF_ERROR(RequireKeys(row, {"name", "id", "array"}));
  OA_ASSIGN_OR_RETURN(const std::string name, ReadText(row, "name"));
  if (!row.contains("id")) return Wrong(absl::StrCat("the constant '", name, "' has no id."));
  OA_ASSIGN_OR_RETURN(const uint32_t id, ReadNumber(row, "id", 0));
  OA_ASSIGN_OR_RETURN(const uint32_t count, ReadNumber(row, "array", 0));
  if (!row.contains("array")) constants.push_back({name, id});
  for (uint32_t i = 0; i < count; ++i) constants.push_back({absl::StrCat(name, i), id + i});
  return absl::OkStatus();
}

absl::Status AddConstants(const Json& row, std::vector<KernelConstant>& constants) {
  OA_ASSIGN_OR_RETURN(const Json rows, ReadList(row, "constants"));
  for (size_t i = 0; i < rows.size(); ++i) {
    OA_RETURN_IF_ERROR(
        Annotate(AddConstant(rows[i], constants), absl::StrCat("constants[", i, "]")));
  }
  return absl::OkStatus();
}

// An elementwise machine in a kernel: the block of kernels/common/prologue.glsl or epilogue.glsl.
// Inputs and outputs in front of the first ones are registers and have no argument.
struct Machine {
  const char* prefix;
  int first_input, inputs;
  int first_output, outputs;
  int slots;
  bool typed;  // inputs of other types than F32
  uint32_t first_constant;
};
constexpr Machine kPrologue = {"p", 0, OA_PROLOGUE_MAX_INPUTS, 1, OA_PROLOGUE_MAX_OUTPUTS,
                               OA_PROLOGUE_MAX_SLOTS, false, 96};
constexpr Machine kEpilogue = {"e", 1, OA_EPILOGUE_MAX_INPUTS, 0, OA_EPILOGUE_MAX_OUTPUTS,
                               OA_EPILOGUE_MAX_SLOTS, true, 64};

void AddMachineArguments(const Machine& m, Kernel& kernel) {
  const auto name = [&](const char* field, int k) { return absl::StrCat(m.prefix, field, k); };
  for (int k = m.first_input; k < m.inputs; ++k) {
    const std::string extent = absl::StrReplaceAll(
        absl::StrCat("(@count*(@mode#==0)+max(@len#,1)*(@mode#!=0))*(@inputs>#)",
                     m.typed ? "*(4-3*(@type#==1)-2*(@type#==4))" : ""),
        {{"#", absl::StrCat(k)}, {"@", m.prefix}});
    const uint32_t element_bytes = m.typed ? 1 : 4;
    kernel.arguments.push_back(
        {name("in", k), ArgumentKind::kBuffer, Access::kRead, element_bytes, extent});
  }
  for (int k = m.first_output; k < m.outputs; ++k) {
    kernel.arguments.push_back({name("out", k), ArgumentKind::kBuffer, Access::kWrite, 4,
                                absl::StrCat(m.prefix, "count*(", m.prefix, "outputs>", k, ")")});
  }
  const auto scalars = [&](const char* field, int first, int end, ArgumentKind kind) {
    for (int k = first; k < end; ++k) kernel.arguments.push_back({name(field, k), kind});
  };
  kernel.arguments.push_back({absl::StrCat(m.prefix, "count"), ArgumentKind::kU32});
  scalars("s", 0, m.slots, ArgumentKind::kF32);
  for (const char* field : {"div", "mod", "len"}) {
    scalars(field, m.first_input, m.inputs, ArgumentKind::kU32);
  }
}

void AddMachineConstants(const Machine& m, Kernel& kernel) {
  uint32_t id = m.first_constant;
  const auto constants = [&](const char* field, int first, int end) {
    for (int k = first; k < end; ++k) {
      kernel.constants.push_back({absl::StrCat(m.prefix, field, k), id++});
    }
  };
  for (const char* field : {"inputs", "outputs", "slots"}) {
    kernel.constants.push_back({absl::StrCat(m.prefix, field), id++});
  }
  constants("mode", m.first_input, m.inputs);
  if (m.typed) constants("type", m.first_input, m.inputs);
  constants("code", 0, m.slots);
  constants("oreg", 0, m.outputs);
}

absl::Status AddMachineIf(const Json& row, const char* key, const Machine& machine,
                          Kernel& kernel) {
  OA_ASSIGN_OR_RETURN(const bool wanted, ReadFlag(row, key, false));
  if (!wanted) return absl::OkStatus();
  AddMachineArguments(machine, kernel);
  AddMachineConstants(machine, kernel);
  return absl::OkStatus();
}

absl::Status ReadVariant(const Json& variant, Kernel& kernel) {
  OA_RETURN_IF_ERROR(RequireKeys(variant, {"suffix", "source", "defines", "device", "subgroup_size",
                                           "features", "tile", "requires", "optimize"}));
  OA_ASSIGN_OR_RETURN(const std::string suffix, ReadText(variant, "suffix"));
  kernel.name = kernel.base + suffix;
  OA_ASSIGN_OR_RETURN(const std::string device, ReadText(variant, "device", "any"));
  OA_ASSIGN_OR_RETURN(kernel.device, (Choose<KernelDevice>("'device'", device,
                                                           {{"any", KernelDevice::kAny},
                                                            {"gpu", KernelDevice::kGpu},
                                                            {"cpu", KernelDevice::kCpu}})));
  OA_ASSIGN_OR_RETURN(kernel.subgroup_size, ReadNumber(variant, "subgroup_size", 0));
  OA_RETURN_IF_ERROR(ReadFlag(variant, "optimize", true).status());
  OA_ASSIGN_OR_RETURN(const Json features, ReadList(variant, "features"));
  for (const Json& feature : features) {
    if (!feature.is_string()) return Wrong("'features' holds something that is not a text.");
    kernel.features.push_back(feature.get<std::string>());
    if (!IsFeatureName(kernel.features.back())) {
      return Wrong(absl::StrCat("no device reports the feature '", kernel.features.back(), "'",
                                ClosestNames(kernel.features.back(),
                                             {std::begin(kFeatureNames), std::end(kFeatureNames)}),
                                "."));
    }
  }
  OA_ASSIGN_OR_RETURN(const Json tile, ReadList(variant, "tile"));
  for (const Json& extent : tile) {
    if (!extent.is_number_unsigned()) return Wrong("'tile' holds something that is no number.");
    kernel.tile.push_back(extent.get<uint32_t>());
  }
  return absl::OkStatus();
}

absl::Status AddRow(const Json& row, std::vector<Kernel>& kernels) {
  OA_RETURN_IF_ERROR(RequireKeys(row, {"name", "source", "arguments", "records", "constants",
                                       "prologue", "epilogue", "variants"}));
  Kernel kernel;
  OA_ASSIGN_OR_RETURN(kernel.base, ReadText(row, "name"));
  OA_RETURN_IF_ERROR(ReadText(row, "source").status());
  OA_RETURN_IF_ERROR(AddArguments(row, "arguments", kernel.arguments));
  OA_RETURN_IF_ERROR(AddArguments(row, "records", kernel.records));
  OA_RETURN_IF_ERROR(AddConstants(row, kernel.constants));
  OA_RETURN_IF_ERROR(AddMachineIf(row, "prologue", kPrologue, kernel));
  OA_RETURN_IF_ERROR(AddMachineIf(row, "epilogue", kEpilogue, kernel));
  OA_ASSIGN_OR_RETURN(const Json variants, ReadList(row, "variants"));
  if (variants.empty()) return Wrong("it has no variants.");
  for (size_t i = 0; i < variants.size(); ++i) {
    Kernel variant = kernel;
    OA_RETURN_IF_ERROR(
        Annotate(ReadVariant(variants[i], variant), absl::StrCat("variants[", i, "]")));
    kernels.push_back(std::move(variant));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Kernel>> ParseManifest(absl::string_view json, const std::string& file) {
  const Json rows = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!rows.is_array()) return Wrong(absl::StrCat("'", file, "' is not a JSON array of rows."));
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string name = absl::StrCat("rows[", i, "]");
    if (rows[i].is_object() && rows[i].contains("name") && rows[i]["name"].is_string()) {
      name = rows[i]["name"].get<std::string>();
    }
    OA_RETURN_IF_ERROR(Annotate(AddRow(rows[i], kernels), absl::StrCat("'", file, "': ", name)));
  }
  return kernels;
}

}  // namespace oa::pack
