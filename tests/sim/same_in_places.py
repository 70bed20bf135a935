#!/usr/bin/env python3
"""The same seed is the same run wherever the program and the sources lie, and whatever folder it is run in.

    tests/sim/same_in_places.py PROGRAM

Runs seeds with functions and deployments here, and then a copy of PROGRAM elsewhere, which finds the sources by a long path. The
hashes of the traces must be equal. Definitions of functions hold the path of their code: with its length a power cut tore the log of
seed 57 elsewhere.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parents[2]
FIRST, SEEDS = 41, 30


def hashes(program, *words, folder=None):
    done = subprocess.run([program, "--seed", str(FIRST), "--seeds", str(SEEDS), "--hashes", *words], cwd=folder, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} ends with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [line for line in done.stdout.splitlines() if len(line.split()) == 2 and len(line.split()[1]) == 16]


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    here = hashes(program)
    if len(here) != SEEDS:
        sys.exit(f"{program} printed {len(here)} hashes instead of {SEEDS}")
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / ("elsewhere-" * 12)
        place.mkdir()
        copy = shutil.copy(program, place / "a-copy-of-the-simulator")
        link = place / "sources"
        link.symlink_to(SOURCES)
        there = hashes(copy, "--sources", str(link), folder=place)
    differ = [(mine, theirs) for mine, theirs in zip(here, there) if mine != theirs]
    for mine, theirs in differ:
        print(f"seed {mine.split()[0]}: {mine.split()[1]} here, {theirs.split()[1]} elsewhere")
    return 1 if differ or len(here) != len(there) else 0


if __name__ == "__main__":
    sys.exit(main())
