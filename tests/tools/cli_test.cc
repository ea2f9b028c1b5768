// The programs as users run them: exit codes, messages, training that resumes exactly.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/oa.h"
#include "ir/op.h"
#include "tests/tools/temp_folder.h"
#include "tools/common/npy.h"
#include "tools/common/safetensors.h"

namespace oa::tools {
namespace {

using testing::ReadText;
using testing::TempFolder;
using testing::WriteText;

struct Ran {
  int code = -1;
  std::string out, err;
};

// Runs in its own folder, with this build's kernels and a private pipeline cache.
class Shell {
 public:
  Ran OaRun(const std::string& arguments) { return Call(OA_RUN_PATH, arguments); }
  Ran OaCompile(const std::string& arguments) { return Call(OA_COMPILE_PATH, arguments); }
  // With --device when the tests were told to use another one.
  Ran OnDevice(const std::string& arguments) { return OaRun(arguments + DeviceFlag()); }
  // Sends SIGINT once the first step was reported.
  Ran Interrupted(const std::string& arguments) {
    return Finish(absl::StrCat(
        Prefix(), OA_RUN_PATH, " ", arguments, DeviceFlag(), kRedirect, " & p=$!; i=0; ",
        "while ! grep -qs '^step' .out && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done; ",
        "kill -INT $p; wait $p"));
  }
  std::string File(const std::string& name) const { return folder_.File(name); }

 private:
  static constexpr char kRedirect[] = " >.out 2>.err </dev/null";

  static std::string DeviceFlag() {
    const char* device = std::getenv("OA_TEST_DEVICE");
    return device == nullptr ? "" : absl::StrCat(" --device '", device, "'");
  }
  std::string Prefix() const {
    return absl::StrCat("cd ", folder_.path(), " && export OA_KERNELS=", OA_TEST_KERNELS,
                        " XDG_CACHE_HOME=", folder_.path(), "; ");
  }
  Ran Call(const char* program, const std::string& arguments) {
    return Finish(absl::StrCat(Prefix(), program, " ", arguments, kRedirect));
  }
  Ran Finish(const std::string& command) {
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadText(File(".out")),
            ReadText(File(".err"))};
  }

  TempFolder folder_;
};

// y = relu(x), with a test vector that expects `expected`.
void RecordRelu(const std::string& path, float expected) {
  Graph graph("small");
  const Matrix x = graph.Input("x", F32, {2});
  const Result<Matrix> y = ml::matrix::relu(x);
  REQUIRE(y.ok());
  graph.Output("y", *y);
  TestVector vector;
  vector.name = "ones";
  const auto bytes = [](std::vector<float> values) {
    std::vector<uint8_t> raw(values.size() * 4);
    std::memcpy(raw.data(), values.data(), raw.size());
    return Blob::Own(std::move(raw));
  };
  vector.inputs = {{"x", bytes({1, -1}), 0, 0}};
  vector.outputs = {{"y", bytes({expected, 0}), 0, 0}};
  REQUIRE(graph.AddTestVector(vector).ok());
  REQUIRE(graph.Save(path).ok());
}

// One AdamW step of a linear regression on 4 rows.
absl::Status RecordTraining(const std::string& path) {
  Graph graph("regression");
  const Matrix x = graph.Input("x", F32, {4, 3});
  const Matrix target = graph.Input("target", F32, {4, 1});
  const Parameter w = graph.Param("w", {1, 3}, init::KaimingUniform(1));
  OA_ASSIGN_OR_RETURN(Matrix y, matrix::linear(x, w, nullptr));
  OA_ASSIGN_OR_RETURN(Matrix loss, ml::loss::mse(y, target));
  OA_ASSIGN_OR_RETURN(ml::autograd::Gradients gradients, ml::autograd::Backward(loss));
  ml::optim::AdamW optimiser({.learning_rate = 1e-2f});
  OA_RETURN_IF_ERROR(optimiser.Step(gradients));
  graph.Output("loss", loss);
  return graph.Save(path);
}

void WriteRows(const std::string& path, uint64_t rows, uint64_t columns) {
  std::vector<float> values(rows * columns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) * 0.25f - 0.5f;
  const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(values.data()),
                                        values.size() * 4);
  REQUIRE(WriteNpy(path, DType::F32, Shape{rows, columns}, bytes).ok());
}

