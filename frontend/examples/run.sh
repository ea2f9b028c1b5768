#!/usr/bin/env bash
# Trains an example from its saved graphs and checks it on data that it has never seen.
#
#   frontend/examples/run.sh EXAMPLE [--short] [--device NAME]
#
# All examples run in the same way: a C++ program records the graphs, oa-compile makes plans of
# them, oa-run replays the training step on mini-batches and then the evaluation. Exit code 1 means
# that the held-out result misses the example's goal.
#
#   --short        train less and ask for less, as the tests do
#   --device NAME  index or part of the name, see `oa-run devices`
#   BIN=FOLDER     where the programs are (build/release/bin)
#   OUT=FOLDER     where graphs, plans and parameters go (build/release/EXAMPLE)
#
set -euo pipefail
cd "$(dirname "$0")/../.."

examples() { (cd frontend/examples && echo */example.sh | sed 's|/example.sh||g'); }
usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
  echo "Examples: $(examples)"
}
fail() { printf 'run.sh: %s\n' "$*" >&2; exit 2; }
step() { printf '\n== %s\n' "$*"; }
exec 3>&1
show() { printf '+ %s\n' "$*" >&3; "$@"; }

name= short=no device=()
while [ $# -gt 0 ]; do
  case $1 in
    -h|--help) usage; exit 0 ;;
    --short) short=yes ;;
    --device)
      [ $# -ge 2 ] || fail "--device wants an index or a name, see \`oa-run devices\`"
      device=(--device "$2"); shift ;;
    -*) fail "unknown option '$1'; there are --short, --device NAME and --help" ;;
    *)
      [ -z "$name" ] || fail "one example at a time: '$name' or '$1'"
      name=$1 ;;
  esac
  shift
done
[ -n "$name" ] || { usage >&2; exit 2; }
[ -f "frontend/examples/$name/example.sh" ] ||
  fail "there is no example '$name'; there are $(examples)"

bin=${BIN:-build/release/bin}
out=${OUT:-build/release/$name}
data=frontend/examples/data

# What an example may define besides its lists of arguments, see README.md.
programs=("record_$name" oa-compile oa-run)
prepare() { :; }  # makes the data
finish() { :; }   # shows the trained model at work
. "frontend/examples/$name/example.sh"
[ $short = no ] || { train=("${short_train[@]}"); goal=$short_goal; }

for program in "${programs[@]}"; do
  [ -x "$bin/$program" ] ||
    fail "$bin/$program is not built; cmake --preset release && cmake --build --preset release"
done
mkdir -p "$out"
started=$(date +%s)

step "record: a C++ program writes the graphs"
show "$bin/record_$name" "$out"

step "compile: graph -> plan"
"$bin/oa-run" devices --profile ${device[@]+"${device[1]}"} > "$out/device.json"
for graph in "$out/$name"_{train,eval,generate}.oag; do
  [ -f "$graph" ] || continue  # classifiers have nothing to generate
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

# goal is "OUTPUT RELATION NUMBER", for example "correct >= 350", over all held-out data.
read -r metric relation bound <<< "$goal"
value=$(sed -n "s/.*\"event\":\"epoch\".*\"$metric\":\([-+.0-9e]*\).*/\1/p" "$out/held_out.json")
[ -n "$value" ] || fail "the evaluation reports no '$metric', see $out/held_out.json"
took="$(($(date +%s) - started)) s"
printf '\n'
if awk "BEGIN { exit !($value $relation $bound) }"; then
  echo "$name: held-out $metric $value reaches the goal, $goal ($took)"
else
  echo "$name: held-out $metric $value misses the goal, $goal ($took)" >&2
  exit 1
fi
