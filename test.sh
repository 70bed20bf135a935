#!/bin/bash
# Installs what is missing, builds, and runs the tests.
#
#   ./test.sh                all that a change needs: build, format check, unit and property tests, replay, real clients, kill and
#                            disk tests, a thousand simulated seeds that are new with each commit, and a minute of those of a fleet
#   ./test.sh unit           the tests of `all`, without the format check, the benchmarks' build and the new seeds
#   ./test.sh release        everything else, before a release: both sanitizers, clang-tidy, libFuzzer, an hour of simulation, the
#                            black box, 200 harms to a fleet, 10 million images of a crash, and every bit flipped (half a day)
#   ./test.sh asan|tsan      the C++ tests and the suites of real daemons under sanitizers (with clang; builds a tree of its own)
#   ./test.sh tidy           clang-tidy over the sources
#   ./test.sh fuzz [SECONDS] libFuzzer on each target of tests/fuzz for that long (60), in the tree of `asan`; what it finds is
#                            in build/fuzz/found
#   ./test.sh sim [HOURS]    whole daemons in a simulation, on all cores, for that long (1); goes on where it stopped
#   ./test.sh long           the tests of `unit` with 200 kills and 5,000 seeds for each property test (about 20 minutes)
set -euo pipefail
cd "$(dirname "$0")"

install_missing() { # further kind of package, beside build and test
  local missing=() package
  for package in $(awk -v more="${1:-}" '$1 == "build" || $1 == "package" || $1 == "test" || $1 == more {print $2}' config/packages.txt); do
    # What stands on the PATH already (a node from elsewhere) need not come from Debian.
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' ||
      command -v "$package" >/dev/null || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local sudo=()
  if ((EUID != 0)); then sudo=(sudo); fi
  echo "Installing: ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

build() { # preset, options of CMake
  cmake --preset "$1" -DFRESHET_TESTS=ON "${@:2}" >/dev/null
  cmake --build --preset "$1"
}

# The kind `client` of the packages. Where one cannot be had, the tests that need it are skipped.
install_for_clients() {
  local package program missing=() sudo=()
  while read -r package program; do
    command -v "$program" >/dev/null || missing+=("$package")
  done < <(awk '$1 == "client" {print $2, $3}' config/packages.txt)
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then sudo=(sudo); fi
  echo "Installing for the clients of config/clients.txt: ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq || true
  for package in "${missing[@]}"; do
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >&2 ||
      echo "SKIPPED: the tests of clients that need $package: it could not be installed" >&2
  done
}

# Prometheus and promtool, for the dashboard and the alerts. They are only unpacked: the installed package would start a
# server on its well-known port.
prometheus() {
  local place=build/prometheus
  { command -v prometheus && command -v promtool; } >/dev/null && return 0
  [ -x "$place/usr/bin/prometheus" ] && return 0
  rm -rf "$place" && mkdir -p "$place"
  if ! (cd "$place" && { apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; }; } &&
    dpkg -x prometheus_*.deb . && rm prometheus_*.deb) >"$place/log" 2>&1; then
    echo "SKIPPED: the part of faults.monitoring that needs Prometheus: $place/log says why it is not there" >&2
  fi
}

pinned() { awk -v place="$1" '$1 == "npm" && $2 == place {print $3 "@" $4}' config/clients.txt; } # folder

# The AWS SDK for JavaScript, for the conformance tests; and, in a folder of its own, the one of 2021 that a sample
# application was written with. Kept in the build folder.
node_modules() {
  local current sample
  mapfile -t current < <(pinned .)
  mapfile -t sample < <(pinned sample)
  npm_install build/node client-lambda "${current[@]}" aws-xray-sdk@3 luxon uuid
  npm_install build/node/sample client-sns "${sample[@]}" aws-xray-sdk@3.3.3 luxon@1.26.0 uuid@8.3.2
  runtime_client
  browser_driver
  engines
}

