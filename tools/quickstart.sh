#!/usr/bin/env bash
# From a fresh Debian 12 to a trained classifier: packages, build, then the digits example, which
# records, compiles, trains by replaying and evaluates on images never seen (frontend/examples).
set -euo pipefail
cd "$(dirname "$0")/.."

printf '\n== packages\n'
tools/setup.sh

printf '\n== build\n'
cmake --preset release -DOA_BUILD_TESTS=OFF
cmake --build --preset release

frontend/examples/run.sh digits

cat <<'END'

Try next
  frontend/examples/run.sh transformer   # a sparse Transformer that writes text
  build/release/bin/oa-run inspect build/release/digits/digits_train.oax --format html -o plan.html
  build/release/bin/oa-run bench build/release/digits/digits_train.oag --iterations 50
  build/release/bin/oa-run --help
END
