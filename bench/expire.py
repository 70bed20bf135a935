#!/usr/bin/env python3
"""What it costs that very many tasks expire: how late they are shed, what live traffic of another queue loses meanwhile,
and how long a burst of them stays. One daemon as it is shipped (config/lifo.yaml, synced) with a second queue, whose
tasks have deadlines and nobody who takes them.

    bench/expire.py [--tasks 1000000] [--seconds 60] [--windows 6] [--only spread|burst] [--json FILE]

Spread: the tasks' deadlines pass at one rate, in windows (--windows of them, --seconds together), with as long pauses in
which none does, in the order off on on off off on on off …, so that a machine that changes its speed favours neither.
Live traffic (bench/rivals/whole_life.cc: 16 clients that create, 16 that take and complete, a task a request, each
waiting for its answer) runs all the time; what counts is how many of its tasks were done a second in the median window on and off. The lag
is how long ago the task was due that is shed next, looked at every 50 ms.

Burst: as many tasks within one second, all beside the same live traffic. Whoever takes from their queue meanwhile must
get none of them; "gone" is when the last one is shed, after the first was due.

bench/table.py (section overload) prints the rows. Give it a machine that has nothing else to do.
"""
import argparse
import contextlib
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
FRESHET = ROOT / "build/release/freshet"
LIVE = ROOT / "build/release/bench/rivals_whole_life"
QUEUE = "Expiring"


def template(folder):
    """config/lifo.yaml with its table a second time, which no function works on."""
    text = (ROOT / "config/lifo.yaml").read_text()
    table = re.search(r"^  QueueTable:\n(?:    .*\n|\n)+", text, re.M).group(0)
    path = folder / "template.yaml"
    path.write_text(text.replace(table, table.replace("QueueTable", QUEUE, 1) + table))
    return path


@contextlib.contextmanager
def daemon(folder):
    ready = folder / "ready"
    process = subprocess.Popen([FRESHET, "run", template(folder), "--set", "ProcessTasksFunction.TASK_RUNNER=none", "--data",
                                folder / "store", "--listen", "127.0.0.1:0", "--ready-file", ready, "--log-level", "error"])
    try:
        while not ready.exists():
            if process.poll() is not None:
                sys.exit("the daemon did not start")
            time.sleep(0.05)
        yield "http://127.0.0.1:" + ready.read_text().strip().rsplit(":", 1)[1]
    finally:
        process.terminate()
        process.wait()


