// Reporter: what a run tells on stdout, as text or as JSON Lines. Not thread-safe.
#ifndef OA_TOOLS_RUN_REPORTER_H_
#define OA_TOOLS_RUN_REPORTER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "executor/device.h"
#include "executor/program.h"
#include "executor/session.h"
#include "schema/plan.h"
#include "tools/common/describe_json.h"
#include "tools/common/scalars.h"

namespace oa::tools {

class Reporter {
 public:
  Reporter(bool json, bool quiet) : json_(json), quiet_(quiet) {}

  bool json() const { return json_; }
  bool shows_text() const { return !json_ && !quiet_; }

  // One line of text; nothing in JSON or quiet mode.
  void Text(absl::string_view line);
  // One JSON object; nothing in text mode. {"event": `event`} is put in front.
  void Event(absl::string_view event, OrderedJson fields);
  // A sentence on stderr, also in JSON mode.
  void Note(absl::string_view sentence);

  void Start(const exec::DeviceInfo& device, const exec::Program& program);
  void Step(uint64_t step, const Scalars& scalars);
  struct EpochFigures {
    uint64_t epoch = 0, epochs = 0, steps = 0, rows = 0;
    double seconds = 0;
  };
  void Epoch(const EpochFigures& figures, const Scalars& scalars);
  // `path` "" when the value was not written to a file.
  void Output(const PlanIo& io, absl::Span<const uint8_t> bytes, const std::string& path);
  void Saved(absl::string_view what, const std::string& path, uint64_t tensors);
  void Final(uint64_t steps, double seconds, bool interrupted);

 private:
  bool json_;
  bool quiet_;
};

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_REPORTER_H_
