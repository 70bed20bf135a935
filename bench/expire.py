#!/usr/bin/env python3
"""Measures the cost of many expiring tasks: how late they are shed, what live traffic of another queue loses meanwhile,
and how long a burst of them stays. One daemon as it is shipped (config/lifo.yaml, synced) with a second queue, whose
tasks have deadlines and nobody who takes them.

    bench/expire.py [--tasks 1000000] [--seconds 60] [--window 2] [--only spread|burst] [--json FILE]

Spread: the tasks' deadlines pass at one rate (--tasks in --seconds), in windows of --window seconds with as long pauses
in which none does, in the order off on on off off on on off ... Live traffic (bench/rivals/whole_life.cc: 16 clients that
create, 16 that take and complete, a task a request, each waiting for its answer) runs all the time. What counts is the
loss by pairs: each window against the pause beside it, so that a machine or a disk that changes its speed favours
neither; their median, the quartiles, and between which of the pairs' losses the median is with 95 %. Work that is left
for later (compaction of what was shed) falls into the pauses, too.

The lag of a task is from its deadline until it was SHED, as its own record has it (taskUpdated), of 10,000 tasks evenly
spread. That is when the daemon did it; a client learns of it when it is durable. So there is also the lag as seen: how
long ago the task was due that is shed next, by asking for the queue's books every 50 ms, reckoned at the answer, which
waits for the disk. Beside it: the longest commit while it lasted (append and sync, /metrics; mostly the bound of a
bucket), and the shares of a processor that daemon and clients took.

Burst: as many tasks within one second, all beside the same live traffic. Whoever takes from their queue meanwhile must
get none of them; "gone" is when the last one is shed, after the first was due.

bench/table.py (section overload) prints the rows. Give it a machine that has nothing else to do.
"""
import argparse
import contextlib
import http.client
import json
import math
import os
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
SAMPLES = 10_000
LIVE_TASKS = 50_000  # The tasks of one run of the clients; they pause for a moment between two runs.


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
        yield "http://127.0.0.1:" + ready.read_text().strip().rsplit(":", 1)[1], process.pid
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
        self.over, self.process = False, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()

    def run(self):
        first = 0
        while not self.over:
            self.process = subprocess.Popen([LIVE, "freshet", self.port, str(LIVE_TASKS), "16", "1", "16", "1", str(first)],
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            out, errors = self.process.communicate()
            if self.process.returncode != 0 or not json.loads(out)["ok"]:
                print(f"live traffic went wrong: {out}{errors}", file=sys.stderr)
                os._exit(1)  # This is not the main thread, and there is nothing left to measure.
            first += LIVE_TASKS

    def cpu(self):
        """Seconds of this run of theirs, and which run it is."""
        try:
            return self.process.pid, cpu_seconds(self.process.pid)
        except (FileNotFoundError, ProcessLookupError):
            return self.process.pid, 0.0

    def done(self):
        return ask(self.url, "/queues/QueueTable/stats")["flow"].get("TAKEN->SUCCESS", 0)


def task_id(number):
    return f"sample-{number:029}"  # As long as those that are made.


def fill(url, folder, deadlines):
    """A task for each deadline (epoch ms), some with ids that are known. How long it took, in seconds."""
    every = sample_step(deadlines)
    path = folder / "tasks.jsonl"
    with open(path, "w") as out:
        for number, deadline in enumerate(deadlines):
            known = f'"taskId":"{task_id(number)}",' if number % every == 0 else ""
            out.write('{%s"payload":{"n":%d},"deadline":%d,"ttlSeconds":86400}\n' % (known, number, deadline))
    begin = time.time()
    subprocess.run([FRESHET, "put", "--url", url, "--queue", QUEUE, "--file", path, "--batch", "1000"], check=True,
                   stdout=subprocess.DEVNULL)
    return time.time() - begin


def sample_step(deadlines):
    return max(1, len(deadlines) // SAMPLES)


def lags_of(url, deadlines):
    """How late the tasks with known ids were shed, in ms."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    out = []
    for number in range(0, len(deadlines), sample_step(deadlines)):
        connection.request("GET", f"/queues/{QUEUE}/tasks/{task_id(number)}")
        task = json.load(connection.getresponse())
        if task["taskStatus"] != "SHED":
            sys.exit(f"{task_id(number)} is {task['taskStatus']}")
        out.append(task["taskUpdated"] - deadlines[number])
    return out


def left(url):
    return ask(url, f"/queues/{QUEUE}/stats")["depth"].get("PENDING", 0)


def check_books(url, tasks):
    stats = ask(url, f"/queues/{QUEUE}/stats")
    if stats["depth"].get("SHED", 0) != tasks or stats["shed"] != {"deadline": tasks}:
        sys.exit(f"{tasks} tasks expired, and the books say {stats['depth']}, {stats['shed']}")


def lead(tasks):
    return 5 + tasks / 15_000  # Seconds to put them all; less is checked.


def commits(url):
    """How many commits took less than each bound (seconds), and the longest since the start."""
    with urllib.request.urlopen(url + "/metrics", timeout=60) as answer:
        page = answer.read().decode()
    below = [(float(bound), int(count)) for bound, count in re.findall(r'freshet_commit_seconds_bucket{le="([^"]+)"} (\d+)', page)]
    counts = [(bound, count - before) for (bound, count), (_, before) in zip(below, [(0, 0)] + below)]
    return counts, float(re.search(r"^freshet_commit_max_seconds (\S+)", page, re.M).group(1))


def longest_commit(before, after):
    """The longest commit between the two, in ms; an upper bound."""
    if after[1] > before[1]:
        return after[1] * 1000
    return max((bound * 1000 for (bound, count), (_, old) in zip(after[0], before[0]) if count > old), default=0)


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Window:
    """From its making to close(): live tasks done a second, and the processors' time."""

    def __init__(self, live, daemon_pid):
        self.live, self.daemon_pid = live, daemon_pid
        self.begin = self.look()

    def look(self):
        asked = time.time()
        done = self.live.done()
        return (asked + time.time()) / 2, done, cpu_seconds(self.daemon_pid), self.live.cpu()

    def close(self):
        began, done_before, daemon_before, (run_before, clients_before) = self.begin
        ended, done, daemon_cpu, (run, clients) = self.look()
        took = ended - began
        same = run == run_before  # Otherwise it is not known what the one before took to its end.
        return {"live": (done - done_before) / took, "daemonCpu": (daemon_cpu - daemon_before) / took,
                "clientsCpu": (clients - clients_before) / took if same else None}


def by_pairs(windows, order):
    losses = []
    for place in range(0, len(order), 2):
        on, off = (place, place + 1) if order[place] else (place + 1, place)
        losses.append(1 - windows[on]["live"] / windows[off]["live"])
    losses.sort()
    n = len(losses)
    rank = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)))  # The rank of the median's confidence bound, from the binomial distribution.
    out = {"liveLoss": statistics.median(losses), "liveLossQuartiles": [losses[n // 4], losses[(3 * n - 1) // 4]],
           "liveLossBounds": [losses[rank], losses[n - 1 - rank]], "pairs": n}
    for name, which in (("With", True), ("Without", False)):
        for figure in ("live", "daemonCpu", "clientsCpu"):
            known = [one[figure] for one, on in zip(windows, order) if on == which and one[figure] is not None]
            out[figure + name] = statistics.median(known) if known else None
    return out


def percentiles(lags, name):
    lags = sorted(lags)
    return {f"lag{name}P50Ms": lags[len(lags) // 2], f"lag{name}P90Ms": lags[int(len(lags) * 0.9)],
            f"lag{name}P99Ms": lags[int(len(lags) * 0.99)], f"lag{name}MaxMs": lags[-1]}


def spread(folder, tasks, seconds, window):
    pairs = round(seconds / window)
    order = [on for pair in range(pairs) for on in ((False, True) if pair % 2 == 0 else (True, False))]
    with daemon(folder) as (url, pid), Live(url) as live:
        begin = time.time() + lead(tasks)
        deadlines = []
        for place, on in enumerate(order):
            if on:
                first = (begin + place * window) * 1000
                deadlines += [int(first + i * window * 1000 / (tasks / pairs)) for i in range(round(tasks / pairs))]
        fill(url, folder, deadlines)
        if time.time() > begin:
            sys.exit("the tasks were not there before the first was due: a longer lead is needed")
        seen, windows = [], []
        time.sleep(max(0, begin - time.time()))
        before = commits(url)
        for place, on in enumerate(order):
            end = begin + (place + 1) * window
            this = Window(live, pid)
            while time.time() < end:
                gone = len(deadlines) - left(url)
                if on and gone < len(deadlines):
                    seen.append(max(0.0, time.time() * 1000 - deadlines[gone]))
                time.sleep(0.05)
            windows.append(this.close())
        longest = longest_commit(before, commits(url))
        while left(url) > 0:
            time.sleep(0.05)
        check_books(url, len(deadlines))
        lags = lags_of(url, deadlines)
    return {**percentiles(lags, ""), **percentiles(seen, "Seen"), "lagBeyond50Ms": sum(lag > 50 for lag in lags) / len(lags),
            "longestCommitMs": longest, **by_pairs(windows, order), "windows": [[on, round(one["live"])] for on, one in zip(order, windows)]}


def burst(folder, tasks):
    with daemon(folder) as (url, _), Live(url) as live:
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


def measure(work, tasks=1_000_000, seconds=60.0, window=2.0, only=("spread", "burst")):
    out = {}
    for name, run in (("spread", lambda folder: spread(folder, tasks, seconds, window)),
                      ("burst", lambda folder: burst(folder, tasks))):
        if name in only:
            with tempfile.TemporaryDirectory(prefix="expire-", dir=work) as folder:
                out[name] = run(pathlib.Path(folder))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--window", type=float, default=2)
    parser.add_argument("--only", choices=("spread", "burst"), action="append")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    out = measure(ROOT / "build", options.tasks, options.seconds, options.window, options.only or ("spread", "burst"))
    print(json.dumps(out, indent=1))
    if options.json:
        options.json.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
