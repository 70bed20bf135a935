#!/usr/bin/env python3
"""Runs 20 seeds in two builds of freshet_sim (release and debug, say) and compares the hashes of their traces.

    tests/sim/same_in_builds.py PROGRAM [OTHER...]

Without OTHER: the programs of the build folders beside the one of PROGRAM that were built after it or at most an hour before. Ends with
77 (skipped) if there is none.
"""
import pathlib
import subprocess
import sys

SEEDS = 20


def hashes(program):
    done = subprocess.run([program, "--seed", "1", "--seeds", str(SEEDS), "--hashes"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} ends with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [line for line in done.stdout.splitlines() if len(line.split()) == 2 and len(line.split()[1]) == 16]


def others_beside(program):
    place = pathlib.Path(program).resolve()
    build, inner = place.parents[3], place.relative_to(place.parents[2])
    beside = [folder / inner for folder in build.iterdir() if (folder / inner).is_file()]
    age = place.stat().st_mtime
    return [other for other in beside if other != place and other.stat().st_mtime > age - 3600]


def main():
    program = sys.argv[1]
    others = sys.argv[2:] or others_beside(program)
    if not others:
        print("SKIPPED: no other build of freshet_sim is as new as this one")
        return 77
    expected = hashes(program)
    if len(expected) != SEEDS:
        sys.exit(f"{program} printed {len(expected)} hashes instead of {SEEDS}")
    differ = 0
    for other in others:
        for mine, theirs in zip(expected, hashes(other)):
            if mine != theirs:
                print(f"seed {mine.split()[0]}: {mine.split()[1]} here, {theirs.split()[1]} in {other}")
                differ += 1
        print(f"{other}: compared")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
