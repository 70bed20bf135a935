#!/bin/bash
# The overload lab in real time, beside rivals: the same tasks at the same times, the same HTTP handler with 16 slots, one after the
# other in one run. Freshet as it comes, FIFO (Freshet with ORDER=fifo), BullMQ with `lifo` on Redis, beanstalkd with falling
# priorities, PostgreSQL with ORDER BY created DESC ... SKIP LOCKED; each syncs what it acknowledges. Everything is on 127.0.0.1 and
# ends by itself. Prints a table; options go to `freshet bench overload`.
#
#   bench/rivals/overload.sh [--load 0.8,2,10] [--seconds 8] [--html FILE] ...
set -euo pipefail
cd "$(dirname "$0")/../.."

source bench/rivals/setup.sh
install_missing bench overload
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build --preset release --target freshet >&2
install_modules bullmq@5 pg@8

start() { # log port command...
  "${@:3}" >"$work/$1.log" 2>&1 &
  pids+=($!)
  until (exec 3<>/dev/tcp/127.0.0.1/"$2") 2>/dev/null; do
    kill -0 "${pids[-1]}" || { cat "$work/$1.log" >&2; exit 1; }
    sleep 0.05
  done
}

# PostgreSQL refuses to run as root.
chmod 755 "$work"
mkdir "$work/redis" "$work/beanstalkd" "$work/postgres"
as_user=()
if ((EUID == 0)); then
  chown postgres: "$work/postgres"
  as_user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
postgres_bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
"${as_user[@]}" "$postgres_bin/initdb" -D "$work/postgres" -A trust -U postgres >"$work/initdb.log" 2>&1 || { cat "$work/initdb.log" >&2; exit 1; }

redis_port=$(free_port)
start redis "$redis_port" redis-server --bind 127.0.0.1 --port "$redis_port" --dir "$work/redis" --save "" --appendonly yes --appendfsync always --maxmemory-policy noeviction
beanstalkd_port=$(free_port)
start beanstalkd "$beanstalkd_port" beanstalkd -l 127.0.0.1 -p "$beanstalkd_port" -b "$work/beanstalkd" -f 0
postgres_port=$(free_port)
start postgres "$postgres_port" "${as_user[@]}" "$postgres_bin/postgres" -D "$work/postgres" -p "$postgres_port" \
  -c listen_addresses=127.0.0.1 -c unix_socket_directories="$work/postgres" -c shared_buffers=256MB -c synchronous_commit=on
until "$postgres_bin/pg_isready" -q -h 127.0.0.1 -p "$postgres_port"; do sleep 0.05; done

# What all of them wait for: how long a sync takes here, and how busy the machine is.
sync_time() {
  python3 - "$work/sync" <<'PY' >&2
import os, statistics, sys, time
took = []
with open(sys.argv[1], "wb", buffering=0) as file:
    for _ in range(200):
        file.write(bytes(4096))
        before = time.perf_counter()
        os.fdatasync(file.fileno())
        took.append((time.perf_counter() - before) * 1000)
took.sort()
print(f"fdatasync of 4 KB: p50 {statistics.median(took):.2f} ms, p99 {took[197]:.2f} ms; load of the machine {os.getloadavg()[0]:.1f}")
PY
}
sync_time
driver="node bench/rivals/overload_driver.mjs"
build/release/freshet bench overload --real --policy clairvoyant,fifo,freshet \
  --rival "BullMQ lifo=$driver bullmq $redis_port" \
  --rival "beanstalkd=$driver beanstalkd $beanstalkd_port" \
  --rival "PostgreSQL=$driver postgres $postgres_port" "$@"
sync_time
