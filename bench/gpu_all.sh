#!/usr/bin/env bash
# Everything that only a GPU can show, part by part: what the tests of a machine without one leave out, and the figures
# of bench/results. On an H200 about: zoo 450 to 520 s, aa 320 to 360, tools 85, builds 75 to 200,
# quickstart 70 to 100, memory, device and sanitizer 15 together, large 55, assumptions 30, baselines 120, run 120, modules 450.
# On an H100 zoo takes 485 to 600, aa 340 to 455, speed 243, builds 75 to 230, standard 385 to 425, native 160, modules more than 585.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PARTS="aa networks device zoo tools agents pairs speed memory sanitizer large native quickstart builds baselines run steps load modules standard assumptions"
usage() {
  cat <<TEXT
usage: bench/gpu_all.sh [--binary KERNELBENCH] [--out DIR] [PART...]

  --binary FILE  default build/release/bin/kernelbench; an installed tree will do
  --out DIR      where each part leaves PART.txt with all that it printed, and those that time evaluations PART.jsonl with
                 every round of them; default build/gpu

Parts, in this order if none is named:
  aa           twelve modules from 5 us to 50 ms against themselves under strict, ten times each by two engines
  networks     seven whose calls take as long as their launches, under quick
  device       kb_gpu_test: the device library against the CPU's
  zoo          tests/gpu/run
  tools        tests/gpu/tools: profile and --sanitize
  agents       tests/gpu/agents: commands of an agent that use the GPU
  pairs        tests/gpu/keep_triton: baseline --keep-triton
  speed        one evaluation under strict and quick, in a running engine and as a cold command
  memory       poison and compare against the copy rate, twice
  sanitizer    compute-sanitizer over kb_gpu_test
  large        those of levels 1 to 3 with the most inputs and outputs are judged; 1/45 is refused with 20 GB
  native       native kernels against themselves under strict, ten times each
  quickstart   the GPU part of ./quickstart
  builds       .cu candidates, by NVRTC and by nvcc; a load_inline candidate, by PyTorch and by the engine
  baselines    2/1 against each baseline, and timed by each of KernelBench's methods
  run          256 native candidates
  steps        60 modules, and which step took how long
  load         bench/load.py, which goes on where it was interrupted
  modules      270 modules against themselves in one run, under strict
  standard     levels 1 to 3 at size standard against themselves in one run, under quick: does each fit this GPU?
  assumptions  bench/cuda/assumptions.cu: what the CUDA device rests on

Exit status: 0 all parts ended well, 1 one did not, 2 wrong arguments
TEXT
}

binary=${KERNELBENCH_BINARY:-build/release/bin/kernelbench} out=build/gpu
while [[ ${1:-} == -* ]]; do
  case $1:${2:-} in
    --binary:?*) binary=$2 ;;
    --out:?*) out=$2 ;;
    -h:* | --help:*) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift 2
done
for part in "$@"; do
  [[ " $PARTS " == *" $part "* ]] || { echo "gpu_all.sh: there is no part $part; --help lists them" >&2 && exit 2; }
done
[[ -x $binary ]] || { echo "gpu_all.sh: there is no program $binary: build it, or say --binary" >&2 && exit 2; }
KERNELBENCH_BINARY=$(realpath "$binary")
export KERNELBENCH_BINARY
mkdir -p "$out"
LIBRARIES=$(dirname "$(dirname "$KERNELBENCH_BINARY")")/libexec/kernelbench # of an installed tree

# Where a program is that is built with the tests: beside the binary or in a build folder.
built() {
  local folder
  for folder in "$(dirname "$KERNELBENCH_BINARY")" build/release/bin build/dev/bin; do
    [[ -x $folder/$1 ]] && echo "$folder/$1" && return
  done
  echo "no $1 was built" >&2
  return 1
}
# Runs it, with its arguments.
built_run() {
  local program
  program=$(built "$1") && LD_LIBRARY_PATH=$LIBRARIES "$program" "${@:2}"
}

