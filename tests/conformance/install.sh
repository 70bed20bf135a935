#!/bin/bash
# Installs the clients of config/clients.txt that come from Maven, PyPI and Go modules, each folder of it into build/clients/.
# A folder that cannot be had is named on stderr, and its tests are skipped. ./test.sh runs this.
set -uo pipefail
cd "$(dirname "$0")/../.."
pins=config/clients.txt
root=build/clients
maven_copy=org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies

lines() { awk -v registry="$1" -v place="$2" '$1 == registry && $2 == place {print $3, $4}' "$pins"; }

maven() { # folder
  local name version
  {
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>freshet</groupId><artifactId>clients</artifactId><version>1</version><dependencies>'
    while read -r name version; do
      echo "<dependency><groupId>${name%:*}</groupId><artifactId>${name#*:}</artifactId><version>$version</version></dependency>"
    done < <(lines maven "$1")
    echo '</dependencies></project>'
  } >pom.xml
  timeout 300 mvn -q -B "$maven_copy" -DoutputDirectory=lib -DincludeScope=runtime && javac -version
}

go() { # folder
  local name version wanted=()
  while read -r name version; do wanted+=("$name@$version"); done < <(lines go "$1")
  # Of the Go commands of a machine any will do that these modules accept: `go get` says so if it is too old.
  timeout 300 go mod init clients && timeout 300 go get "${wanted[@]}"
}

pypi() { # folder
  local name version wanted=()
  while read -r name version; do wanted+=("$name==$version"); done < <(lines pypi "$1")
  # For the interpreter that runs the tests.
  timeout 300 /usr/bin/python3 -m pip install --quiet --only-binary :all: --target lib "${wanted[@]}"
}

# Each folder ends with a copy of its lines in `installed`; one whose lines have changed is made anew.
install() { # registry, folder
  local wanted place="$root/$2-$1"
  wanted=$(lines "$1" "$2")
  [ "$(cat "$place/installed" 2>/dev/null)" = "$wanted" ] && return
  rm -rf "$place" && mkdir -p "$place"
  pins=$(realpath "$pins")
  if (cd "$place" && "$1" "$2") >"$place/log" 2>&1; then
    echo "$wanted" >"$place/installed"
  else
    echo "SKIPPED: the tests of $(lines "$1" "$2" | tr ' \n' ' ,' | sed 's/,$//; s/,/, /g'): $place/log says why it is not installed" >&2
  fi
}

while read -r registry place; do
  install "$registry" "$place"
done < <(awk '$1 ~ /^(maven|go|pypi)$/ {print $1, $2}' "$pins" | uniq)
