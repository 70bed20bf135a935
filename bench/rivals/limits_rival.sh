#!/bin/bash
# A rival of `freshet demo limits --against NAME`: bullmq on Redis, postgres, or sqs-pattern on dynalite. Starts the server that it needs
# on a free port of 127.0.0.1, and the driver (limits_driver.mjs). The server ends with this script, however that ends.
set -euo pipefail
cd "$(dirname "$0")/../.."

name=$1
export TMPDIR=${LAB_ARRIVALS%/*} # Removed when the demo ends.
chmod 755 "$TMPDIR"
source bench/rivals/setup.sh
case "$name" in
bullmq) packages=(redis-server) modules=(bullmq@5) ;;
postgres) packages=(postgresql) modules=(pg@8) ;;
sqs-pattern) packages=() modules=(dynalite@4 @aws-sdk/client-dynamodb@3) ;;
*) echo "unknown rival '$name': there are bullmq, postgres and sqs-pattern" >&2; exit 2 ;;
esac
install_missing none "${packages[@]}"
install_modules "${modules[@]}"

port=$(free_port)
chmod 755 "$work"
mkdir "$work/$name"
# Killed with this script: setpriv tells the kernel.
start() { # user command...
  local as=(setpriv --pdeathsig KILL) user=$1
  shift
  if [ -n "$user" ] && ((EUID == 0)); then as=(setpriv --reuid="$user" --regid="$user" --clear-groups setpriv --pdeathsig KILL); fi
  "${as[@]}" "$@" >"$work/server.log" 2>&1 &
  pids+=($!)
  until (exec 3<>/dev/tcp/127.0.0.1/"$port") 2>/dev/null; do
    kill -0 "${pids[-1]}" || { cat "$work/server.log" >&2; exit 1; }
    sleep 0.05
  done
}

case "$name" in
bullmq)
  start "" redis-server --bind 127.0.0.1 --port "$port" --dir "$work/$name" --save "" --appendonly yes --appendfsync everysec --maxmemory-policy noeviction
  ;;
postgres)
  bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
  as_user=()
  if ((EUID == 0)); then
    chown postgres: "$work/$name"
    as_user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  fi
  "${as_user[@]}" "$bin/initdb" -D "$work/$name" -A trust -U postgres >"$work/initdb.log" 2>&1 || { cat "$work/initdb.log" >&2; exit 1; }
  start postgres "$bin/postgres" -D "$work/$name" -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories="$work/$name"
  until "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; do sleep 0.05; done
  ;;
esac
trap - EXIT
exec setpriv --pdeathsig KILL node bench/rivals/limits_driver.mjs "$name" "$port"