TEST_CASE("cli: help, version and wrong usage") {
  Shell shell;
  CHECK_EQ(shell.OaRun("--help").code, 0);
  CHECK(absl::StrContains(shell.OaRun("--version").out, "oa-run "));
  CHECK(absl::StrContains(shell.OaCompile("--help").out, "Examples:"));
  for (const char* command : {"run", "check", "bench", "devices", "ops", "inspect", "verify"}) {
    const Ran help = shell.OaRun(absl::StrCat(command, " --help"));
    CHECK_EQ(help.code, 0);
    CHECK_MESSAGE(absl::StrContains(help.out, "Examples:"), command);
    for (absl::string_view line : absl::StrSplit(help.out, '\n')) {
      CHECK_MESSAGE(line.size() <= 80, line);
    }
  }
  const Ran unknown = shell.OaRun("model.oag --setps 3");
  CHECK_EQ(unknown.code, 2);
  CHECK_MESSAGE(absl::StrContains(unknown.err, "--steps"), unknown.err);
  CHECK_EQ(shell.OaRun("run").code, 2);
  const Ran misspelt = shell.OaRun("chekc model.oag");
  CHECK_EQ(misspelt.code, 2);
  CHECK(absl::StrContains(misspelt.err, "'check'"));
  CHECK_EQ(shell.OaRun("model.oag --epochs 3").code, 2);
  CHECK_EQ(shell.OaRun("model.oag --input x").code, 2);
  CHECK_EQ(shell.OaCompile("").code, 0);
}

TEST_CASE("cli: missing and damaged files") {
  Shell shell;
  const Ran missing = shell.OaRun("missing.oag");
  CHECK_EQ(missing.code, 3);
  CHECK(absl::StrContains(missing.err, "missing.oag"));
  CHECK(absl::StartsWith(missing.err, "oa-run: "));
  RecordRelu(shell.File("small.oag"), 1);
  std::string bytes = ReadText(shell.File("small.oag"));
  bytes[bytes.size() / 2] ^= 0x40;
  WriteText(shell.File("damaged.oag"), bytes);
  CHECK_EQ(shell.OaRun("damaged.oag --input x=0").code, 3);
  CHECK_EQ(shell.OaRun("verify damaged.oag").code, 3);
  CHECK_EQ(shell.OaRun("inspect damaged.oag").code, 3);
  CHECK_EQ(shell.OaCompile("damaged.oag").code, 3);
  WriteText(shell.File("text.oag"), "hello");
  CHECK_EQ(shell.OaRun("verify text.oag").code, 3);
  CHECK_EQ(shell.OaRun("verify small.oag").code, 0);
}

TEST_CASE("cli: compile, inspect and dry-run") {
  Shell shell;
  RecordRelu(shell.File("small.oag"), 1);
  const Ran compiled = shell.OaCompile("small.oag --bundle --report r.html --dump-after lower");
  REQUIRE_MESSAGE(compiled.code == 0, compiled.err);
  CHECK(absl::StrContains(compiled.out, "# after lower"));
  CHECK(absl::StrContains(ReadText(shell.File("r.html")), "</html>"));
  CHECK_EQ(shell.OaRun("verify small.oax").code, 0);
  for (const char* file : {"small.oag", "small.oax"}) {
    for (const char* format : {"text", "json", "dot", "html"}) {
      const Ran shown = shell.OaRun(absl::StrCat("inspect ", file, " --format ", format));
      CHECK_EQ(shown.code, 0);
      CHECK_FALSE(shown.out.empty());
    }
  }
  for (const char* file : {"small.oag", "small.oax"}) {
    const Ran dry = shell.OaRun(absl::StrCat(file, " --dry-run"));
    CHECK_MESSAGE(dry.code == 0, dry.err);
    CHECK(absl::StrContains(dry.out, "nothing was run"));
  }
  CHECK_EQ(shell.OaRun("inspect small.oax --format xml").code, 2);
  CHECK_EQ(shell.OaCompile("small.oax").code, 3);
  CHECK_EQ(shell.OaRun("small.oag --kernels none.oak --dry-run").code, 3);
}

