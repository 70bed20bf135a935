#!/bin/bash
# The whole life of a task beside the rivals, alternating in one run: Redis lists (appendfsync always), beanstalkd -f0, BullMQ
# on Redis, dynalite. Prints each run as a JSON line and then medians and ratios. Everything is on 127.0.0.1 and ends by itself.
#
#   bench/rivals/run.sh [RUNS]        5 unless said; about a minute per run
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-5}
build=build/release

source bench/rivals/setup.sh
install_missing bench libbenchmark-dev
cmake --preset release -DFRESHET_BENCH=ON >/dev/null && cmake --build --preset release --target freshet rivals_whole_life >&2
install_modules bullmq@5 dynalite@4 @aws-sdk/client-dynamodb@3

wait_port() { until (exec 3<>/dev/tcp/127.0.0.1/"$1") 2>/dev/null; do kill -0 "${pids[-1]}"; done; }
start() { "$@" >"$work/log" 2>&1 & pids+=($!); }
stop() { kill "${pids[-1]}" && wait "${pids[-1]}" 2>/dev/null || true; unset 'pids[-1]'; }

whole_life() { # kind tasks producers batch workers batch
  local port; port=$(free_port)
  local data; data=$(mktemp -d -p "$work")
  case $1 in
  freshet)
    start $build/freshet run config/lifo.yaml --set ProcessTasksFunction.TASK_RUNNER=none --data "$data/store" --listen "127.0.0.1:$port" --ready-file "$data/ready" --log-level warn
    until [ -f "$data/ready" ]; do kill -0 "${pids[-1]}"; sleep 0.02; done ;;
  redis) start redis-server --bind 127.0.0.1 --port "$port" --dir "$data" --save "" --appendonly yes --appendfsync always; wait_port "$port" ;;
  beanstalkd) start beanstalkd -l 127.0.0.1 -p "$port" -b "$data" -f 0; wait_port "$port" ;;
  esac
  $build/bench/rivals_whole_life "$1" "$port" "${@:2}"
  stop
}
node_rival() { # kind tasks batch in-flight concurrency
  local port; port=$(free_port)
  local data; data=$(mktemp -d -p "$work")
  case $1 in
  bullmq) start redis-server --bind 127.0.0.1 --port "$port" --dir "$data" --save "" --appendonly yes --appendfsync always --maxmemory-policy noeviction ;;
  dynalite) start node $node_dir/node_modules/dynalite/cli.js --host 127.0.0.1 --port "$port" --createTableMs 0 ;;
  esac
  wait_port "$port"
  node bench/rivals/node_rivals.mjs "$1" "$port" "${@:2}"
  stop
}

for ((i = 1; i <= runs; ++i)); do
  whole_life freshet 60000 32 1 32 1
  whole_life redis 60000 32 1 32 1
  whole_life beanstalkd 15000 32 1 32 1
  whole_life freshet 300000 4 64 4 64
  whole_life redis 300000 4 64 4 64
  whole_life beanstalkd 30000 4 64 4 64
  node_rival bullmq 20000 100 4 100
  node_rival dynalite 1000 1 16 10
done | tee "$work/results"

python3 - "$work/results" <<'PY'
import json, statistics, sys
groups = {}
for line in open(sys.argv[1]):
    r = json.loads(line)
    assert r["ok"], r
    groups.setdefault((r["kind"], "one at a time" if r.get("create_batch") == 1 and r["kind"] != "dynalite" else "batches"), []).append(r["tasks_per_s"])
median = {k: statistics.median(v) for k, v in groups.items()}
print("\nwhole life of a task, everything synced before it is acknowledged (dynalite syncs nothing)")
for (kind, how), value in sorted(median.items(), key=lambda x: (x[0][1], -x[1])):
    print(f"  {how:14s} {kind:11s} {value:9.0f} tasks/s")
best = lambda kind: max(v for (k, _), v in median.items() if k == kind)
for text, ours, theirs, want in (
        ("Redis lists, one at a time", median["freshet", "one at a time"], median["redis", "one at a time"], 0.5),
        ("Redis lists, 64 in a batch", median["freshet", "batches"], median["redis", "batches"], 0.7),
        ("beanstalkd -f0 (its best)", best("freshet"), best("beanstalkd"), 2),
        ("BullMQ", best("freshet"), best("bullmq"), 3),
        ("dynalite", best("freshet"), best("dynalite"), 100)):
    print(f"  {ours / theirs:7.2f} x {text} (wanted: {want} x)")
PY
