#!/bin/bash
# Builds Freshet and runs its main job. On a fresh Debian 12 it needs nothing else: missing packages are installed, with sudo
# when you are not root.
#
#   ./run.sh                 build, then the demo: ten times as much work as an API allows, killed in the middle (a minute)
#   ./run.sh --serve [...]   build, then the daemon on config/lifo.yaml at http://127.0.0.1:7070, data in ./data;
#                            what follows goes to `freshet run`. Tasks wait for workers that take them, unless you
#                            name who does the work: --parameter TaskRunner=http://127.0.0.1:8000/
#   ./run.sh --build         build only: build/release/freshet
set -euo pipefail
cd "$(dirname "$0")"

install_missing() {
  local missing=() package
  for package in $(awk '$1 == "build" {print $2}' config/packages.txt); do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local sudo=()
  if ((EUID != 0)); then sudo=(sudo); fi
  echo "Installing: ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

build() {
  [ -f build/release/build.ninja ] || cmake --preset release -DFRESHET_TESTS=OFF -DFRESHET_BENCH=OFF >&2
  cmake --build --preset release --target freshet >&2
}

case "${1:-}" in
-h | --help)
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  ;;
--build)
  install_missing
  build
  ;;
--serve)
  shift
  install_missing
  build
  exec build/release/freshet run config/lifo.yaml "$@"
  ;;
"")
  install_missing
  build
  exec build/release/freshet demo limits --seconds 60
  ;;
*)
  echo "unknown option '$1'; see ./run.sh --help" >&2
  exit 2
  ;;
esac