TEST_CASE("cli: run a graph and a plan") {
  Shell shell;
  RecordRelu(shell.File("small.oag"), 1);
  REQUIRE_EQ(shell.OaCompile("small.oag --quiet").code, 0);
  for (const char* file : {"small.oag", "small.oax"}) {
    const Ran ran = shell.OnDevice(absl::StrCat(
        file, " --input x=2xf32=3,-4 --output y=@y.npy --expect y=3,0 --profile t.json"));
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    const auto y = ReadNpy(shell.File("y.npy"));
    REQUIRE(y.ok());
    const float expected[] = {3, 0};
    CHECK_EQ(std::memcmp(y->data.bytes().data(), expected, 8), 0);
    const auto trace = nlohmann::json::parse(ReadText(shell.File("t.json")), nullptr, false);
    REQUIRE(trace.is_object());
    CHECK_FALSE(trace["traceEvents"].empty());
  }
  CHECK_EQ(shell.OnDevice("small.oag --input x=3,-4 --expect y=3,1").code, 1);
  CHECK_EQ(shell.OnDevice("small.oag --input x=3,-4 --expect y=3.001,0 --rtol 1e-2").code, 0);
  const Ran wrong = shell.OnDevice("small.oag --input xx=1");
  CHECK_EQ(wrong.code, 2);
  CHECK(absl::StrContains(wrong.err, "'x'"));
  CHECK_EQ(shell.OnDevice("small.oag").code, 2);
  CHECK_EQ(shell.OnDevice("small.oag --input x=0 --output y=@nowhere/y.npy").code, 2);
  CHECK_EQ(shell.OaRun("small.oag --input x=0 --device no-such-device").code, 2);
}

TEST_CASE("cli: check compares test vectors") {
  Shell shell;
  RecordRelu(shell.File("good.oag"), 1);
  RecordRelu(shell.File("bad.oag"), 2);
  const Ran good = shell.OnDevice("check good.oag");
  CHECK_MESSAGE(good.code == 0, good.err);
  const Ran bad = shell.OnDevice("check bad.oag");
  CHECK_EQ(bad.code, 1);
  CHECK(absl::StrContains(bad.out, "DIFFERS"));
  CHECK(absl::StrContains(bad.out, "element 0 is 1, expected 2"));
  CHECK_EQ(shell.OnDevice("check bad.oag --atol 1").code, 0);
  REQUIRE(RecordTraining(shell.File("train.oag")).ok());
  const Ran none = shell.OnDevice("check train.oag");
  CHECK_EQ(none.code, 3);
  CHECK(absl::StrContains(none.err, "has no test vectors"));
}

TEST_CASE("cli: training streams, saves and resumes bit for bit") {
  Shell shell;
  REQUIRE(RecordTraining(shell.File("train.oag")).ok());
  WriteRows(shell.File("x.npy"), 18, 3);
  WriteRows(shell.File("t.npy"), 18, 1);
  const std::string stream = "train.oag --stream x=@x.npy --stream target=@t.npy ";
  const Ran whole = shell.OnDevice(stream + "--epochs 4 --save-state whole.safetensors");
  REQUIRE_MESSAGE(whole.code == 0, whole.err);
  CHECK(absl::StrContains(whole.out, "epoch 4/4  loss "));
  CHECK(absl::StrContains(whole.err, "last 2 rows of 18"));
  REQUIRE_EQ(shell.OnDevice(stream + "--epochs 2 --save-state half.safetensors").code, 0);
  REQUIRE_EQ(shell
                 .OnDevice(stream + "--epochs 2 --state half.safetensors "
                                    "--save-state half.safetensors")
                 .code,
             0);
  CHECK_EQ(ReadText(shell.File("whole.safetensors")), ReadText(shell.File("half.safetensors")));
}

TEST_CASE("cli: an interrupt saves what was asked for") {
  Shell shell;
  REQUIRE(RecordTraining(shell.File("train.oag")).ok());
  WriteRows(shell.File("x.npy"), 4, 3);
  WriteRows(shell.File("t.npy"), 4, 1);
  const Ran ran = shell.Interrupted(
      "train.oag --input x=@x.npy --input target=@t.npy "
      "--steps 1000000000 --log-every 20 --save-state s.safetensors");
  CHECK_MESSAGE(ran.code == 130, ran.err);
  CHECK(absl::StrContains(ran.out, "interrupted after"));
  CHECK(ReadSafetensors(shell.File("s.safetensors")).ok());
}