def ask(url, path, body=None):
    request = urllib.request.Request(url + path, json.dumps(body).encode() if body is not None else None,
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


class Live:
    """Closed-loop clients of the other queue, as long as the object is entered."""

    def __init__(self, url):
        self.url, self.port = url, url.rsplit(":", 1)[1]

    def __enter__(self):
        self.over = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()

    def run(self):
        first = 0
        while not self.over:
            done = subprocess.run([LIVE, "freshet", self.port, "10000", "16", "1", "16", "1", str(first)], capture_output=True,
                                  text=True)
            if done.returncode != 0 or not json.loads(done.stdout)["ok"]:
                sys.exit(f"live traffic went wrong: {done.stdout}{done.stderr}")
            first += 10000

    def done(self):
        return ask(self.url, "/queues/QueueTable/stats")["flow"].get("TAKEN->SUCCESS", 0)


def fill(url, folder, deadlines):
    """A task for each deadline (epoch ms). How long it took, in seconds."""
    path = folder / "tasks.jsonl"
    with open(path, "w") as out:
        out.writelines('{"payload":{"n":%d},"deadline":%d,"ttlSeconds":86400}\n' % one for one in enumerate(deadlines))
    begin = time.time()
    subprocess.run([FRESHET, "put", "--url", url, "--queue", QUEUE, "--file", path, "--batch", "1000"], check=True,
                   stdout=subprocess.DEVNULL)
    return time.time() - begin


def left(url):
    return ask(url, f"/queues/{QUEUE}/stats")["depth"].get("PENDING", 0)


def check_books(url, tasks):
    stats = ask(url, f"/queues/{QUEUE}/stats")
    if stats["depth"].get("SHED", 0) != tasks or stats["shed"] != {"deadline": tasks}:
        sys.exit(f"{tasks} tasks expired, and the books say {stats['depth']}, {stats['shed']}")


def lead(tasks):
    return 5 + tasks / 15_000  # Seconds to put them all; less is checked.


def spread(folder, tasks, seconds, windows):
    length = seconds / windows
    order = [on for _ in range((windows + 1) // 2) for on in (False, True, True, False)][: 2 * windows]
    with daemon(folder) as url, Live(url) as live:
        begin = time.time() + lead(tasks)
        deadlines = []
        for place, on in enumerate(order):
            if on:
                first = (begin + place * length) * 1000
                deadlines += [int(first + i * length * 1000 / (tasks / windows)) for i in range(round(tasks / windows))]
        fill(url, folder, deadlines)
        if time.time() > begin:
            sys.exit("the tasks were not there before the first was due: a longer lead is needed")
        lags, rates = [], {True: [], False: []}
        time.sleep(max(0, begin - time.time()))
        for place, on in enumerate(order):
            end = begin + (place + 1) * length
            at, before = time.time(), live.done()
            while time.time() < end:
                gone = len(deadlines) - left(url)
                if on and gone < len(deadlines):
                    lags.append(max(0.0, time.time() * 1000 - deadlines[gone]))
                time.sleep(0.05)
            rates[on].append((live.done() - before) / (time.time() - at))
        while left(url) > 0:
            time.sleep(0.05)
        check_books(url, len(deadlines))
    lags.sort()
    on, off = (statistics.median(rates[which]) for which in (True, False))
    return {"lagP50Ms": lags[len(lags) // 2], "lagP99Ms": lags[int(len(lags) * 0.99)], "lagMaxMs": lags[-1],
            "liveWith": on, "liveWithout": off, "liveLoss": 1 - on / off, "windowsWith": rates[True],
            "windowsWithout": rates[False]}


def burst(folder, tasks):
    with daemon(folder) as url, Live(url) as live:
        begin = time.time() + lead(tasks)
        fill(url, folder, [int(begin * 1000 + i * 1000 / tasks) for i in range(tasks)])
        if time.time() > begin:
            sys.exit("the tasks were not there before the first was due: a longer lead is needed")
        time.sleep(max(0, begin - 5 - time.time()))
        at, before = time.time(), live.done()
        time.sleep(max(0, begin - time.time()))
        alone = (live.done() - before) / (time.time() - at)
        time.sleep(max(0, begin + 1 - time.time()))
        at, before = time.time(), live.done()
        takes = []
        while left(url) > 0:
            asked = time.time()
            if ask(url, f"/queues/{QUEUE}/take", {"max": 10})["tasks"]:
                sys.exit("a take got a task that had expired")
            takes.append(time.time() - asked)
            time.sleep(0.1)
        gone, beside = time.time() - begin, (live.done() - before) / (time.time() - at)
        check_books(url, tasks)
    return {"goneS": gone, "takes": len(takes), "takeMaxMs": max(takes, default=0) * 1000, "liveWith": beside,
            "liveWithout": alone, "liveLoss": 1 - beside / alone}


def measure(work, tasks=1_000_000, seconds=60.0, windows=6, only=("spread", "burst")):
    out = {}
    for name, run in (("spread", lambda folder: spread(folder, tasks, seconds, windows)),
                      ("burst", lambda folder: burst(folder, tasks))):
        if name in only:
            with tempfile.TemporaryDirectory(prefix="expire-", dir=work) as folder:
                out[name] = run(pathlib.Path(folder))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--windows", type=int, default=6)
    parser.add_argument("--only", choices=("spread", "burst"), action="append")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    out = measure(ROOT / "build", options.tasks, options.seconds, options.windows, options.only or ("spread", "burst"))
    print(json.dumps(out, indent=1))
    if options.json:
        options.json.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
