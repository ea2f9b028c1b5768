// VerifyPlanKernels: proves that no kernel of a plan is given fewer bytes than it may touch.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "schema/checked_math.h"
#include "schema/closest_names.h"
#include "schema/extent_expr.h"
#include "schema/plan.h"
#include "schema/status_macros.h"

namespace oa {
namespace {

// Kernels may read, never write, up to the next multiple of 16 bytes behind a slice; a buffer's
// place is padded to 256 bytes, so that this stays inside it.
constexpr uint64_t kReadPadding = 16;

// Scalars and constants by name; few, so that a linear search is the fastest.
using Scope = std::vector<std::pair<absl::string_view, uint64_t>>;

std::optional<uint64_t> Lookup(const Scope& scope, absl::string_view name) {
  // Backwards: a record's own scalars come last and win.
  for (auto it = scope.rbegin(); it != scope.rend(); ++it) {
    if (it->first == name) return it->second;
  }
  return std::nullopt;
}

absl::StatusOr<const Kernel*> FindKernel(const PlanKernel& wanted, const KernelPack& pack,
                                         const std::string& file) {
  const Kernel* kernel = pack.Find(wanted.name);
  if (kernel == nullptr) {
    std::vector<std::string> names;
    for (const Kernel& k : pack.kernels()) names.push_back(k.name);
    return absl::FailedPreconditionError(absl::StrCat(
        "'", file, "' needs the kernel '", wanted.name, "', which the kernel pack does not have",
        ClosestNames(wanted.name, std::move(names)),
        "; compile the graph again with this kernel pack."));
  }
  if (kernel->digest != wanted.digest) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "'%s' was compiled with another build of the kernel '%s' (digest %016x, the kernel pack "
        "has %016x); compile the graph again with this kernel pack.",
        file, wanted.name, wanted.digest, kernel->digest));
  }
  return kernel;
}

class KernelUseVerifier {
 public:
  KernelUseVerifier(const Plan& plan, size_t index, const Kernel& kernel, const std::string& file)
      : plan_(plan),
        index_(index),
        dispatch_(plan.dispatches[index]),
        kernel_(kernel),
        file_(file) {}

  absl::Status Run() {
    OA_RETURN_IF_ERROR(CheckGrid());
    OA_RETURN_IF_ERROR(CheckConstants());
    OA_RETURN_IF_ERROR(CheckCounts());
    OA_RETURN_IF_ERROR(CheckRow(kernel_.arguments, 0));
    const size_t common = scope_.size();
    for (size_t at = kernel_.arguments.size(); at < dispatch_.arguments.size();
         at += kernel_.records.size()) {
      scope_.resize(common);
      OA_RETURN_IF_ERROR(CheckRow(kernel_.records, at));
    }
    return absl::OkStatus();
  }

 private:
  template <class... Parts>
  absl::Status Bad(const Parts&... parts) const {
    return absl::DataLossError(absl::StrCat("'", file_, "': dispatches[", index_, "] '",
                                            dispatch_.label, "' with kernel '", kernel_.name, "' ",
                                            parts..., "."));
  }

  absl::Status CheckGrid() const {
    for (uint32_t groups : dispatch_.grid) {
      if (groups == 0 || groups > plan_.profile.max_workgroups_per_axis) {
        return Bad("has ", groups, " workgroups on an axis; 1 to ",
                   plan_.profile.max_workgroups_per_axis, " are allowed");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckConstants() {
    if (dispatch_.constants.size() != kernel_.constants.size()) {
      return Bad("has ", dispatch_.constants.size(), " constants, the kernel has ",
                 kernel_.constants.size());
    }
    for (size_t i = 0; i < kernel_.constants.size(); ++i) {
      scope_.emplace_back(kernel_.constants[i].name, dispatch_.constants[i]);
    }
    return absl::OkStatus();
  }

  absl::Status CheckCounts() const {
    const size_t fixed = kernel_.arguments.size();
    uint64_t records = 0;
    for (size_t i = 0; i < fixed && i < dispatch_.arguments.size(); ++i) {
      if (kernel_.records.empty() || kernel_.arguments[i].name != "record_count") continue;
      records = dispatch_.arguments[i].bits;
      break;
    }
    // Both factors are below 2^32.
    const uint64_t expected = fixed + records * kernel_.records.size();
    if (dispatch_.arguments.size() == expected) return absl::OkStatus();
    return Bad("has ", dispatch_.arguments.size(), " arguments, the kernel takes ", expected,
               " for ", records, " records");
  }

  // Arguments `row` of the kernel against the dispatch's from `first` on.
  absl::Status CheckRow(const std::vector<KernelArgument>& row, size_t first) {
    for (size_t i = 0; i < row.size(); ++i) {
      const PlanArgument& given = dispatch_.arguments[first + i];
      const bool same_access =
          row[i].kind != ArgumentKind::kBuffer || given.access == row[i].access;
      if (given.kind != row[i].kind || !same_access) {
        return Bad("argument ", first + i, " '", row[i].name, "' has another kind or access");
      }
      if (given.kind == ArgumentKind::kU32) scope_.emplace_back(row[i].name, given.bits);
    }
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i].kind == ArgumentKind::kBuffer) {
        OA_RETURN_IF_ERROR(CheckExtent(row[i], first + i));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckExtent(const KernelArgument& wanted, size_t index) const {
    const PlanArgument& given = dispatch_.arguments[index];
    const absl::StatusOr<uint64_t> extent = EvaluateExtent(
        wanted.extent, [this](absl::string_view name) { return Lookup(scope_, name); });
    if (!extent.ok()) {
      return Bad("argument ", index, " '", wanted.name, "': ", extent.status().message());
    }
    const std::optional<uint64_t> need = CheckedMul(*extent, wanted.element_bytes);
    const uint64_t have =
        wanted.access == Access::kRead ? AlignUp(given.size_bytes, kReadPadding) : given.size_bytes;
    if (need && *need <= have) return absl::OkStatus();
    return Bad("argument ", index, " '", wanted.name, "' is given ", given.size_bytes,
               " bytes but the kernel may touch ", wanted.extent, " = ", *extent, " elements of ",
               wanted.element_bytes, " bytes");
  }

  const Plan& plan_;
  const size_t index_;
  const PlanDispatch& dispatch_;
  const Kernel& kernel_;
  const std::string& file_;
  Scope scope_;
};

}  // namespace

absl::Status VerifyPlanKernels(const Plan& plan, const KernelPack& pack, const std::string& file) {
  std::vector<const Kernel*> kernels;
  for (const PlanKernel& wanted : plan.kernels) {
    OA_ASSIGN_OR_RETURN(const Kernel* kernel, FindKernel(wanted, pack, file));
    kernels.push_back(kernel);
  }
  for (size_t i = 0; i < plan.dispatches.size(); ++i) {
    const uint32_t index = plan.dispatches[i].kernel;
    if (index >= kernels.size()) {
      return absl::DataLossError(absl::StrCat("'", file, "': dispatches[", i, "] names kernel ",
                                              index, " of ", kernels.size(), "."));
    }
    const Kernel& kernel = *kernels[index];
    OA_RETURN_IF_ERROR(KernelUseVerifier(plan, i, kernel, file).Run());
  }
  return absl::OkStatus();
}

}  // namespace oa
