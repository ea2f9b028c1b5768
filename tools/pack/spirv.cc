#include "tools/pack/spirv.h"

#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "schema/status_macros.h"

namespace oa::pack {
namespace {

// Numbers from the SPIR-V specification, section 3.
constexpr uint32_t kMagic = 0x07230203;
constexpr size_t kHeaderWords = 5;
enum Opcode : uint32_t {
  kOpSourceContinued = 2,
  kOpSource = 3,
  kOpSourceExtension = 4,
  kOpName = 5,
  kOpMemberName = 6,
  kOpString = 7,
  kOpLine = 8,
  kOpExecutionMode = 16,
  kOpCapability = 17,
  kOpTypeBool = 20,
  kOpTypeInt = 21,
  kOpTypeFloat = 22,
  kOpTypeVector = 23,
  kOpTypeMatrix = 24,
  kOpTypeArray = 28,
  kOpTypeRuntimeArray = 29,
  kOpTypeStruct = 30,
  kOpTypePointer = 32,
  kOpConstant = 43,
  kOpVariable = 59,
  kOpDecorate = 71,
  kOpMemberDecorate = 72,
  kOpNoLine = 317,
  kOpModuleProcessed = 330,
  kOpExecutionModeId = 331,
};
enum : uint32_t { kModeLocalSize = 17, kModeLocalSizeId = 38 };
enum : uint32_t {
  kDecorationSpecId = 1,
  kDecorationArrayStride = 6,
  kDecorationNonWritable = 24,
  kDecorationNonReadable = 25,
  kDecorationOffset = 35,
};
enum : uint32_t { kWorkgroup = 4, kPushConstant = 9, kPhysicalStorageBuffer = 5349 };

struct Type {
  uint32_t opcode = 0;
  std::vector<uint32_t> operands;  // words behind the result id
};

struct Variable {
  uint32_t type = 0;
  uint32_t storage = 0;
};

using Member = std::pair<uint32_t, uint32_t>;  // structure id, member index

// Everything about a module that is looked up by id.
struct Module {
  std::array<uint32_t, 3> local_size = {0, 0, 0};
  std::array<uint32_t, 3> local_size_ids = {0, 0, 0};  // when given as constants
  std::vector<uint32_t> capabilities;
  absl::flat_hash_map<uint32_t, Type> types;
  absl::flat_hash_map<uint32_t, uint32_t> constants;
  absl::flat_hash_map<uint32_t, std::string> names;
  std::map<uint32_t, uint32_t> spec_ids;  // SpecId -> id, so that the order is that of the ids
  absl::flat_hash_map<uint32_t, uint32_t> array_strides;
  std::map<Member, std::string> member_names;
  std::map<Member, uint32_t> member_offsets;
  std::map<Member, uint32_t> member_access;  // bit 0: not writable, bit 1: not readable
  std::vector<Variable> variables;
};

// A literal string: bytes packed into words, up to the first zero byte.
std::string Text(absl::Span<const uint32_t> words) {
  std::string text;
  for (uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>((word >> shift) & 0xff);
      if (c == 0) return text;
      text.push_back(c);
    }
  }
  return text;
}

// Calls visit(opcode, operands, whole instruction) for each instruction.
template <class Visit>
absl::Status ForEachInstruction(absl::Span<const uint32_t> words, Visit visit) {
  if (words.size() < kHeaderWords || words[0] != kMagic) {
    return absl::InvalidArgumentError("it is not a SPIR-V module.");
  }
  for (size_t at = kHeaderWords; at < words.size();) {
    const uint32_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at) {
      return absl::InvalidArgumentError(absl::StrCat("it is cut off at word ", at, "."));
    }
    const absl::Span<const uint32_t> whole = words.subspan(at, length);
    visit(words[at] & 0xffff, whole.subspan(1), whole);
    at += length;
  }
  return absl::OkStatus();
}

void AddDecoration(Module& module, absl::Span<const uint32_t> o) {
  if (o.size() < 3) return;
  if (o[1] == kDecorationSpecId) module.spec_ids[o[2]] = o[0];
  if (o[1] == kDecorationArrayStride) module.array_strides[o[0]] = o[2];
}

void AddMemberDecoration(Module& module, absl::Span<const uint32_t> o) {
  if (o.size() < 3) return;
  const Member member = {o[0], o[1]};
  if (o[2] == kDecorationOffset && o.size() > 3) module.member_offsets[member] = o[3];
  if (o[2] == kDecorationNonWritable) module.member_access[member] |= 1;
  if (o[2] == kDecorationNonReadable) module.member_access[member] |= 2;
}