# DynamoDB-compatible engines, for the tests of the remote store.
engines() {
  engine engines ExtendDB @extenddb/linux-x64/extenddb
  engine dynalite dynalite dynalite/cli.js
}
engine() { # folder, name, a file of it
  local place=build/node/$1 wanted
  wanted=$(pinned "$1")
  [ -e "$place/node_modules/$3" ] && return 0
  mkdir -p "$place"
  (cd "$place" && npm init -y && npm install --no-audit --no-fund "$wanted") >"$place/log" 2>&1 ||
    echo "SKIPPED: the tests on $2: $place/log says why it could not be installed" >&2
}

# What drives Chromium in the tests of the dashboard.
browser_driver() {
  local place=build/node/ui wanted
  mapfile -t wanted < <(pinned ui)
  [ -d "$place/node_modules/axe-core" ] && [ -d "$place/node_modules/playwright-core" ] && return 0
  mkdir -p "$place"
  (cd "$place" && npm init -y && npm install --no-audit --no-fund "${wanted[@]}") >/dev/null 2>&1 ||
    echo "SKIPPED: the tests of the dashboard: playwright-core and axe-core could not be installed in $place" >&2
}

npm_install() { # folder, package of @aws-sdk that shows that it is done, packages
  [ -d "$1/node_modules/@aws-sdk/$2" ] && return 0
  mkdir -p "$1"
  (cd "$1" && npm init -y && npm install --no-audit --no-fund "${@:3}") >/dev/null 2>&1 ||
    echo "the AWS SDK for JavaScript could not be installed in $1: its conformance tests are skipped" >&2
}

# The official runtime client for Node.js: a native build of about a minute, of which what runs is kept (1 MB of 160).
runtime_client() {
  local place=build/node/ric made=build/node/ric.part wanted
  wanted=$(pinned ric)
  [ -f "$place/node_modules/aws-lambda-ric/dist/rapid-client.node" ] && return 0
  rm -rf "$made" "$place" && mkdir -p "$made" "$place/node_modules"
  if (cd "$made" && npm init -y && npm install --no-audit --no-fund "$wanted") >"$made/log" 2>&1; then
    rm -rf "$made"/node_modules/aws-lambda-ric/{deps,build,src}
    mv "$made/node_modules/aws-lambda-ric" "$place/node_modules/" && rm -rf "$made"
  else
    echo "aws-lambda-ric could not be installed ($made/log says why): the tests of the official client are SKIPPED" >&2
  fi
}

unit() { ctest --preset "$1" -j2 --no-tests=error "${@:2}"; }

format() {
  git ls-files '*.cc' '*.h' | xargs clang-format --dry-run -Werror
}

# New inputs go to build/fuzz/corpus, so that the next run goes on from there; the seeds are only read.
fuzz() { # seconds for each target
  local target found=build/fuzz/found
  mkdir -p "$found"
  for target in number expression log http request zip template sigv4 partiql pattern fixture schedule; do
    echo "== $target" >&2
    mkdir -p "build/fuzz/corpus/$target"
    local words=()
    [ -f "tests/fuzz/$target.dict" ] && words=("-dict=tests/fuzz/$target.dict")
    "build/asan/tests/fuzz/fuzz_$target" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" "${words[@]}" \
      -max_total_time="$1" -max_len=8192 -len_control=0 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$found/$target-"
  done
}

# One process a core; each goes on behind the last seed that it did.
sim() { # hours
  local cores number running=() failed=0
  cores=$(nproc)
  mkdir -p build/sim
  for number in $(seq 1 "$cores"); do
    build/release/tests/sim/freshet_sim --seed "$((1000000 + number))" --stride "$cores" --state "build/sim/next.$number" \
      --seconds "$(awk -v hours="$1" 'BEGIN {print int(hours * 3600)}')" --shrink &
    running+=($!)
  done
  for number in "${running[@]}"; do wait "$number" || failed=1; done
  return "$failed"
}

