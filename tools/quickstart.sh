#!/usr/bin/env bash
# From a fresh Debian 12 to a trained classifier: builds OA, records a training and an evaluation
# graph of a digits classifier, compiles both, trains by replaying, evaluates on held-out rows.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "packages"
tools/setup.sh

step "build"
cmake --preset release -DOA_BUILD_TESTS=OFF
cmake --build --preset release

bin=build/release/bin
out=build/release/digits
data=frontend/examples/data
mkdir -p "$out"
started=$(date +%s)

step "record: a C++ program writes the graphs"
"$bin/record_digits" "$out"

step "compile: graph -> plan"
"$bin/oa-run" devices --profile > "$out/device.json"
"$bin/oa-compile" "$out/digits_train.oag" -o "$out/digits_train.oax" --device "$out/device.json"
"$bin/oa-compile" "$out/digits_eval.oag" -o "$out/digits_eval.oax" --device "$out/device.json"

step "train: replay on mini-batches of the first 1,437 images"
"$bin/oa-run" "$out/digits_train.oax" \
  --stream "images=@$data/digits_images.npy[0:1437]" \
  --stream "labels=@$data/digits_labels.npy[0:1437]" \
  --epochs 12 --shuffle 7 --save-params "$out/digits.safetensors"

step "evaluate: the last 360 images, never seen in training"
"$bin/oa-run" "$out/digits_eval.oax" \
  --stream "images=@$data/digits_images.npy[1437:1797]" \
  --stream "labels=@$data/digits_labels.npy[1437:1797]" \
  --params "$out/digits.safetensors" --output "predicted=@$out/predicted.npy"

step "done in $(($(date +%s) - started)) s after the build; try next"
echo "  $bin/oa-run inspect $out/digits_train.oax --format html -o $out/plan.html"
echo "  $bin/oa-run bench $out/digits_train.oag --iterations 50"
echo "  $bin/oa-run --help"
