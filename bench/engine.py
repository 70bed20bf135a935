#!/usr/bin/env python3
"""Measures a queue whose table is in an engine (--store dynamodb), with ExtendDB as the engine:

    bench/engine.py replay [--tasks 500]
        One daemon beside a bare client that sends the engine the same requests again.
    bench/engine.py start [--tasks 500] [--lag-ms 1500] [--round-trip-ms 5]
        The time from a task's creation to its start, in a fleet of two, where each request to the engine takes
        --round-trip-ms, and its indexes lag by --lag-ms; then the same for tasks that a client puts into the table,
        of which nobody tells the daemons.
    bench/engine.py claims [--tasks 500]
        How many claims the engine refuses: twelve pull workers at the two daemons of a fleet take while others create,
        with indexes 10 ms, 100 ms and 1.5 s late. Halfway the daemon that serves the queue gets SIGTERM.
    bench/engine.py throttle [--seconds 60]
        What the daemon sends while the engine throttles half of its requests, then all of them for that long, then none.
"""
import argparse
import collections
import http.client
import http.server
import itertools
import json
import os
import pathlib
import queue
import re
import socket
import statistics
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/conformance"), str(ROOT / "tests/faults")]
import extenddb  # noqa: E402
import fleet_proxy  # noqa: E402
from daemon import Daemon, Refused  # noqa: E402

