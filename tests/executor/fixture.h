// Devices for executor tests: every test opens its own, with its own options, on one instance with
// the validation layer on. Any validation message fails the program.
#ifndef OA_TESTS_EXECUTOR_FIXTURE_H_
#define OA_TESTS_EXECUTOR_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "executor/device.h"
#include "executor/program.h"
#include "executor/session.h"
#include "tests/executor/tiny_plan.h"

namespace oa::testing {

// Whether a missing device fails (true) or skips (false, the default) the tests that need one.
void RequireDevice(bool required);

// Null when there is no device, after failing or skipping the test. $OA_TEST_DEVICE picks one by
// name; $OA_TEST_NO_VALIDATION=1 runs without the layer.
std::unique_ptr<exec::Device> OpenDevice(const exec::DeviceOptions& options = {});

// Destroys the instance and returns the validation messages it gave.
std::vector<std::string> CloseInstance();

// A program and a session of it.
struct Running {
  std::unique_ptr<exec::Program> program;
  std::unique_ptr<exec::Session> session;
};

// Fails the test when either cannot be made.
Running Start(exec::Device& device, Plan plan, const exec::SessionOptions& options = {});

// Runs once and fails the test unless that succeeds. Inputs and outputs are f32.
std::vector<float> RunFor(exec::Session& session, const std::string& output,
                          const std::vector<float>& x);

// An empty folder that is removed with its content.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace oa::testing

#endif  // OA_TESTS_EXECUTOR_FIXTURE_H_