aa() {
  bench/aa.py --device cuda --protocol strict --runs 10 --engines 2 \
    --problems bench/problems/relu_64k.py@standard,1/42,1/19,v3:1/14@standard,v3:1/3@standard,v3:1/13@standard,v3:1/1@standard,v3:2/3@standard,1/1@standard,1/23@standard,v3:3/3@standard,modern:12@standard \
    -- --half-width 0.005
}
networks() { bench/aa.py --device cuda --runs 10 --problems 1/1,1/36,2/40,3/43,3/9@standard,3/15@standard,3/16@standard; }
device() { built_run kb_gpu_test; }
zoo() { tests/gpu/run --binary "$KERNELBENCH_BINARY" --markdown "$out/zoo.md"; }
tools() { tests/gpu/tools --binary "$KERNELBENCH_BINARY"; }
agents() { tests/gpu/agents --binary "$KERNELBENCH_BINARY"; }
pairs() { tests/gpu/keep_triton --binary "$KERNELBENCH_BINARY" --file "$out/pairs.kept.jsonl"; }
speed() { bench/gpu_speed.py; }
memory() { built_run kb_gpu_memory_bench && built_run kb_gpu_memory_bench; }
sanitizer() {
  local program
  program=$(built kb_gpu_test) && LD_LIBRARY_PATH=$LIBRARIES compute-sanitizer --error-exitcode 1 "$program"
}
native() { bench/aa.py --native --runs 10 --protocol strict -- --half-width 0.005; }
# It has to find the GPU by itself.
quickstart() {
  python3 scripts/quickstart.py --binary "$KERNELBENCH_BINARY" | tee "$out/quickstart.found" && grep -q ' on the GPU' "$out/quickstart.found"
}
builds() {
  # Where the toolkit has no NVRTC the engine takes PyTorch's; the benchmark has to be told.
  [[ -n ${KERNELBENCH_NVRTC:-} ]] || KERNELBENCH_NVRTC=$("${KERNELBENCH_PYTHON:-python3}" -c 'import glob, nvidia
print(*glob.glob(f"{list(nvidia.__path__)[0]}/*/lib/libnvrtc.so.1?")[:1])')
  export KERNELBENCH_NVRTC
  built_run kb_native_build_bench tests/gpu/correct/1_19_relu.cu examples/1_14_triangular/tiles.cu examples/1_36_rmsnorm/fused.cu \
    tests/gpu/honest/native/cooperative_grid.cu &&
    built_run kb_native_build_bench --without-nvcc examples/*/*.cu && bench/inline_build.py --runs 1
}
assumptions() { nvcc -O2 -std=c++20 -o "$out/assumptions" bench/cuda/assumptions*.cu -lcuda && "$out/assumptions"; }
run() { bench/run_speed.py native --device cuda --faster --count 256; }

steps() { bench/run_speed.py modules --device cuda --count 60 --steps; }
load() { bench/load.py --device cuda --directory "$out/load"; }

modules() { bench/aa_modules.py --device cuda -- --round-checks 10,14,20; }

standard() { bench/aa_modules.py --device cuda --problems level1,level2,level3 --size standard --protocol quick; }

# A reference as its own candidate: its answer takes as much memory as the reference's.
large() {
  local problem file refused
  for problem in 1/45 1/49 1/38 1/36 1/76 1/87 1/63; do
    file=$("$KERNELBENCH_BINARY" problems list "$problem" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["file"])')
    { cat "$file" && printf '\n\nclass ModelNew(Model):\n    pass\n'; } >"$out/self_${problem//\//_}.py" || return 1
    "$KERNELBENCH_BINARY" eval "$problem" "$out/self_${problem//\//_}.py" --protocol quick --device cuda --no-store || return 1
  done
  refused=0
  "$KERNELBENCH_BINARY" eval 1/45 "$out/self_1_45.py" --device cuda --device-memory 20 --no-store || refused=$?
  echo "1/45 with 20 GB ends with $refused; it must be 2"
  [[ $refused == 2 ]]
}

baselines() {
  local candidate=bench/candidates/2_1_conv.py value
  for value in eager-fp32 compile-default compile-reduce-overhead compile-max-autotune; do
    "$KERNELBENCH_BINARY" eval 2/1 $candidate --device cuda --protocol quick --no-store --quiet --verbose --baseline $value || return 1
  done
  for value in host_time cuda_event do_bench do_bench_impl; do
    "$KERNELBENCH_BINARY" eval 2/1 $candidate --device cuda --protocol quick --no-store --quiet --verbose --timing $value || return 1
  done
}

failed=0
for part in ${*:-$PARTS}; do
  start=$SECONDS status=ok
  rm -f "$out/$part.jsonl"
  KEEP_EVALUATIONS=$out/$part.jsonl "$part" >"$out/$part.txt" 2>&1 || { status=FAILED && failed=1; }
  echo "==== $part: $status, $((SECONDS - start)) s ($out/$part.txt)"
  tail -n 25 "$out/$part.txt"
done
exit $failed
