#!/usr/bin/env python3
"""Plants the faults that freshet_sim (or freshet_fleet_sim) knows, one by one, and sees whether its judges find each.

    tests/sim/planted.py [--seeds 2000] [--seconds 600] [--jobs N] [--faults NAME,NAME...] [--first N] [--check] PROGRAM

PROGRAM is build/release/tests/sim/freshet_sim. For each fault: the seed at which it was found, the CPU seconds that took, and the
promise that broke. Seeds whose plan lacks what a fault needs (`freshet_sim --planted` says what) are passed over, and so are seeds
that break without the fault, too. `--seeds` is the last seed. `--check` only compares the list of faults with the points in the
sources. Ends with 1 if a fault is not found that docs/reliability.md does not list as such.
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
    """freshet_fleet_sim has all faults whose names begin with "fleet-", and some of the others; freshet_sim has all others."""
    listed, planted = {fault[0] for fault in faults}, set(points_in_sources())
    is_fleet = any(name.startswith("fleet-") for name in listed)
    missing = {name for name in planted - listed if name.startswith("fleet-") == is_fleet}
    for name in sorted(listed - planted | missing):
        print(f"{name}: only in {'the list (planted.cc)' if name in listed else 'the sources'}")
    return listed <= planted and not missing


def run(program, words, seconds):
    """(status, output, CPU seconds, the last seed that was done)."""
    with tempfile.TemporaryDirectory() as folder:
        state = pathlib.Path(folder) / "state"
        child = subprocess.Popen([program, "--state", str(state), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)))
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        last = int(state.read_text()) if state.exists() else None
        return child.returncode, out, usage.ru_utime + usage.ru_stime, last


def find(program, name, needs, first, last_seed, seconds):
    """(seed or None, CPU seconds, what). A seed that breaks without the fault, too, is passed over."""
    passed, also, met = 0.0, [], False
    while first <= last_seed:
        if passed >= seconds:
            return None, passed, f"not found up to seed {first - 1} in {seconds} CPU seconds" + also_broken(also)
        words = ["--plant", name, "--seed", str(first), "--seeds", str(last_seed - first + 1)]
        for part in needs.split():
            words += ["--with", part]
        status, out, took, last = run(program, words, max(1, int(seconds - passed)))
        passed += took
        met = met or "never met" not in out
        seed = last + 1 if last is not None else first
        if status == 0:
            return None, passed, (f"not found up to seed {last_seed}" if met else "the product never came by") + also_broken(also)
        if status == -signal.SIGXCPU:
            return None, passed, f"not found up to seed {seed - 1} in {seconds} CPU seconds" + also_broken(also)
        alone, _, took, _ = run(program, ["--seed", str(seed)], 600)
        passed += took
        if alone == 0:
            broken = re.search(r"BROKEN at step \d+: (.*)", out)
            return seed, passed, (broken.group(1) if broken else f"the process ends with {status}") + also_broken(also)
        also.append(seed)
        first = seed + 1
    return None, passed, f"not found up to seed {last_seed}" + also_broken(also)


def also_broken(seeds):
    return f" (broken without the fault, too: {', '.join(map(str, seeds))})" if seeds else ""


def main():
    words = argparse.ArgumentParser()
    words.add_argument("program")
    words.add_argument("--seeds", type=int, default=2000)
    words.add_argument("--first", type=int, default=1, help="the first seed")
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
        work = {pool.submit(find, words.program, fault[0], fault[3], words.first, words.seeds, words.seconds): fault for fault in chosen}
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