FRESHET = os.environ.get("FRESHET_BINARY", ROOT / "build/release/freshet")
KEYS = {**extenddb.ExtendDB.environment, "AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
QUEUE = "/queues/QueueTable"
WORKERS = 8


class Proxy(fleet_proxy.Proxy):
    """Between a daemon and the engine: keeps what passes, and delays or throttles it."""

    def __init__(self, engine):
        super().__init__(engine, seed=0)
        self.round_trip_s, self.throttled = 0, 0.0
        self.sent, self.accepted, self.passed, self.tap = collections.Counter(), collections.Counter(), 0.0, None
        self.claims = collections.Counter()  # "made", "refused".

    def draw(self):
        time.sleep(self.round_trip_s)
        with self.lock:
            second = int(time.monotonic())
            self.sent[second] += 1
            self.passed += 1 - self.throttled
            refuse = self.rng.random() < self.throttled
            if not refuse:
                self.accepted[second] += 1
            return "throttle" if refuse else None


class Tapped(fleet_proxy.Connection):
    def exchange(self, request):
        with self.proxy.lock:
            if self.proxy.tap is not None:
                self.proxy.tap.append(request)
        answer = super().exchange(request)
        if b".UpdateItem" in request[0] and b"taskTaken" in request[1]:  # No other write sets that.
            with self.proxy.lock:
                self.proxy.claims["refused" if b"ConditionalCheckFailed" in answer[1] else "made"] += 1
        return answer


fleet_proxy.Connection = Tapped


class Handler:
    """Does each task at once, and notes when it came."""

    def __init__(self):
        self.came = {}
        handler = self

        class Answer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_POST(self):
                at = time.monotonic()
                task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                handler.came.setdefault(task["taskId"], at)
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
                self.wfile.flush()

            def log_message(self, *unused):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def daemon(place, url, *options, runner="none"):
    one = Daemon(FRESHET, place, "--store", "dynamodb", "--endpoint", url, "--create-tables", *options, runner=runner)
    one.environment = KEYS
    return one.start()


def again(daemons, method, path, document, first=0):
    """At `first` of the daemons, and at the next one if that is down."""
    daemons = daemons if isinstance(daemons, list) else [daemons]
    while True:
        try:
            return daemons[first % len(daemons)].call(method, path, document)
        except Refused as refused:
            if refused.status not in (429, 503):
                raise
        except (OSError, http.client.HTTPException):
            if len(daemons) == 1:
                raise
            first += 1
        time.sleep(0.02)


def cpu_s(one):
    fields = pathlib.Path(f"/proc/{one.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def on_threads(work):
    threads = [threading.Thread(target=work, args=(number,)) for number in range(WORKERS)]
    began = time.monotonic()
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return time.monotonic() - began


def live(one, tasks):
    """Creates all tasks, then takes and completes them, each in a request of its own. Returns the seconds."""
    def create(number):
        for i in range(number, tasks, WORKERS):
            again(one, "POST", QUEUE + "/tasks", {"taskId": f"t{i}", "payload": "x" * 300})

    def take(_):
        while taken := again(one, "POST", QUEUE + "/take", {"max": 1})["tasks"]:
            again(one, "POST", QUEUE + "/settle",
                  {"settle": [{"taskId": taken[0]["taskId"], "lease": taken[0]["lease"], "outcome": "complete"}]})
    return on_threads(create) + on_threads(take)


def replay_to(url, requests):
    """Sends the requests as they are. Those of a task go in order; otherwise each worker takes the next one."""
    host, port = url.rpartition("/")[2].split(":")
    queues = [queue.SimpleQueue() for _ in range(WORKERS)]
    for number, (head, body) in enumerate(requests):
        task = re.search(rb'"t(\d+)"', body)
        queues[(int(task.group(1)) if task else number) % WORKERS].put(head + body)
    refused = collections.Counter()

    def send(number):
        connection = socket.create_connection((host, int(port)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = connection.makefile("rb")
        while not queues[number].empty():
            connection.sendall(queues[number].get())
            head, _ = fleet_proxy.read_message(stream)
            refused[fleet_proxy.status_of(head)] += 1
        connection.close()
    return on_threads(send), refused


def replay(options, place):
    with extenddb.ExtendDB() as engine, Proxy(engine.url) as proxy:
        one = daemon(place / "tapped", proxy.url)
        proxy.tap = []
        live(one, options.tasks)
        requests, proxy.tap = proxy.tap, None
        one.stop()
    rounds = []
    for number in range(options.rounds):
        with extenddb.ExtendDB() as engine:
            one = daemon(place / f"direct{number}", engine.url)
            before = cpu_s(one)
            took = live(one, options.tasks)
            busy = cpu_s(one) - before
            one.stop()
        with extenddb.ExtendDB() as engine, Proxy(engine.url) as proxy:
            daemon(place / f"tables{number}", proxy.url).stop()
            bare, answers = replay_to(engine.url, requests)
        rounds.append((bare / took, busy / took, 1000 * busy / len(requests)))
        print(f"daemon {took:.2f} s, {busy:.2f} s of a processor; bare client {bare:.2f} s, answers {dict(answers)}", flush=True)
    rate, share, each = (statistics.median(values) for values in zip(*rounds))
    print(f"{options.tasks} tasks, {len(requests)} requests: the daemon does {rate:.2f} x what the bare client does. Its own work takes {each:.2f} ms"
          f" of a processor for each request, in sum {100 * share:.1f} % of the time of one processor")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def start(options, place):
    handler = Handler()
    with extenddb.ExtendDB() as engine, Proxy(engine.url) as proxy:
        members = [daemon(place / name, proxy.url, "--fleet", "--set", "ProcessTasksFunction.CONCURRENCY=16", runner=handler.url)
                   for name in "ab"]
        again(members[0], "GET", QUEUE + "/stats", None)
        engine.set_index_lag(options.lag_ms)
        proxy.round_trip_s = options.round_trip_ms / 1000
        time.sleep(10)
        print(f"{options.tasks} tasks, {options.round_trip_ms:g} ms a request, indexes {options.lag_ms} ms late, from the request to the start:")

        def measure(how, pause_s, tasks, create):
            at = {}
            for i in range(tasks):
                time.sleep(pause_s)
                at[f"{how}-{i}"] = time.monotonic()
                create(i, f"{how}-{i}")
            while not handler.came.keys() >= at.keys():
                time.sleep(0.1)
            took = [1000 * (handler.came[name] - began) for name, began in at.items()]
            print(f"  {how}: p50 {percentile(took, 0.5):.1f}, p99 {percentile(took, 0.99):.1f}, at most {max(took):.1f} ms", flush=True)

        measure("created at both daemons in turn, 20 a second", 0.05, options.tasks,
                lambda i, name: again(members[i % 2], "POST", QUEUE + "/tasks", {"taskId": name, "payload": i}))
        measure("put by a client, one in 3.1 s", 3.1, min(options.tasks, 100),
                lambda i, name: members[i % 2].dynamodb("PutItem", TableName="QueueTable",
                                                        Item={"taskId": {"S": name}, "taskStatus": {"S": "PENDING"},
                                                              "taskCreated": {"N": str(int(time.time() * 1000))}}))
        for one in members:
            one.stop()


def takers(members, tasks, left):
    """Twelve pull workers, half of them at each daemon, and two that create. `left`: counts what is not done."""
    lock, numbers = threading.Lock(), itertools.count()

    def create(number):
        while (task := next(numbers)) < tasks:
            again(members, "POST", QUEUE + "/tasks", {"payload": task}, number)

    def take(number):
        while left[0] > 0:
            for task in again(members, "POST", QUEUE + "/take", {"max": 1, "waitMs": 200}, number)["tasks"]:
                settle = {"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"}
                settled = again(members, "POST", QUEUE + "/settle", {"settle": [settle]}, number)["settled"][0]
                with lock:
                    left[0] -= "error" not in settled
    threads = [threading.Thread(target=create, args=(number,)) for number in range(2)]
    threads += [threading.Thread(target=take, args=(number,)) for number in range(12)]
    for one in threads:
        one.start()
    return threads


def claims(options, place):
    print(f"{options.tasks} tasks, twelve workers at the two daemons of a fleet:")
    for lag_ms in (10, 100, 1500):
        folder = place / f"lag-{lag_ms}"
        with extenddb.ExtendDB() as engine, Proxy(engine.url) as proxy:
            members = [daemon(folder / name, proxy.url, "--fleet") for name in "ab"]
            again(members[0], "GET", QUEUE + "/stats", None)
            engine.set_index_lag(lag_ms)
            time.sleep(2)
            left = [options.tasks]
            threads = takers(members, options.tasks, left)
            while left[0] > options.tasks / 2:
                time.sleep(0.01)
            with proxy.lock:
                halves = [proxy.claims.copy()]
                proxy.claims.clear()
            shown = members[0].call("GET", "/fleet")
            owner = next(one["id"] for one in shown["members"] if "queue/QueueTable" in one["holds"])
            (members[0] if owner == shown["member"] else members[1]).stop()
            for one in threads:
                one.join()
            halves.append(proxy.claims)
            said = [f"{sum(half.values())} claims, {half['refused']} refused" for half in halves]
            print(f"  indexes {lag_ms} ms late: {said[0]}; then, with another owner, {said[1]}", flush=True)
            for one in members:
                if one.process.poll() is None:
                    one.stop()


def throttle(options, place):
    handler = Handler()
    with extenddb.ExtendDB() as engine, Proxy(engine.url) as proxy:
        one = daemon(place / "a", proxy.url, "--set", "ProcessTasksFunction.CONCURRENCY=4", runner=handler.url)
        stopping, created = threading.Event(), collections.Counter()

        def create():
            number = 0
            while not stopping.wait(0.05):
                try:
                    one.call("POST", QUEUE + "/tasks", {"taskId": f"t{number}", "payload": number})
                    created[int(time.monotonic())] += 1
                    number += 1
                except (Refused, OSError):
                    pass

        creators = threading.Thread(target=create)
        creators.start()

        def phase(name, share, seconds):
            with proxy.lock:
                proxy.throttled = share
                sent, passed = sum(proxy.sent.values()), proxy.passed
            done, busy, began = len(handler.came), cpu_s(one), time.monotonic()
            time.sleep(seconds)
            took = time.monotonic() - began
            asked = sum(proxy.sent.values()) - sent
            print(f"{name}: {asked / took:.1f} requests a second, {(proxy.passed - passed) / took:.1f} of them accepted,"
                  f" {(len(handler.came) - done) / took:.1f} tasks done a second, {100 * (cpu_s(one) - busy) / took:.1f} % of a processor", flush=True)
            return asked / max(1, len(handler.came) - done), (len(handler.came) - done) / took

        time.sleep(5)
        usual, rate = phase("no throttling", 0, 20)
        half, _ = phase("half of the requests throttled", 0.5, options.seconds)
        print(f"requests a task that is done, beside those needed if each of two is refused: {half / (2 * usual):.2f} x")
        phase("all throttled", 1, options.seconds)
        with proxy.lock:
            proxy.throttled = 0
        began, reached = time.monotonic(), None
        for _ in range(60):
            done, at = len(handler.came), time.monotonic()
            time.sleep(0.5)
            if reached is None and (len(handler.came) - done) / (time.monotonic() - at) >= 0.9 * rate:
                reached = at - began
                break
        print(f"the full rate of {rate:.1f} tasks a second is back {'after %.1f s' % reached if reached is not None else 'not within 30 s'}")
        phase("no throttling again", 0, 10)
        stopping.set()
        creators.join()
        one.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("replay", "start", "claims", "throttle"))
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lag-ms", type=int, default=1500)
    parser.add_argument("--round-trip-ms", type=float, default=5)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    extenddb.need()
    with tempfile.TemporaryDirectory() as place:
        {"replay": replay, "start": start, "claims": claims, "throttle": throttle}[options.what](options, pathlib.Path(place))


if __name__ == "__main__":
    main()
