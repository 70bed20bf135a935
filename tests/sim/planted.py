#!/usr/bin/env python3
"""Plants the faults that freshet_sim knows, one by one, and sees whether its judges find each.

    tests/sim/planted.py [--seeds 2000] [--seconds 600] [--jobs N] [--faults NAME,NAME...] [--check] PROGRAM

PROGRAM is build/release/tests/sim/freshet_sim. For each fault: the seed at which it was found, the CPU seconds that took, and the
promise that broke. Seeds whose plan lacks what a fault needs (`freshet_sim --planted` says what) are passed over. `--check` only compares the list of faults with the points in the sources. Ends with 1 if a fault is not found that
docs/reliability.md does not list as such.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("base", "tables", "streams", "runtime", "functions", "wire", "app")


def known_faults(program):
    lines = subprocess.run([program, "--planted"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("\t") for line in lines]


def points_in_sources():
    found = {}
    for room in ROOMS:
        for path in (SOURCES / room).rglob("*.cc"):
            for name in re.findall(r'FRESHET_PLANTED\(\s*"([^"]+)"', path.read_text()):
                found[name] = path
    return found


def not_found_by_the_page():
    page = (SOURCES / "docs" / "reliability.md").read_text()
    return set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))


def check(faults):
    listed, planted = {fault[0] for fault in faults}, set(points_in_sources())
    for name in sorted(listed ^ planted):
        print(f"{name}: only in {'the list (tests/sim/machine/planted.cc)' if name in listed else 'the sources'}")
    return listed == planted


def find(program, name, needs, seeds, seconds):
    """(seed or None, CPU seconds, what)."""
    with tempfile.TemporaryDirectory() as folder:
        state = pathlib.Path(folder) / "state"
        child = subprocess.Popen([program, "--plant", name, "--seed", "1", "--seeds", str(seeds), "--state", str(state)] + (["--with", needs] if needs else []),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)))
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        passed = usage.ru_utime + usage.ru_stime
        if child.returncode == 0:
            return None, passed, "the product never came by" if "never met" in out else f"not found in {seeds} seeds"
        if child.returncode == -signal.SIGXCPU:
            last = state.read_text().strip() if state.exists() else "none"
            return None, passed, f"not found up to seed {last} in {seconds} CPU seconds"
        broken = re.search(r"BROKEN at step \d+: (.*)", out)
        seed = int(state.read_text()) + 1 if state.exists() else 1
        how = broken.group(1) if broken else f"the process ends with {child.returncode}"
        return seed, passed, how


def main():
    words = argparse.ArgumentParser()
    words.add_argument("program")
    words.add_argument("--seeds", type=int, default=2000)
    words.add_argument("--seconds", type=int, default=600, help="CPU seconds, at most, for each fault")
    words.add_argument("--jobs", type=int, default=os.cpu_count())
    words.add_argument("--faults", default="", help="these alone, separated by commas")
    words.add_argument("--check", action="store_true")
    words = words.parse_args()
    faults = known_faults(words.program)
    if not check(faults):
        return 1
    if words.check:
        return 0
    wanted = set(filter(None, words.faults.split(",")))
    if unknown := wanted - {fault[0] for fault in faults}:
        sys.exit(f"there is no fault {', '.join(sorted(unknown))}")
    chosen = [fault for fault in faults if not wanted or fault[0] in wanted]
    excused = not_found_by_the_page()
    missed, counts = [], {"back": [0, 0], "new": [0, 0]}
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        work = {pool.submit(find, words.program, fault[0], fault[3], words.seeds, words.seconds): fault for fault in chosen}
        for done in concurrent.futures.as_completed(work):
            name, kind, *_ = work[done]
            seed, passed, how = done.result()
            counts[kind][1] += 1
            counts[kind][0] += seed is not None
            if seed is None:
                missed.append(name)
            print(f"{name:34} {kind:4} {'seed ' + str(seed) if seed else '-':>10} {passed:7.1f} s  {how}", flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    hours = (used.ru_utime + used.ru_stime) / 3600
    for kind, what in (("back", "fixes taken back"), ("new", "written ones")):
        print(f"{what}: {counts[kind][0]} of {counts[kind][1]} found")
    print(f"{len(chosen) - len(missed)} found in {hours:.2f} CPU hours")
    return 1 if set(missed) - excused else 0


if __name__ == "__main__":
    sys.exit(main())
