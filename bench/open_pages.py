#!/usr/bin/env python3
"""Measures the cost of open pages of the dashboard for the daemon.

    bench/open_pages.py [--pages 20] [--seconds 30] [--binary build/release/freshet]

Half of the pages show the overview, half a queue. At rest: the CPU time of the daemon without pages and with them, and
each request that they made, in a real Chromium. Under load: the instructions of those requests (bench/instructions.py)
beside those of the tasks at several rates. The daemon works a little by itself, too, in each second: each figure is
given without that and with it. It needs what the dashboard's tests need, and valgrind.
"""
import argparse
import collections
import contextlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import instructions

ROOT = pathlib.Path(__file__).resolve().parents[1]
RATES = (1_000, 5_000, 10_000, 20_000)
ROUNDS, EACH, TASKS = 5, 20, 1280
HISTORY_S = 125  # The small charts of the overview show two minutes.
IDLE_S = 5
WAITING = 100  # Tasks that wait all the time.


def middle(counts, times):
    """(instructions, seconds) of one, out of several counts of `times` each."""
    return tuple(statistics.median(column) / times for column in zip(*counts))


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
        """Path -> (instructions of one request, seconds of one); (those of one task in batches of 64, its seconds); and
        the instructions of the daemon by itself in a second."""
        time.sleep(max(0, self.began + HISTORY_S - time.monotonic()))
        client = instructions.Client(self.counted.port)
        lives = instructions.Lives(client, 2)
        client.post("/queues/QueueTable/tasks", {"tasks": [{"payload": "x" * 100, "priority": -9} for _ in range(WAITING)]})
        out, idle, task = {}, [], []
        for round_of in range(ROUNDS):
            idle.append(self.timed(lambda: time.sleep(IDLE_S)))
            task.append(self.timed(lambda: lives.run(TASKS, 64)))
            for path in paths:
                get(client, path)

                def ask(path=path):
                    for _ in range(EACH):
                        get(client, path)

                # Between lives, as under load: answers have to be made anew.
                lives.run(64, 64)
                out.setdefault(path, []).append(self.timed(ask))
        a_second = statistics.median(count / took for count, took in idle)
        each = {path: middle(counts, EACH) for path, counts in out.items()}
        return each, middle(task, TASKS), a_second

    def timed(self, work):
        """(instructions, seconds)"""
        took = 0

        def watched():
            nonlocal took
            begun = time.monotonic()
            work()
            took = time.monotonic() - begun

        return self.counted.during(watched), took

    def close(self):
        self.counted.close()


def report(rates, each, task, own):
    """`own`: the instructions a second that are taken off."""
    a_task = task[0] - own * task[1]
    a_second = 0
    for name, rate in rates.most_common():
        count, took = each.get(name.split(" ", 1)[1], (0, 0))
        cost = count - own * took
        a_second += rate * cost
        print(f"  {rate:7.2f} a second   {cost:12,.0f} instructions   {name}")
    print(f"  all pages: {a_second:,.0f} instructions a second; one task: {a_task:,.0f}")
    for rate in RATES:
        print(f"  under load of {rate:6,} tasks a second: {100 * a_second / (rate * a_task):.2f} % more")
    print(f"  2 % more at {a_second / (0.02 * a_task):,.0f} tasks a second")


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
        each, task, idle = histories.count([name.split(" ", 1)[1] for name in rates if name.startswith("GET ")])
    print(f"by itself the daemon takes {idle:,.0f} instructions a second")
    for own, words in ((idle, "without what the daemon does by itself"), (0, "with what the daemon does by itself")):
        print(f"{words}:")
        report(rates, each, task, own)
    return 0


if __name__ == "__main__":
    sys.exit(main())