TEST_CASE("cli: parameters, single state words and JSON Lines") {
  Shell shell;
  REQUIRE(RecordTraining(shell.File("train.oag")).ok());
  WriteRows(shell.File("x.npy"), 4, 3);
  WriteRows(shell.File("t.npy"), 4, 1);
  const std::string inputs = "train.oag --input x=@x.npy --input target=@t.npy ";
  // With a learning rate of 0 the parameters stay what they were.
  REQUIRE_EQ(shell.OnDevice(inputs + "--set adamw.hyper[1]=0.0 --save-params a.safetensors").code,
             0);
  const Ran ran = shell.OnDevice(inputs +
                                 "--params a.safetensors --set adamw.hyper[1]=0.0 "
                                 "--steps 3 --json --save-params b.safetensors");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK_EQ(ReadText(shell.File("a.safetensors")), ReadText(shell.File("b.safetensors")));
  int steps = 0;
  for (absl::string_view line : absl::StrSplit(ran.out, '\n', absl::SkipEmpty())) {
    const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    REQUIRE_MESSAGE(json.is_object(), line);
    steps += json["event"] == "step";
  }
  CHECK_EQ(steps, 3);
  const Ran unknown = shell.OnDevice(inputs + "--set adamw.hiper[1]=0");
  CHECK_EQ(unknown.code, 2);
  CHECK(absl::StrContains(unknown.err, "'adamw.hyper'"));
  WriteText(shell.File("a.safetensors"), "short");
  CHECK_EQ(shell.OnDevice(inputs + "--params a.safetensors").code, 3);
}

TEST_CASE("cli: bench, devices and ops") {
  Shell shell;
  RecordRelu(shell.File("small.oag"), 1);
  const Ran bench = shell.OnDevice("bench small.oag --iterations 3 --warmup 1 --no-roofline");
  CHECK_MESSAGE(bench.code == 0, bench.err);
  CHECK(absl::StrContains(bench.out, "median"));
  CHECK(absl::StrContains(bench.out, "\ncommit      "));
  const Ran line = shell.OnDevice("bench small.oag --iterations 1 --no-roofline --json");
  CHECK_FALSE(nlohmann::json::parse(line.out)["commit"].get<std::string>().empty());
  CHECK_EQ(shell.OaRun("devices").code, 0);
  const Ran profile = shell.OaRun("devices --profile");
  CHECK_EQ(profile.code, 0);
  WriteText(shell.File("device.json"), profile.out);
  CHECK_EQ(shell.OaCompile("small.oag --device device.json").code, 0);
}

void CheckWidth(const std::string& text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) CHECK_MESSAGE(line.size() <= 80, line);
}

TEST_CASE("cli: ops lists operators, and the kernels that a device would use") {
  Shell shell;
  const Ran list = shell.OnDevice("ops");
  CHECK_EQ(list.code, 0);
  CheckWidth(list.out);
  CHECK(absl::StrContains(list.out, "\nrelu(input*) -> y\n    elementwise programs\n"));
  CHECK(absl::StrContains(list.out, "\nlinear(x*, weight*, bias*?) -> y\n    matmul_f32"));
  CHECK(absl::StrContains(list.out, "\nreshape(x*; shape) -> y\n    a view, runs nothing\n"));
  CHECK(absl::StrContains(list.out, "\naccumulate(dst!, src) -> dst\n"));
  const Ran one = shell.OnDevice("ops rms_norm");
  CHECK_EQ(one.code, 0);
  CheckWidth(one.out);
  CHECK(absl::StrContains(one.out, "rejects: weight not [N]"));
  CHECK(absl::StrContains(one.out, "norm_f32"));
  CHECK(absl::StrContains(one.out, "chosen"));
  const Ran unknown = shell.OaRun("ops rely");
  CHECK_EQ(unknown.code, 2);
  CHECK(absl::StrContains(unknown.err, "relu"));
}

TEST_CASE("cli: ops as JSON") {
  Shell shell;
  std::vector<std::string> lines =
      absl::StrSplit(shell.OnDevice("ops --json").out, '\n', absl::SkipEmpty());
  CHECK_EQ(lines.size(), ir::OpTable().size());
  for (const std::string& line : lines) {
    const nlohmann::json op = nlohmann::json::parse(line, nullptr, false);
    REQUIRE_MESSAGE(op.is_object(), line);
    INFO(op["name"].get<std::string>());
    CHECK_FALSE(op["rejects"].get<std::string>().empty());
    // Every operator that runs anything can run here.
    for (const nlohmann::json& kernel : op["kernels"]) {
      const bool tile_of_gpus = absl::EndsWith(kernel["base"].get<std::string>(), "_t128");
      CHECK_MESSAGE((kernel["chosen"].is_string() || tile_of_gpus), kernel.dump());
    }
  }
  const nlohmann::json one = nlohmann::json::parse(shell.OnDevice("ops softmax --json").out);
  CHECK_EQ(one["kernels"][0]["base"], "softmax_f32");
  CHECK_EQ(one["kernels"][0]["variants"].size(), 2);
  CHECK_EQ(one["operands"][0]["differentiable"], true);
}

}  // namespace
}  // namespace oa::tools
