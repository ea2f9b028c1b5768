// An outside project: records, compiles for the portable profile, lists devices.
#include <cstdio>

#include "executor/device.h"
#include "frontend/oa.h"
#include "ir/compile.h"

int main(int, char** argv) {
  oa::Graph graph("outside");
  const oa::Matrix x = graph.Input("x", oa::F32, {2, 3});
  const oa::Result<oa::Matrix> y = oa::ml::matrix::silu(x);
  if (!y.ok()) return 1;
  graph.Output("y", *y);
  const absl::StatusOr<oa::KernelPack> pack = oa::KernelPack::Load(argv[1]);
  if (!pack.ok() || !oa::ir::Compile(graph.ir(), *pack, {}).ok()) return 1;
  const auto instance = oa::exec::Instance::Create({});
  if (!instance.ok() || !(*instance)->EnumerateDevices().ok()) return 1;
  return graph.Save("outside.oag").ok() ? 0 : 1;
}
