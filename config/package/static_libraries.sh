#!/bin/bash
# Builds the libraries that Debian has only as shared ones, as archives, from Debian's own sources of the very versions that
# are installed: fmt, spdlog, simdjson and the core of prometheus-cpp. ./package.sh links them into the program of the
# archive, which runs on systems that have other versions of them, or none.
#
#   config/package/static_libraries.sh FOLDER    archives in FOLDER/lib, licences in FOLDER/licences
#
# Needs a mirror of Debian that has sources (status 77 without one), dpkg-dev, cmake and ninja. What is there already is not
# built again.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
mkdir -p "$folder"/{lib,licences,source,apt/lists/partial}

none() {
  echo "SKIPPED: the archive: $1" >&2
  exit 77
}

# apt with lists of its own: the machine's stay as they are, and nobody has to be root.
apt() {
  apt-get -qq -o Dir::Etc::SourceList="$folder/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$folder/apt/lists" -o Dir::Cache="$folder/apt" -o Debug::NoLocking=1 \
    -o APT::Sandbox::User="$(id -un)" "$@"
}

# The mirrors that this machine uses for its release, as places of sources.
source_lists() {
  local release keys=/usr/share/keyrings/debian-archive-keyring.gpg
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$release" -v keys="[signed-by=$keys]" \
      'index($2, release) == 1 && $3 == "main" { print "deb-src", keys, $1, $2, $3 }' |
    sort -u >"$folder/apt/sources.list"
  [ -s "$folder/apt/sources.list" ] || none "apt knows no mirror of $release: run 'apt-get update' first"
  apt update || none "the mirror has no sources of $release"
}

build() { # development package, archive, options of its build
  local archive=$2 source
  # The version without that of a rebuild ("+b1"), under which the sources are kept.
  source=$(dpkg-query -W -f '${source:Package}=${source:Version}' "$1")
  [ "$(cat "$folder/lib/$archive.from" 2>/dev/null)" != "$source" ] || return 0
  [ -s "$folder/apt/sources.list" ] || source_lists
  echo "Building $archive from Debian's $source" >&2
  local place="$folder/source/${source%%=*}"
  rm -rf "$place" && mkdir -p "$place"
  (cd "$place" && apt source "$source" >log 2>&1) || none "$(tail -5 "$place/log")"
  local tree
  tree=$(find "$place" -mindepth 1 -maxdepth 1 -type d)
  if ! (cmake -G Ninja -S "$tree" -B "$place/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON "${@:3}" && cmake --build "$place/build") >"$place/log" 2>&1; then
    tail -20 "$place/log" >&2
    exit 1
  fi
  cp "$(find "$place/build" -name "$archive.a")" "$folder/lib/"
  cp "$tree/debian/copyright" "$folder/licences/${source%%=*}"
  echo "$source" >"$folder/lib/$archive.from"
  rm -rf "$place"
}

rm -f "$folder/apt/sources.list"
build libfmt-dev libfmt -DFMT_TEST=OFF -DFMT_DOC=OFF
build libspdlog-dev libspdlog -DSPDLOG_FMT_EXTERNAL=ON -DSPDLOG_BUILD_EXAMPLE=OFF
build libsimdjson-dev libsimdjson -DSIMDJSON_DEVELOPER_MODE=OFF
build prometheus-cpp-dev libprometheus-cpp-core -DENABLE_PULL=OFF -DENABLE_PUSH=OFF -DENABLE_TESTING=OFF -DUSE_THIRDPARTY_LIBRARIES=OFF
rm -rf "$folder/source" "$folder/apt"
