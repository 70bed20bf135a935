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
import time

import instructions

ROOT = pathlib.Path(__file__).resolve().parents[1]
RATES = (1_000, 5_000, 10_000, 20_000)
EACH = 20
HISTORY_S = 125  # The small charts of the overview show two minutes.
IDLE_S = 5


def get(client, path):
    client.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    status, length = client.file.readline(), 0
    while (line := client.file.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    client.file.read(length)
    if b" 200 " not in status:
        raise RuntimeError(f"GET {path}: {status!r}")


class Histories:
    """A daemon that is counted. It begins early, so that its charts hold a while when they are asked for."""

    def __init__(self, binary, folder):
        self.counted = instructions.Counted(binary, folder)
        self.began = time.monotonic()
        instructions.Lives(instructions.Client(self.counted.port), 1).run(640, 64)

    def count(self, paths):
        """Path -> instructions of one request; and those of one task in batches of 64."""
        time.sleep(max(0, self.began + HISTORY_S - time.monotonic()))
        client = instructions.Client(self.counted.port)
        lives = instructions.Lives(client, 2)
        lives.run(640, 64)
        idle = self.counted.during(lambda: time.sleep(IDLE_S)) / IDLE_S
        out = {}
        for path in paths:
            get(client, path)
            took = 0

            def ask(path=path):
                nonlocal took
                begun = time.monotonic()
                for _ in range(EACH):
                    get(client, path)
                took = time.monotonic() - begun

            # The work of each second that the daemon does anyway is not theirs.
            out[path] = (self.counted.during(ask) - idle * took) / EACH
        print(f"the counted daemon takes {idle:,.0f} instructions a second by itself, which is taken off")
        return out, self.counted.during(lambda: lives.run(1280, 64)) / 1280

    def close(self):
        self.counted.close()


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
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Histories(binary, folder)) as histories:
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
        each, task = histories.count([name.split(" ", 1)[1] for name in rates if name.startswith("GET ")])
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