void AddInstruction(Module& module, uint32_t opcode, absl::Span<const uint32_t> o) {
  switch (opcode) {
    case kOpCapability:
      if (!o.empty()) module.capabilities.push_back(o[0]);
      break;
    case kOpName:
      if (o.size() > 1) module.names[o[0]] = Text(o.subspan(1));
      break;
    case kOpMemberName:
      if (o.size() > 2) module.member_names[{o[0], o[1]}] = Text(o.subspan(2));
      break;
    case kOpExecutionMode:
      if (o.size() == 5 && o[1] == kModeLocalSize) module.local_size = {o[2], o[3], o[4]};
      break;
    case kOpExecutionModeId:
      if (o.size() == 5 && o[1] == kModeLocalSizeId) module.local_size_ids = {o[2], o[3], o[4]};
      break;
    case kOpConstant:
      if (o.size() > 2) module.constants[o[1]] = o[2];
      break;
    case kOpVariable:
      if (o.size() > 2) module.variables.push_back({o[0], o[2]});
      break;
    case kOpDecorate:
      AddDecoration(module, o);
      break;
    case kOpMemberDecorate:
      AddMemberDecoration(module, o);
      break;
    default:
      if (opcode >= kOpTypeBool && opcode <= kOpTypePointer && !o.empty()) {
        module.types[o[0]] = {opcode, std::vector<uint32_t>(o.begin() + 1, o.end())};
      }
  }
}

template <class Map, class Key>
typename Map::mapped_type Lookup(const Map& map, const Key& key) {
  auto it = map.find(key);
  return it == map.end() ? typename Map::mapped_type() : it->second;
}

// Reads the shapes of types out of a module.
class InterfaceReader {
 public:
  explicit InterfaceReader(const Module& module) : module_(module) {}

  absl::StatusOr<ShaderInterface> Read() {
    ShaderInterface result;
    result.local_size = module_.local_size;
    result.capabilities = module_.capabilities;
    for (size_t axis = 0; axis < 3; ++axis) {
      const uint32_t id = module_.local_size_ids[axis];
      if (id != 0) result.local_size[axis] = Lookup(module_.constants, id);
      if (result.local_size[axis] == 0) return Error("its workgroup size is not a constant.");
    }
    for (const auto& [spec_id, id] : module_.spec_ids) {
      result.constants.push_back({Lookup(module_.names, id), spec_id});
    }
    for (const Variable& variable : module_.variables) {
      const uint32_t pointee = Pointee(variable.type);
      if (variable.storage == kWorkgroup) {
        OA_ASSIGN_OR_RETURN(const uint32_t bytes, SharedBytes(pointee));
        result.shared_bytes += bytes;
      } else if (variable.storage == kPushConstant) {
        OA_RETURN_IF_ERROR(ReadPushConstant(pointee, result));
      }
    }
    if (result.arguments.empty()) return Error("it has no argument block behind a push constant.");
    return result;
  }

 private:
  static absl::Status Error(absl::string_view sentence) {
    return absl::InvalidArgumentError(sentence);
  }
  Type TypeOf(uint32_t id) const { return Lookup(module_.types, id); }
  uint32_t Operand(uint32_t id, size_t index) const {
    const Type type = TypeOf(id);
    return index < type.operands.size() ? type.operands[index] : 0;
  }
  uint32_t Pointee(uint32_t pointer) const { return Operand(pointer, 1); }
  bool IsAddress(uint32_t id) const {
    return TypeOf(id).opcode == kOpTypePointer && Operand(id, 0) == kPhysicalStorageBuffer;
  }

  // Bytes of a type in workgroup memory. Three-component vectors count as four.
  absl::StatusOr<uint32_t> SharedBytes(uint32_t id) const {
    const Type type = TypeOf(id);
    switch (type.opcode) {
      case kOpTypeInt:
      case kOpTypeFloat:
        return Operand(id, 0) / 8;
      case kOpTypeBool:
        return 4;
      case kOpTypeVector:
      case kOpTypeMatrix: {
        OA_ASSIGN_OR_RETURN(const uint32_t element, SharedBytes(Operand(id, 0)));
        const uint32_t count = Operand(id, 1);
        return element * (count == 3 ? 4 : count);
      }
      case kOpTypeArray: {
        OA_ASSIGN_OR_RETURN(const uint32_t element, SharedBytes(Operand(id, 0)));
        const uint32_t length = Lookup(module_.constants, Operand(id, 1));
        if (length == 0) return Error("a shared array's length is not a constant.");
        return element * length;
      }
      case kOpTypeStruct: {
        uint32_t total = 0;
        for (uint32_t member : type.operands) {
          OA_ASSIGN_OR_RETURN(const uint32_t bytes, SharedBytes(member));
          total += bytes;
        }
        return total;
      }
      default:
        return Error(absl::StrCat("shared memory holds a type with opcode ", type.opcode, "."));
    }
  }

