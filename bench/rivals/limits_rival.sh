#!/bin/bash
# A rival of `freshet demo limits --against NAME`: bullmq on Redis, postgres, sqs-pattern or lifo-sample on dynalite. Starts the
# server that it needs on a free port of 127.0.0.1, and its driver. Servers end with this script, however that ends.
#
# What it stores is in $LAB_DATA: killed and started again there, it goes on. npm's packages are installed into build/rivals, or
# into the user's cache where this file is part of an installation.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=$1
export TMPDIR=$LAB_DATA # What a kill leaves there goes with the demo's folder.

if [ -f "$here/../../CMakeLists.txt" ]; then
  node_dir=$here/../../build/rivals
else
  node_dir=${XDG_CACHE_HOME:-$HOME/.cache}/freshet/rivals
fi
source "$here/setup.sh"

missing=()
need() { # package program...
  local program
  for program in "${@:2}"; do [ -x "$program" ] || command -v "$program" >/dev/null || missing+=("$1"); done
}
postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1 || true)
driver=limits_driver.mjs
case "$name" in
bullmq) need redis-server redis-server; modules=(bullmq@5) ;;
postgres) need postgresql "$postgres_bin/initdb"; modules=(pg@8) ;;
sqs-pattern) modules=(dynalite@4 @aws-sdk/client-dynamodb@3) ;;
lifo-sample)
  if [ ! -f "${LIFO_SAMPLE:-}/app/process_tasks.js" ]; then
    echo "LIFO_SAMPLE must name a clone of github.com/aws-samples/serverless-lifo-queue-demonstration" >&2
    exit 1
  fi
  driver=limits_sample.mjs
  modules=(dynalite@4 @aws-sdk/client-dynamodb@3 @aws-sdk/client-sns@3 aws-xray-sdk@3 luxon@2 serialize-error@8)
  ;;
*) echo "unknown rival '$name': there are bullmq, postgres, sqs-pattern and lifo-sample" >&2; exit 2 ;;
esac
need nodejs node
need npm npm
need python3 python3
if ((${#missing[@]})); then
  echo "$name needs what is not installed: apt-get install ${missing[*]}" >&2
  exit 1
fi
install_modules "${modules[@]}"

# Killed with this script: setpriv tells the kernel.
start() { # user command...
  local as=(setpriv --pdeathsig KILL) user=$1
  shift
  if [ -n "$user" ] && ((EUID == 0)); then as=(setpriv --reuid="$user" --regid="$user" --clear-groups setpriv --pdeathsig KILL); fi
  "${as[@]}" "$@" >>"$LAB_DATA/server.log" 2>&1 &
  pids+=($!)
}
wait_port() { # command...: what says that the server is there
  until "$@" 2>/dev/null; do
    kill -0 "${pids[-1]}" 2>/dev/null || { tail -5 "$LAB_DATA/server.log" >&2; exit 1; }
    sleep 0.02
  done
}
is_open() { (exec 3<>/dev/tcp/127.0.0.1/"$port"); }

port=$(free_port)
data=$LAB_DATA/$name
chmod 755 "${LAB_DATA%/*}" "$LAB_DATA" # PostgreSQL refuses to run as root, and has to reach its folder.
case "$name" in
bullmq)
  mkdir -p "$data"
  start "" redis-server --bind 127.0.0.1 --port "$port" --dir "$data" --save "" --appendonly yes --appendfsync everysec \
    --maxmemory-policy noeviction
  wait_port is_open
  ;;
sqs-pattern | lifo-sample)
  start "" node "$node_dir/node_modules/dynalite/cli.js" --host 127.0.0.1 --port "$port" --path "$data" --createTableMs 0
  wait_port is_open
  ;;
postgres)
  if [ ! -d "$data" ]; then
    mkdir "$data"
    as_user=()
    if ((EUID == 0)); then
      chown postgres: "$data"
      as_user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    fi
    "${as_user[@]}" "$postgres_bin/initdb" -D "$data" -A trust -U postgres >"$LAB_DATA/initdb.log" 2>&1 ||
      { cat "$LAB_DATA/initdb.log" >&2; exit 1; }
  fi
  # Processes of a server that was killed may still hold its memory for a moment.
  for _ in $(seq 100); do
    start postgres "$postgres_bin/postgres" -D "$data" -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories="$data"
    until "$postgres_bin/pg_isready" -q -h 127.0.0.1 -p "$port" || ! kill -0 "${pids[-1]}" 2>/dev/null; do sleep 0.02; done
    kill -0 "${pids[-1]}" 2>/dev/null && break
  done
  kill -0 "${pids[-1]}" 2>/dev/null || { tail -5 "$LAB_DATA/server.log" >&2; exit 1; }
  ;;
esac
trap - EXIT
rm -rf "$work"
export NODE_NO_WARNINGS=1 # The SDK speaks of its plans.
exec setpriv --pdeathsig KILL node "$here/$driver" "$name" "$port"
