#!/usr/bin/env python3
"""Brings the dashboard's three libraries from npm into app/ui/web/vendor/, with their licences.

    app/ui/vendor.py            # downloads the packages again, as pinned in vendor.txt, and compares
    app/ui/vendor.py --update   # the same after a new version in vendor.txt; writes the new checksums
    app/ui/vendor.py --check    # without a network: the files are what vendor.txt says

vendor.txt has a line for each package (name, version, npm's checksum of the archive) and for each file (its SHA-256).
The files are what the packages hold but for one line each: a browser resolves "./preact.js" and not "preact", and
uPlot's small build is a script, which becomes a module by its last line.
"""

import argparse
import base64
import hashlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VENDOR = HERE / "web" / "vendor"
PINS = HERE / "vendor.txt"

# Package, file in it, name here, what is changed in the text.
FILES = [
    ("preact", "dist/preact.mjs", "preact.js", None),
    ("preact", "hooks/dist/hooks.mjs", "hooks.js", ('from"preact"', 'from"./preact.js"')),
    ("preact", "LICENSE", "preact.LICENSE.txt", None),
    ("htm", "dist/htm.mjs", "htm.js", None),
    ("htm", "LICENSE", "htm.LICENSE.txt", None),
    ("uplot", "dist/uPlot.iife.min.js", "uplot.js", "module"),
    ("uplot", "dist/uPlot.min.css", "uplot.css", None),
    ("uplot", "LICENSE", "uplot.LICENSE.txt", None),
]


def read_pins():
    packages, files = {}, {}
    for line in PINS.read_text().splitlines():
        words = line.split()
        if words[:1] == ["package"]:
            packages[words[1]] = (words[2], words[3] if len(words) > 3 else "")
        elif words[:1] == ["file"]:
            files[words[1]] = words[2]
    return packages, files


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def check(files):
    here = {path.name: sha256(path.read_bytes()) for path in VENDOR.iterdir()}
    wrong = sorted(name for name in here.keys() | files.keys() if here.get(name) != files.get(name))
    if wrong:
        sys.exit(f"app/ui/web/vendor: not what vendor.txt says: {', '.join(wrong)}")


def fetch(name, version, folder):
    subprocess.run(["npm", "pack", f"{name}@{version}", "--silent"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob(f"{name}-*.tgz")
    digest = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    return archive, digest


def changed(data, change):
    if change is None:
        return data
    text = data.decode()
    if change == "module":
        return (text.rstrip() + "\nexport default uPlot;\n").encode()
    before, after = change
    if text.count(before) != 1:
        sys.exit(f"{before} is expected once")
    return text.replace(before, after).encode()


def download(packages):
    out = {}
    digests = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, (version, _) in packages.items():
            archive, digests[name] = fetch(name, version, pathlib.Path(temporary))
            with tarfile.open(archive) as opened:
                for package, inside, here, change in FILES:
                    if package == name:
                        out[here] = changed(opened.extractfile("package/" + inside).read(), change)
    return out, digests


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    packages, files = read_pins()
    if options.check:
        return check(files)
    fetched, digests = download(packages)
    if options.update:
        lines = [line for line in PINS.read_text().splitlines() if line.startswith("#")]
        lines += [f"package {name} {version} {digests[name]}" for name, (version, _) in packages.items()]
        lines += [f"file {name} {sha256(data)}" for name, data in sorted(fetched.items())]
        PINS.write_text("\n".join(lines) + "\n")
    else:
        for name, (version, digest) in packages.items():
            if digests[name] != digest:
                sys.exit(f"{name} {version}: npm's archive has another checksum: {digests[name]}")
        if {name: sha256(data) for name, data in fetched.items()} != files:
            sys.exit("the packages' files are not what vendor.txt says")
    VENDOR.mkdir(parents=True, exist_ok=True)
    for name, data in fetched.items():
        (VENDOR / name).write_bytes(data)
    check(read_pins()[1])


if __name__ == "__main__":
    main()
