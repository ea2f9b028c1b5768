#!/usr/bin/env bash
# Trains an example from its saved graphs, all of them in the same way: a C++ program records the
# graphs, oa-compile makes plans of them, oa-run replays the training step on mini-batches and the
# evaluation on held-out data. Fails when the held-out result misses the example's goal.
#
#   frontend/examples/run.sh EXAMPLE [--short] [--device NAME]
#
# --short trains less, for tests. $BIN and $OUT are the folders of the programs and of what is
# written. What differs between examples is in EXAMPLE/example.sh, see README.md.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' >&2
  echo "examples: $(cd frontend/examples && echo */example.sh | sed 's|/example.sh||g')" >&2
  exit 2
}
step() { printf '\n== %s\n' "$*"; }
exec 3>&1
show() { printf '+ %s\n' "$*" >&3; "$@"; }

[ $# -ge 1 ] && [ -f "frontend/examples/$1/example.sh" ] || usage
name=$1; shift
short=no
device=()
while [ $# -gt 0 ]; do
  case $1 in
    --short) short=yes ;;
    --device) [ $# -ge 2 ] || usage; device=(--device "$2"); shift ;;
    *) usage ;;
  esac
  shift
done

bin=${BIN:-build/release/bin}
out=${OUT:-build/release/$name}
data=frontend/examples/data
mkdir -p "$out"

# What an example may define besides its lists of arguments.
prepare() { :; }  # makes the data
finish() { :; }   # shows the trained model at work
. "frontend/examples/$name/example.sh"
[ $short = no ] || { train=("${short_train[@]}"); goal=$short_goal; }

step "record: a C++ program writes the graphs"
show "$bin/record_$name" "$out"

step "compile: graph -> plan"
"$bin/oa-run" devices --profile ${device[@]+"${device[1]}"} > "$out/device.json"
for graph in "$out/${name}"_*.oag; do
  show "$bin/oa-compile" "$graph" -o "${graph%.oag}.oax" --device "$out/device.json" --quiet
done

step "train: replay on mini-batches"
prepare
show "$bin/oa-run" "$out/${name}_train.oax" ${device[@]+"${device[@]}"} "${train[@]}" \
  --save-params "$out/$name.safetensors"

step "evaluate: data never seen in training"
show "$bin/oa-run" "$out/${name}_eval.oax" ${device[@]+"${device[@]}"} "${held_out[@]}" \
  --params "$out/$name.safetensors" --json > "$out/held_out.json"
finish

# goal is "OUTPUT >= NUMBER" or "OUTPUT <= NUMBER", about the mean or count over the held-out data.
read -r metric relation bound <<< "$goal"
value=$(sed -n "s/.*\"event\":\"epoch\".*\"$metric\":\([-+.0-9e]*\).*/\1/p" "$out/held_out.json")
printf '\n'
if awk "BEGIN { exit !(\"$value\" != \"\" && $value+0 $relation $bound) }"; then
  echo "$name: held-out $metric $value reaches the goal, $goal"
else
  echo "$name: held-out $metric $value misses the goal, $goal" >&2
  exit 1
fi
