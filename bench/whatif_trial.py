#!/usr/bin/env python3
"""Does `freshet whatif` say what then happens? Real daemons under overload, whose policy is switched in the middle.

    bench/whatif_trial.py [--runs 20] [--half 20] [--first-seed 1] [--json FILE] [--keep FOLDER | --again FOLDER]

In each run the daemon (config/lifo.yaml, a store in memory) has more tasks than it can do, with times drawn for
arrivals, deadlines and service, and an HTTP handler. After the first half `freshet whatif` is asked, of the recording
of that half, what share the next policy would have done in time; then the policy is switched to that one. The share
that the second half really did is counted from the events of its recording by this script, not by whatif. A run hits if
that share lies in the 90 % interval that was said before. Each run has a switch, a load and a seed of its own.
--keep keeps the recordings of the first halves and the results; --again asks whatif about those again, without daemons.
"""
import argparse
import concurrent.futures
import http.client
import http.server
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
FRESHET = ROOT / "build/release/freshet"
QUEUE = "/queues/QueueTable"
CLIENTS = 4
WARM_UP = 6  # Seconds before the first half.
MEAN = 0.08  # Seconds of service.

# The policy before, and what is changed.
SWITCHES = [
    ({"ORDER": "fifo"}, {"ORDER": "lifo"}),
    ({"ORDER": "lifo"}, {"ORDER": "fifo"}),
    ({"ORDER": "fifo"}, {"ORDER": "deadline"}),
    ({"ORDER": "lifo"}, {"ORDER": "deadline"}),
    ({"ORDER": "fifo"}, {"DEADLINE_MARGIN": "p90"}),
    ({"ORDER": "lifo"}, {"DEADLINE_MARGIN": "p90"}),
    ({"ORDER": "lifo"}, {"CONCURRENCY": "4"}),
    ({"ORDER": "deadline", "CONCURRENCY": "4"}, {"CONCURRENCY": "6"}),
    ({"ORDER": "lifo"}, {"RATE_LIMIT": "50"}),
    ({"ORDER": "fifo"}, {"ORDER": "adaptive", "DEADLINE_MARGIN": "yield"}),
]
LOADS = [1.2, 1.6, 2.2]  # Times what the first policy can do.
DEADLINES = [(1000, 1000), (400, 3000), (1500, 2500)]  # In ms, uniform between the two.


class Downstream(http.server.ThreadingHTTPServer):
    """Takes exponential times, whatever the number of calls."""
    request_queue_size = 1024
    daemon_threads = True

    def __init__(self, seed):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.random = threading.Lock(), random.Random(seed)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def work(self):
        with self.lock:
            duration = self.random.expovariate(1) * MEAN
        time.sleep(duration)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.work()
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Client:
    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=60)

    def call(self, method, path, body=None):
        self.connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            sys.exit(f"{method} {path}: {answer.status} {text}")
        return text, answer.headers


def create_tasks(address, seed, rate, deadlines, until):
    """An open loop of tasks, at times of a Poisson process. Returns how far it was behind at the end, in seconds."""
    draw, client, due = random.Random(seed), Client(address), time.monotonic()
    while (due := due + draw.expovariate(rate)) < until:
        time.sleep(max(0, due - time.monotonic()))
        client.call("POST", QUEUE + "/tasks", {"payload": 1, "deadlineMs": draw.randint(*deadlines)})
    return max(0, time.monotonic() - until)


def share_done(client, begin_ms, end_ms):
    """In percent, and the number of tasks: of those that came between the two."""
    due, done, place = {}, 0, ""
    while True:
        text, headers = client.call("GET", QUEUE + "/recording" + place)
        for line in map(json.loads, text.splitlines()):
            task = line.get("task")
            if task is None:
                continue
            if "from" not in line and line.get("to") == "PENDING" and begin_ms <= line["at"] < end_ms:
                due[task] = line["at"] + line["about"]["dueInMs"]
            done += task in due and line.get("to") == "SUCCESS" and line["at"] <= due[task]
        place = headers["X-Freshet-Next"]
        if not place:
            return 100 * done / len(due), len(due)
        place = "?place=" + urllib.parse.quote(place)


