#!/usr/bin/env python3
"""Measures the cost of open pages of the dashboard for the daemon.

    bench/open_pages.py [--pages 20] [--seconds 30] [--binary build/release/freshet]

Half of the pages show the overview, half a queue. At rest: the CPU time of the daemon without pages and with them, and
each request that they made, in a real Chromium. Under load: the instructions of those requests (bench/instructions.py)
beside those of the tasks at several rates. It needs what the dashboard's tests need, and valgrind.
"""
import argparse
import collections
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import instructions

ROOT = pathlib.Path(__file__).resolve().parents[1]
RATES = (1_000, 5_000, 10_000, 20_000)
EACH = 20


def get(client, path):
    client.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    status, length = client.file.readline(), 0
    while (line := client.file.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    client.file.read(length)
    if b" 200 " not in status:
        raise RuntimeError(f"GET {path}: {status!r}")


def count(binary, paths):
    """Path -> instructions of one request; and those of one task in batches of 64."""
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(instructions.Counted(binary, folder)) as counted:
        client = instructions.Client(counted.port)
        lives = instructions.Lives(client, 1)
        lives.run(640, 64)
        out = {}
        for path in paths:
            get(client, path)
            out[path] = counted.during(lambda path=path: [get(client, path) for _ in range(EACH)]) / EACH
        return out, counted.during(lambda: lives.run(1280, 64)) / 1280


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/freshet")
    options = parser.parse_args()
    binary = options.binary.resolve()
    if not shutil.which("valgrind") or not shutil.which("node"):
        print("SKIPPED: valgrind or node is not installed", file=sys.stderr)
        return instructions.SKIPPED
    seen = subprocess.run(["node", str(ROOT / "bench/open_pages.mjs"), str(binary), str(options.pages), str(options.seconds)],
                          stdout=subprocess.PIPE, text=True)
    if seen.returncode != 0:
        return seen.returncode
    rest = json.loads(seen.stdout.splitlines()[-1])
    print(f"at rest: {100 * rest['alone']:.2f} % of a core without pages, {100 * rest['open']:.2f} % with {options.pages}")
    rates = collections.Counter()
    for view in rest["asked"]:
        for name, times in view.items():
            rates[name] += times / rest["seconds"]
    paths = [name.split(" ", 1)[1] for name in rates if name.startswith("GET ")]
    each, task = count(binary, paths)
    a_second = 0
    for name, rate in rates.most_common():
        cost = each.get(name.split(" ", 1)[1], 0)
        a_second += rate * cost
        print(f"  {rate:7.2f} a second   {cost:12,.0f} instructions   {name}")
    print(f"all pages: {a_second:,.0f} instructions a second; one task: {task:,.0f}")
    for rate in RATES:
        print(f"under load of {rate:6,} tasks a second: {100 * a_second / (rate * task):.2f} % more")
    print(f"2 % more at {a_second / (0.02 * task):,.0f} tasks a second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
