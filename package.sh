#!/bin/bash
# Builds Freshet as people install it, into build/package. On a fresh Debian 12 it needs nothing else: missing packages are
# installed, with sudo when you are not root. The names of functions, which the packages lack, go into *.debug beside them.
#
#   ./package.sh             both of these
#   ./package.sh deb         freshet_VERSION_amd64.deb, for Debian 12: sudo apt install ./build/package/freshet_*.deb
#   ./package.sh archive     freshet-VERSION-linux-x86_64.tar.gz, for Debian 12 and 13, Ubuntu 24.04 and their like:
#                            sudo tar -C /usr/local --strip-components=1 -xzf build/package/freshet-*.tar.gz
set -euo pipefail
cd "$(dirname "$0")"
out=build/package

install_missing() {
  local missing=() package
  for package in $(awk '$1 == "build" || $1 == "package" {print $2}' config/packages.txt); do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local sudo=()
  if ((EUID != 0)); then sudo=(sudo); fi
  echo "Installing: ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# The tree that run.sh and test.sh build, too: what they have compiled is used.
build() { # targets
  [ -f build/release/build.ninja ] || cmake --preset release -DFRESHET_TESTS=OFF -DFRESHET_BENCH=OFF >&2
  cmake --build --preset release --target "$@" >&2
}

deb() {
  build freshet
  rm -f "$out"/freshet_*.deb
  (cd build/release && cpack -G DEB >cpack.log 2>&1) || { cat build/release/cpack.log >&2; return 1; }
  objcopy --only-keep-debug build/release/freshet "$out/freshet.debug"
  ls "$out"/freshet_*.deb
}

archive() {
  config/package/static_libraries.sh build/package/static
  cmake -B build/release -DFRESHET_STATIC_LIBRARIES="$PWD/build/package/static/lib" >/dev/null
  build freshet freshet_portable
  local name stage=build/package/stage
  name=freshet-$(sed -n 's/^project(freshet VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)-linux-$(uname -m)
  rm -rf "$stage" "$out"/freshet-*.tar.gz && mkdir -p "$stage"
  DESTDIR=$PWD/$stage cmake -DCMAKE_INSTALL_PREFIX=/usr/local -DCMAKE_INSTALL_COMPONENT=program -DFRESHET_LINKED=ON \
    -P build/release/cmake_install.cmake >/dev/null
  mv "$stage/usr/local" "$stage/$name"
  strip -o "$stage/$name/bin/freshet" build/release/freshet_portable
  objcopy --only-keep-debug build/release/freshet_portable "$out/freshet-archive.debug"
  tar -C "$stage" --sort=name ${SOURCE_DATE_EPOCH:+--mtime=@$SOURCE_DATE_EPOCH} --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
  rm -rf "$stage"
  ls "$out/$name.tar.gz"
}

# Files have the time of the commit, so that the same sources make the same package.
if SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null); then export SOURCE_DATE_EPOCH; fi
mkdir -p "$out"
case "${1:-all}" in
all)
  install_missing
  deb
  archive
  ;;
deb | archive)
  install_missing
  "$1"
  ;;
-h | --help)
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  ;;
*)
  echo "unknown part '$1'; see ./package.sh --help" >&2
  exit 2
  ;;
esac