  absl::Status ReadPushConstant(uint32_t push, ShaderInterface& result) {
    if (TypeOf(push).opcode != kOpTypeStruct || TypeOf(push).operands.size() != 1 ||
        !IsAddress(Operand(push, 0))) {
      return Error("its push constant is not the address of one argument block.");
    }
    const uint32_t block = Pointee(Operand(push, 0));
    const std::vector<uint32_t> members = TypeOf(block).operands;
    for (uint32_t i = 0; i < members.size(); ++i) {
      if (TypeOf(members[i]).opcode == kOpTypeRuntimeArray) {
        OA_RETURN_IF_ERROR(ReadRecords(block, i, result));
      } else {
        OA_RETURN_IF_ERROR(ReadMember(block, i, result.arguments));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadRecords(uint32_t block, uint32_t index, ShaderInterface& result) {
    const uint32_t array = TypeOf(block).operands[index];
    const uint32_t record = Operand(array, 0);
    if (TypeOf(record).opcode != kOpTypeStruct) return Error("its records are not structures.");
    result.has_records = true;
    result.records_offset = Lookup(module_.member_offsets, Member(block, index));
    result.record_stride = Lookup(module_.array_strides, array);
    for (uint32_t i = 0; i < TypeOf(record).operands.size(); ++i) {
      OA_RETURN_IF_ERROR(ReadMember(record, i, result.records));
    }
    return absl::OkStatus();
  }

  absl::Status ReadMember(uint32_t block, uint32_t index, std::vector<BlockField>& fields) {
    const uint32_t type = TypeOf(block).operands[index];
    BlockField field;
    field.name = Lookup(module_.member_names, Member(block, index));
    field.offset = Lookup(module_.member_offsets, Member(block, index));
    if (TypeOf(type).opcode != kOpTypeArray) return AddField(type, std::move(field), fields);
    const uint32_t length = Lookup(module_.constants, Operand(type, 1));
    const uint32_t stride = Lookup(module_.array_strides, type);
    for (uint32_t i = 0; i < length; ++i) {
      BlockField element = field;
      if (!field.name.empty()) absl::StrAppend(&element.name, i);
      element.offset += i * stride;
      OA_RETURN_IF_ERROR(AddField(Operand(type, 0), std::move(element), fields));
    }
    return absl::OkStatus();
  }

  absl::Status AddField(uint32_t type, BlockField field, std::vector<BlockField>& fields) {
    if (IsAddress(type)) {
      const uint32_t access = Lookup(module_.member_access, Member(Pointee(type), 0));
      field.access = access == 1   ? Access::kRead
                     : access == 2 ? Access::kWrite
                                   : Access::kReadWrite;
    } else if (TypeOf(type).opcode == kOpTypeInt && Operand(type, 0) == 32) {
      field.kind = ArgumentKind::kU32;
    } else if (TypeOf(type).opcode == kOpTypeFloat && Operand(type, 0) == 32) {
      field.kind = ArgumentKind::kF32;
    } else {
      return Error(absl::StrCat("field '", field.name,
                                "' of its argument block is neither an address, a 32-bit integer "
                                "nor a float, nor an array of those."));
    }
    fields.push_back(std::move(field));
    return absl::OkStatus();
  }

  const Module& module_;
};

bool IsDebug(uint32_t opcode) {
  return (opcode >= kOpSourceContinued && opcode <= kOpLine) || opcode == kOpNoLine ||
         opcode == kOpModuleProcessed;
}

}  // namespace

absl::StatusOr<ShaderInterface> ReadSpirv(absl::Span<const uint32_t> words) {
  Module module;
  OA_RETURN_IF_ERROR(ForEachInstruction(
      words, [&](uint32_t opcode, absl::Span<const uint32_t> operands, absl::Span<const uint32_t>) {
        AddInstruction(module, opcode, operands);
      }));
  return InterfaceReader(module).Read();
}

std::vector<uint32_t> StripDebug(absl::Span<const uint32_t> words) {
  std::vector<uint32_t> stripped(words.begin(),
                                 words.begin() + std::min(words.size(), kHeaderWords));
  const absl::Status status = ForEachInstruction(
      words, [&](uint32_t opcode, absl::Span<const uint32_t>, absl::Span<const uint32_t> whole) {
        if (!IsDebug(opcode)) stripped.insert(stripped.end(), whole.begin(), whole.end());
      });
  return status.ok() ? stripped : std::vector<uint32_t>(words.begin(), words.end());
}

}  // namespace oa::pack
