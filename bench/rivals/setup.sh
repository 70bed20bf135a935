# Sourced by run.sh and overload.sh in the repository's root, and by limits_rival.sh: what they need before they start a rival.

node_dir=${node_dir:-$PWD/build/rivals} # npm's packages go there.
export NODE_RIVALS_DIR=$node_dir
work=$(mktemp -d)
pids=() # Of what is running: the servers that the script has to stop.

# An error in a trap would become the script's status under `set -e`; so would `kill` without arguments.
leave() {
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  wait || true
  rm -rf "$work"
}
trap leave EXIT

# Installs from Debian what is missing of config/packages.txt: "build", the kinds and packages said, and Node.js.
install_missing() { # kind or package...
  local missing=() sudo=() package
  for package in $(awk -v kinds=" build $* " 'index(kinds, " " $1 " ") || index(kinds, " " $2 " ") {print $2}' config/packages.txt) nodejs npm; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || command -v "$package" >/dev/null ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  echo "Installing: ${missing[*]}" >&2
  ((EUID == 0)) || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# Installs npm's packages into $node_dir unless they are all there. An npm that was killed leaves folders that look like packages, so
# that .installing says from when to when they cannot be trusted. It dies with this script, and two scripts take turns.
install_modules() { # name@version...
  if [ ! -e "$node_dir/.installing" ] && ! misses_modules "$@"; then return 0; fi
  mkdir -p "$node_dir"
  exec 9>"$node_dir/.lock"
  flock 9
  [ ! -e "$node_dir/.installing" ] || rm -rf "$node_dir/node_modules"
  if misses_modules "$@"; then
    touch "$node_dir/.installing"
    [ -f "$node_dir/package.json" ] || echo '{"private": true}' >"$node_dir/package.json"
    setpriv --pdeathsig KILL npm --prefix "$node_dir" install --no-audit --no-fund "${missing_modules[@]}" >/dev/null
  fi
  rm -f "$node_dir/.installing"
  exec 9>&-
}

misses_modules() { # name@version...
  local module
  missing_modules=()
  for module; do [ -d "$node_dir/node_modules/${module%@*}" ] || missing_modules+=("$module"); done
  ((${#missing_modules[@]}))
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
