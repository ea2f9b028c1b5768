#include "frontend/examples/byte_lm/generate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "executor/device.h"
#include "executor/program.h"
#include "executor/session.h"
#include "frontend/examples/byte_lm/sampler.h"
#include "schema/status_macros.h"
#include "tools/common/model.h"
#include "tools/common/safetensors.h"

namespace oa::examples {

class Generator::Model {
 public:
  static absl::StatusOr<std::unique_ptr<Model>> Load(const GenerateOptions& options) {
    std::unique_ptr<Model> model(new Model());
    OA_RETURN_IF_ERROR(model->OpenDevice(options.device));
    OA_RETURN_IF_ERROR(model->LoadProgram(options.model));
    OA_RETURN_IF_ERROR(model->LoadParameters(options.params));
    return model;
  }

  uint64_t window() const { return window_; }

  // Logits of the byte behind `text`, which fills the window or less.
  absl::StatusOr<std::vector<float>> Next(absl::Span<const uint8_t> text) {
    std::vector<uint8_t> bytes(text.begin(), text.end());
    bytes.resize(window_);
    const int32_t last = static_cast<int32_t>(text.size()) - 1;
    uint8_t last_bytes[sizeof(last)];
    std::memcpy(last_bytes, &last, sizeof(last));
    OA_ASSIGN_OR_RETURN(const exec::TensorMap outputs,
                        session_->Run({{"bytes", bytes}, {"last", last_bytes}}));
    const std::vector<uint8_t>& raw = outputs.at("logits");
    std::vector<float> logits(raw.size() / sizeof(float));
    std::memcpy(logits.data(), raw.data(), raw.size());
    for (const float logit : logits) {
      if (std::isfinite(logit)) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("the model returned the logit ", logit,
                       "; its parameters may come from a training that "
                       "diverged"));
    }
    return logits;
  }

 private:
  Model() = default;

  absl::Status OpenDevice(const std::string& request) {
    OA_ASSIGN_OR_RETURN(instance_, exec::Instance::Create({}));
    OA_ASSIGN_OR_RETURN(const std::vector<exec::DeviceInfo> devices, instance_->EnumerateDevices());
    OA_ASSIGN_OR_RETURN(const uint32_t index, exec::SelectDevice(devices, request));
    OA_ASSIGN_OR_RETURN(device_, exec::Device::Open(*instance_, index,
                                                    {.cache_folder = exec::DefaultCacheFolder()}));
    return absl::OkStatus();
  }

  absl::Status LoadProgram(const std::string& path) {
    OA_ASSIGN_OR_RETURN(tools::Model model, tools::LoadModel(path));
    tools::PlanOptions compile;
    compile.profile = device_->info().profile;
    OA_ASSIGN_OR_RETURN(tools::ReadyPlan ready, tools::PreparePlan(std::move(model), compile));
    OA_RETURN_IF_ERROR(CheckInterface(ready.plan, path));
    OA_ASSIGN_OR_RETURN(program_,
                        exec::Program::Create(*device_, std::move(ready.plan), ready.pack));
    OA_ASSIGN_OR_RETURN(session_, exec::Session::Create(*program_));
    return absl::OkStatus();
  }

  absl::Status CheckInterface(const Plan& plan, const std::string& path) {
    int known = 0;
    for (const PlanIo& io : plan.inputs) {
      if (io.name == "last") known += io.dtype == DType::I32 && io.shape == Shape{1};
      if (io.name != "bytes" || io.dtype != DType::U8 || io.shape.size() != 2) continue;
      known += io.shape[0] == 1;
      window_ = io.shape[1];
    }
    for (const PlanIo& io : plan.outputs) {
      known += io.name == "logits" && io.dtype == DType::F32 && io.shape == Shape{1, 256};
    }
    if (known == 3 && plan.inputs.size() == 2 && window_ > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("'", path,
                     "' does not generate text: it must take bytes U8 [1, window] and last I32 [1] "
                     "and return logits F32 [1, 256]"));
  }

  absl::Status LoadParameters(const std::string& path) {
    OA_ASSIGN_OR_RETURN(const tools::Safetensors file, tools::ReadSafetensors(path));
    for (const PlanBuffer& buffer : program_->plan().buffers) {
      if (buffer.kind != BufferKind::kParameter) continue;
      const tools::Tensor* tensor = file.Find(buffer.name);
      if (tensor == nullptr || tensor->dtype != buffer.dtype || tensor->shape != buffer.shape) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", path, "' has no fitting parameter '", buffer.name, "'"));
      }
      OA_RETURN_IF_ERROR(session_->WritePersistent(buffer.name, tensor->data.bytes()));
    }
    return absl::OkStatus();
  }

  // In the order of construction; destroyed in the opposite one.
  std::unique_ptr<exec::Instance> instance_;
  std::unique_ptr<exec::Device> device_;
  std::unique_ptr<exec::Program> program_;
  std::unique_ptr<exec::Session> session_;
  uint64_t window_ = 0;
};

Generator::Generator(const GenerateOptions& options, std::unique_ptr<Model> model)
    : options_(options), model_(std::move(model)) {}

Generator::~Generator() = default;

absl::StatusOr<std::unique_ptr<Generator>> Generator::Create(const GenerateOptions& options) {
  if (options.prompt.empty()) {
    return absl::InvalidArgumentError("the prompt must have at least one byte");
  }
  if (!(options.temperature >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the temperature must be 0 or above, not ", options.temperature));
  }
  OA_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, Model::Load(options));
  return absl::WrapUnique(new Generator(options, std::move(model)));
}

absl::Status Generator::Run(const std::function<void(uint8_t byte)>& emit) {
  std::vector<uint8_t> text(options_.prompt.begin(), options_.prompt.end());
  const uint64_t window = model_->window();
  for (size_t i = 0; window == 1 && i + 1 < text.size(); ++i) {
    OA_RETURN_IF_ERROR(model_->Next({&text[i], 1}).status());
  }
  Sampler sampler(options_.temperature, options_.seed);
  for (uint64_t i = 0; i < options_.bytes; ++i) {
    const uint64_t used = std::min<uint64_t>(window, text.size());
    OA_ASSIGN_OR_RETURN(const std::vector<float> logits,
                        model_->Next({text.data() + text.size() - used, used}));
    text.push_back(sampler.Draw(logits));
    emit(text.back());
  }
  return absl::OkStatus();
}

}  // namespace oa::examples
