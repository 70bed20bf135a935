#!/usr/bin/env python3
"""How well CONCURRENCY=adaptive follows a downstream that slows down four times: the daemon as it is shipped
(config/lifo.yaml, a store of its own, synced), a backlog that does not end, and an HTTP handler with 16 servers and
exponential service times of 100 ms, behind which further calls wait.

    bench/slowdown.py [--runs 3] [--json FILE]

Thirty seconds after the start either each task takes four times as long (the best concurrency stays 16), or three of
four servers are gone (it falls to 4); each in turn, with a daemon of its own. What counts is `freshet_queue_concurrency`,
looked at ten times a second and averaged from ten to fifteen seconds after the change (a moment's figure goes up and
down, as the processor looks around), beside the best. bench/table.py (section slowdown) prints the rows.
"""
import argparse
import http.server
import json
import pathlib
import random
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
SERVERS, MEAN = 16, 0.1
CHANGE, LOOK, END = 30, 40, 45  # Seconds after the start.
CHANGES = {"tasks take 4 x as long": (4, SERVERS), "3 of 4 servers are gone": (1, SERVERS // 4)}


class Downstream(http.server.ThreadingHTTPServer):
    """Its servers; what is more waits for one of them."""
    request_queue_size = 1024
    daemon_threads = True

    def __init__(self, seed):
        super().__init__(("127.0.0.1", 0), Handler)
        self.free = threading.Condition()
        self.servers, self.busy, self.slower = SERVERS, 0, 1
        self.random = random.Random(seed)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def work(self):
        with self.free:
            while self.busy >= self.servers:
                self.free.wait()
            self.busy += 1
            duration = self.random.expovariate(1) * MEAN * self.slower
        time.sleep(duration)
        with self.free:
            self.busy -= 1
            self.free.notify_all()


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


def limit_of(url):
    with urllib.request.urlopen(url + "/metrics", timeout=10) as answer:
        found = re.search(r'^freshet_queue_concurrency\{queue="QueueTable"\} (\S+)', answer.read().decode(), re.M)
    return float(found.group(1))


def run(folder, seed, slower, servers):
    """Concurrency in the end, over the best."""
    downstream = Downstream(seed)
    ready = folder / "ready"
    process = subprocess.Popen(
        [FRESHET, "run", ROOT / "config/lifo.yaml", "--set", f"ProcessTasksFunction.TASK_RUNNER=http://127.0.0.1:{downstream.server_port}/",
         "--set", "ProcessTasksFunction.CONCURRENCY=adaptive", "--data", folder / "store", "--listen", "127.0.0.1:0", "--ready-file", ready,
         "--log-level", "error"])
    try:
        while not ready.exists():
            if process.poll() is not None:
                sys.exit("the daemon did not start")
            time.sleep(0.05)
        url = "http://127.0.0.1:" + ready.read_text().strip().rsplit(":", 1)[1]
        tasks = folder / "tasks.jsonl"
        tasks.write_text('{"payload":{}}\n' * (2 * END * int(SERVERS / MEAN)))
        subprocess.run([FRESHET, "put", "--url", url, "--file", tasks, "--batch", "1000"], check=True, stdout=subprocess.DEVNULL)
        begin, seen = time.time(), []
        while (now := time.time() - begin) < END:
            if now >= CHANGE:
                with downstream.free:
                    downstream.slower, downstream.servers = slower, servers
            if now >= LOOK:
                seen.append(limit_of(url))
            time.sleep(0.1)
        return statistics.mean(seen) / servers
    finally:
        process.terminate()
        process.wait()
        downstream.shutdown()
        downstream.server_close()


def measure(runs, first_seed=3001):
    """By what changes: of each run the concurrency it comes to, over the best."""
    out = {name: [] for name in CHANGES}
    for seed in range(first_seed, first_seed + runs):
        for name, (slower, servers) in CHANGES.items():
            with tempfile.TemporaryDirectory(prefix="slowdown-") as folder:
                out[name].append(run(pathlib.Path(folder), seed, slower, servers))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    reached = measure(options.runs)
    for name, ratios in reached.items():
        print(f"{name:26s} {statistics.median(ratios):.2f} x the best, the median; " + ", ".join(f"{one:.2f}" for one in ratios))
    if options.json:
        options.json.write_text(json.dumps(reached, indent=1) + "\n")


if __name__ == "__main__":
    main()
