#!/usr/bin/env bash
# Builds the fuzz targets and runs each of them for some seconds: run.sh SECONDS [TARGET ...]
#
# The flags are those that `cargo fuzz` sets, less the sanitizer: the core has no unsafe code, and so a stable compiler
# does. Needs a C++ compiler for libFuzzer itself. What is found, and the inputs that reached something new, lie under
# target/fuzz; an input that was found runs again with `target/fuzz/<host>/release/<target> <file>`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=$1
shift
targets=("$@")
[ $# -gt 0 ] || targets=(record controller)

host=$(rustc --version --verbose | sed -n 's/^host: //p')
flags=(-Cpasses=sancov-module -Ccodegen-units=1)
for option in level=4 inline-8bit-counters pc-table trace-compares; do
  flags+=("-Cllvm-args=-sanitizer-coverage-$option")
done
export CARGO_TARGET_DIR=target/fuzz
# With a target named, build scripts and macros are not instrumented.
RUSTFLAGS="${flags[*]}" cargo build --manifest-path rust/fuzz/Cargo.toml --locked --quiet --release --target "$host"

rm -rf target/fuzz/seeds
"${PYTHON:-python3}" rust/fuzz/seeds.py target/fuzz/seeds/record
mkdir -p target/fuzz/{seeds,corpus}/controller target/fuzz/corpus/record target/fuzz/found
for target in "${targets[@]}"; do
  echo "$target, $seconds s"
  log="target/fuzz/$target.log"
  if ! "target/fuzz/$host/release/$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="target/fuzz/found/$target-" -print_final_stats=1 \
    "target/fuzz/corpus/$target" "target/fuzz/seeds/$target" >"$log" 2>&1; then
    tail -n 60 "$log"
    exit 1
  fi
  grep -E '^(stat::number_of_executed_units|stat::new_units_added)' "$log"
done
