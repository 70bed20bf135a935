#!/usr/bin/env python3
"""The main job, on real input, in under a minute.

2,400 parcel-tracking updates (config/demo/tasks.jsonl) arrive at 400/s; the downstream (config/demo/handler.py) can take
160/s. An update is worth something for 2 s and is shed after 8 s. The daemon runs twice on config/lifo.yaml: newest first,
killed with SIGKILL in the middle and started again on the same data, then first-in-first-out for comparison.
Called by ./run.sh; needs the program only: the one that was built here, or the one that is installed.
"""
import argparse
import gzip
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parents[1] / "build/release/freshet"
QUEUE = "/queues/QueueTable"
RATE, BATCH = 400, 20
TTL_SECONDS, USEFUL_MS, KILL_AFTER_S = 8, 2000, 3.0


class Child:
    """A process that this script started and will end."""

    def __init__(self, argv, **kwargs):
        self.process = subprocess.Popen([str(a) for a in argv], **kwargs)

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait()


class Daemon(Child):
    def __init__(self, binary, data, handler_port, order, port=0):
        self.ready_file = data / "ready"
        self.ready_file.unlink(missing_ok=True)
        log = open(data / "freshet.log", "ab")
        super().__init__(
            [binary, "run", HERE.parent / "lifo.yaml", "--data", data / "store", "--listen", f"127.0.0.1:{port}",
             "--ready-file", self.ready_file,
             "--set", f"ProcessTasksFunction.TASK_RUNNER=http://127.0.0.1:{handler_port}/",
             "--set", "ProcessTasksFunction.CONCURRENCY=4",
             "--set", f"ProcessTasksFunction.ORDER={order}"],
            stdout=log, stderr=log)
        while not self.ready_file.exists():
            if self.process.poll() is not None:
                sys.exit(f"the daemon ended at start; its log:\n{(data / 'freshet.log').read_text()[-3000:]}")
            time.sleep(0.01)
        address = urllib.parse.urlparse(self.ready_file.read_text().strip())
        self.port = address.port

    def call(self, method, path, document=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, json.dumps(document) if document is not None else None,
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            body = response.read()
            if response.status >= 300:
                sys.exit(f"{method} {path}: {response.status} {body.decode()}")
            return json.loads(body)
        finally:
            connection.close()


def ended(stats, state):
    """How many tasks have ever reached the state: the books still know what TTL has removed since."""
    return sum(count for arrow, count in stats["flow"].items() if arrow.endswith("->" + state))


def show(started, stats, sent):
    depth = stats["depth"]
    ages = [stats.get(name) for name in ("newestAgeMs", "oldestAgeMs")]
    old = "" if None in ages else f"({ages[0] / 1000:.1f} to {ages[1] / 1000:.1f} s old)"
    print(f"  {time.monotonic() - started:4.1f} s  arrived {sent:4d}  waiting {depth.get('PENDING', 0):4d} {old:18s}  "
          f"done {ended(stats, 'SUCCESS'):4d}  shed {sum(stats['shed'].values()):4d}", flush=True)


def read_tasks():
    packed = HERE / "tasks.jsonl.gz"  # So it is installed.
    with gzip.open(packed, "rt") if packed.exists() else open(HERE / "tasks.jsonl") as lines:
        return [json.loads(line) for line in lines]


def run(binary, work, order, kill):
    data = work / order
    data.mkdir(parents=True)
    tasks = read_tasks()
    for task in tasks:
        task["ttlSeconds"] = TTL_SECONDS
    handler = Child([sys.executable, HERE / "handler.py"], stdout=subprocess.PIPE, text=True)
    daemon = None
    try:
        handler_port = int(handler.process.stdout.readline())
        daemon = Daemon(binary, data, handler_port, order)
        started = shown = time.monotonic()
        sent = 0
        while True:
            now = time.monotonic()
            if kill and now - started > KILL_AFTER_S:
                daemon.stop(signal.SIGKILL)
                print(f"  ------  kill -9, and start again on the same data", flush=True)
                daemon = Daemon(binary, data, handler_port, order, daemon.port)
                kill = False
            while sent < len(tasks) and sent < (now - started) * RATE:
                daemon.call("POST", QUEUE + "/tasks", {"tasks": tasks[sent:sent + BATCH]})
                sent += len(tasks[sent:sent + BATCH])
            stats = daemon.call("GET", QUEUE + "/stats")
            if now - shown >= 1:
                show(started, stats, sent)
                shown = now
            live = sum(stats["depth"].get(state, 0) for state in ("PENDING", "TAKEN", "DELAYED"))
            if sent == len(tasks) and live == 0:
                show(started, stats, sent)
                break
            time.sleep(0.05)
        report = http.client.HTTPConnection("127.0.0.1", handler_port, timeout=10)
        report.request("GET", "/report")
        ages = json.loads(report.getresponse().read())["agesMs"]
        return stats, ages, len(tasks)
    finally:
        if daemon:
            daemon.stop()
        handler.stop()


def check_books(stats, total):
    done, failed = ended(stats, "SUCCESS"), ended(stats, "FAILURE") + ended(stats, "DEAD")
    shed = sum(stats["shed"].values())
    print(f"  books: {total} created = {done} done + {shed} shed + {failed} failed", end="")
    if done + shed + failed != total:
        print("   DOES NOT ADD UP")
        return False
    print("   (adds up)")
    return True


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", default=BUILT if BUILT.exists() else shutil.which("freshet"))
    options = options.parse_args()
    if not options.binary:
        sys.exit("there is no freshet on the PATH: name one with --binary")
    work = pathlib.Path(tempfile.mkdtemp(prefix="freshet-demo-"))
    share, done, good = {}, {}, True
    try:
        for order, title, kill in (("lifo", "Newest first, with a kill -9 in the middle", True),
                                   ("fifo", "The same load, first in, first out", False)):
            print(f"\n{title}:", flush=True)
            stats, ages, total = run(options.binary, work, order, kill)
            done[order] = ended(stats, "SUCCESS")
            share[order] = 100 * sum(age <= USEFUL_MS for age in ages) / total
            good = check_books(stats, total) and good
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"\nDone within {USEFUL_MS / 1000:.0f} s of arrival; the downstream can take {160 / RATE:.0%} of the load:")
    for order, name in (("lifo", "newest first"), ("fifo", "first in, first out")):
        print(f"  {name:20s} {share[order]:5.1f} %  {'#' * round(share[order] / 2)}")
    print(f"The shares are of all {total} tasks. First in, first out is in time only until its\n"
          f"backlog is {USEFUL_MS / 1000:.0f} s deep; then every task that it finishes is late.")
    if done["fifo"] > done["lifo"]:
        print(f"It finishes more tasks in the end ({done['fifo']}, newest first {done['lifo']}): after the\n"
              f"burst it still has the youngest ones; newest first has old ones, which expire.")
    good = good and share["lifo"] > share["fifo"]
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