def ask(saved, one, half):
    """Adds to the result what whatif says of the recording."""
    changes = [f"--set={name}={value}" for name, value in one["to"].items()]
    asked = subprocess.run([FRESHET, "whatif", "--file", saved, "--json", "--window", f"{half}s", "--last", f"{half}s", "--budget", "10m",
                            "--seed", str(one["seed"]), *changes], check=True, capture_output=True, text=True)
    said = json.loads(asked.stdout)
    [other] = [policy for policy in said["policies"] if not policy["inForce"]]
    return {**one, "recorded": said["recorded"]["percent"], "said": other["percent"], "low": other["low"], "high": other["high"],
            "hit": other["low"] <= one["cameTo"] <= other["high"]}


def run(folder, seed, half):
    """Runs a daemon through both halves. The recording of the first one is left in the folder."""
    before, change = SWITCHES[seed % len(SWITCHES)]
    draw = random.Random(seed)
    load, deadlines = draw.choice(LOADS), draw.choice(DEADLINES)
    policy = {"CONCURRENCY": "6", **before}
    rate = load * int(policy["CONCURRENCY"]) / MEAN
    downstream, ready = Downstream(seed), folder / "ready"
    settings = [word for name, value in policy.items() for word in ("--set", f"ProcessTasksFunction.{name}={value}")]
    process = subprocess.Popen([FRESHET, "run", ROOT / "config/lifo.yaml", *settings, "--set",
                                f"ProcessTasksFunction.TASK_RUNNER=http://127.0.0.1:{downstream.server_port}/", "--data", ":memory:",
                                "--listen", "127.0.0.1:0", "--ready-file", ready, "--log-level", "error"])
    try:
        while not ready.exists():
            if process.poll() is not None:
                sys.exit("the daemon did not start")
            time.sleep(0.05)
        address = "127.0.0.1:" + ready.read_text().strip().rsplit(":", 1)[1]
        client, begin = Client(address), time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            until = begin + WARM_UP + 2 * half
            ends = [pool.submit(create_tasks, address, 100 * seed + i, rate / CLIENTS, deadlines, until) for i in range(CLIENTS)]
            time.sleep(begin + WARM_UP + half - time.monotonic())
            saved = folder / "first.jsonl"
            subprocess.run([FRESHET, "recording", "save", saved, "--url", "http://" + address], check=True, capture_output=True)
            switched = time.time() * 1000
            client.call("POST", QUEUE + "/policy", change)
            behind = max(one.result() for one in ends)
        time.sleep(deadlines[1] / 1000 + 0.5)
        came_to, tasks = share_done(client, switched, switched + 1000 * (half - 1))
    finally:
        process.terminate()
        process.wait()
        downstream.shutdown()
        downstream.server_close()
    return {"seed": seed, "from": policy, "to": change, "load": load, "deadlinesMs": deadlines, "cameTo": round(came_to, 2), "tasks": tasks,
            "behindS": round(behind, 2)}


def results_of(options):
    if options.again:
        for kept in sorted(options.again.glob("*.json"), key=lambda path: int(path.stem)):
            yield ask(kept.with_suffix(".jsonl"), json.loads(kept.read_text()), options.half)
        return
    for seed in range(options.first_seed, options.first_seed + options.runs):
        with tempfile.TemporaryDirectory(prefix="whatif-") as folder:
            one, saved = run(pathlib.Path(folder), seed, options.half), pathlib.Path(folder) / "first.jsonl"
            if options.keep:
                shutil.copy(saved, options.keep / f"{seed}.jsonl")
                (options.keep / f"{seed}.json").write_text(json.dumps(one))
            yield ask(saved, one, options.half)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--half", type=int, default=20, help="seconds of each half")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the recordings and results")
    parser.add_argument("--again", type=pathlib.Path, help="a folder that --keep has filled")
    options = parser.parse_args()
    results = []
    for one in results_of(options):
        results.append(one)
        to = " ".join(f"{name}={value}" for name, value in one["to"].items())
        print(f"{one['seed']:3d} {one['from']['ORDER']:8s} -> {to:38s} {one['load']:.1f} x  recorded {one['recorded']:5.1f} %  said {one['said']:5.1f} %"
              f" ({one['low']:.1f} to {one['high']:.1f})  came to {one['cameTo']:5.1f} %  {'hit' if one['hit'] else 'MISS'}", flush=True)
    hits = sum(one["hit"] for one in results)
    wide = sorted(one["high"] - one["low"] for one in results)[len(results) // 2]
    print(f"{hits} of {len(results)} hit; the median interval is {wide:.1f} points wide")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
