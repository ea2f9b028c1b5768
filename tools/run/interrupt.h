// Ctrl-C during a run: the running step is finished and results are saved.
#ifndef OA_TOOLS_RUN_INTERRUPT_H_
#define OA_TOOLS_RUN_INTERRUPT_H_

namespace oa::tools {

// From now on the first SIGINT or SIGTERM only sets a flag; a second one ends the program at once.
void CatchInterrupts();

bool Interrupted();

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_INTERRUPT_H_