# Seeds that nobody has run, drawn from what is committed: a commit has the same ones on each machine, so that you can
# repeat what CI saw. Without git they are drawn from the time. Each process prints its first seed.
new_seeds() { # seeds for all cores together, and seconds for those of a fleet
  local cores number first tree running=() failed=0
  cores=$(nproc)
  tree=$(git rev-parse 'HEAD^{tree}' 2>/dev/null || date +%s%N | sha1sum)
  first=$((16#${tree:0:10}))
  for number in $(seq 1 "$cores"); do
    build/release/tests/sim/freshet_sim --seed "$((first + number))" --stride "$cores" \
      --seeds "$(((${1} - number) / cores + 1))" --shrink &
    running+=($!)
  done
  for number in "${running[@]}"; do wait "$number" || failed=1; done
  running=()
  for number in $(seq 1 "$cores"); do
    build/release/tests/sim/freshet_fleet_sim --seed "$((first + number))" --stride "$cores" --seconds "$2" &
    running+=($!)
  done
  for number in "${running[@]}"; do wait "$number" || failed=1; done
  return "$failed"
}

# Each source by itself, so that the list of commands has them all.
tidy() {
  cmake --preset debug -DFRESHET_TESTS=ON >/dev/null
  git ls-files '*.cc' | grep -v '^bench/' | xargs -P"$(nproc)" -n4 clang-tidy --quiet -p build/debug \
    --extra-arg=-Wno-unknown-warning-option
}

# Every crash and every bit, on all cores.
damage() {
  local cores number running=() failed=0
  cores=$(nproc)
  for number in $(seq 0 "$((cores - 1))"); do
    GTEST_TOTAL_SHARDS="$cores" GTEST_SHARD_INDEX="$number" FRESHET_CRASH_IMAGES=2500000 FRESHET_EVERY_BIT=1 \
      build/release/tests/tests_tables --gtest_brief=1 --gtest_filter='*CrashPointsTest*:*EveryBitTest*' &
    running+=($!)
  done
  for number in "${running[@]}"; do wait "$number" || failed=1; done
  return "$failed"
}

# Each harm to the real daemon, from outside.
black_box() {
  PYTHONDONTWRITEBYTECODE=1 tests/faults/black_box_test.py --long --binary build/release/freshet \
    --bad-disk build/release/tests/libbad_disk.so --step-clock build/release/tests/libstep_clock.so
}

# The same to three daemons of a fleet. Without ExtendDB it is skipped, and says so.
black_box_of_fleet() {
  engines
  FRESHET_CHANGES=100 FRESHET_BINARY=build/release/freshet PYTHONDONTWRITEBYTECODE=1 tests/conformance/engine_fleet_test.py extenddb \
    FleetOfQueues.test_the_limit_holds_through_changes_of_owner || (($? == 77))
  PYTHONDONTWRITEBYTECODE=1 tests/faults/fleet_test.py --binary build/release/freshet --kills 100 --stops 50 --partitions 50 ||
    (($? == 77))
}

case "${1:-}" in
asan | tsan | fuzz | release) install_missing sanitizer ;;
*) install_missing ;;
esac
case "${1:-all}" in
all)
  format
  node_modules
  install_for_clients
  tests/conformance/install.sh
  prometheus
  build release -DFRESHET_BENCH=ON
  unit release
  new_seeds 1000 120
  ;;
unit)
  build release
  unit release
  ;;
asan | tsan)
  build "$1"
  unit "$1"
  ;;
tidy)
  tidy
  ;;
fuzz)
  cmake --preset asan -DFRESHET_TESTS=ON >/dev/null
  cmake --build --preset asan --target fuzz_targets
  fuzz "${2:-60}"
  ;;
sim)
  cmake --preset release -DFRESHET_TESTS=ON >/dev/null
  cmake --build --preset release --target freshet_simulation
  sim "${2:-1}"
  ;;
release)
  build release
  FRESHET_UI_MS=1000 unit release -R '^ui.many$'
  black_box
  black_box_of_fleet
  damage
  sim 1
  for tree in asan tsan; do
    build "$tree"
    unit "$tree"
  done
  tidy
  fuzz 600
  ;;
long)
  build release
  FRESHET_KILLS=200 FRESHET_SEEDS=5000 FRESHET_CHANGES=100 unit release
  ;;
-h | --help)
  sed -n '2,15s/^# \{0,1\}//p' "$0"
  ;;
*)
  echo "unknown part '$1'; see ./test.sh --help" >&2
  exit 2
  ;;
esac
