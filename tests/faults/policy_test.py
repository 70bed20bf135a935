#!/usr/bin/env python3
"""Policies changed at random, over HTTP and by deploys, under load, with kill -9 in the middle, through the real binary.

Clients create tasks, a handler does them; the policy is another one every few milliseconds; the daemon is killed at a random
moment and started again on the same data. In one life no task is started twice, and over all of them only those that were in
work at a kill. At the end every task whose creation was acknowledged is done or shed, and the books balance.
"""
import collections
import http.server
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

from daemon import QUEUE, ROOT, Daemon, Refused, check_books, kill_options

TEMPLATE = ROOT / "config/lifo.yaml"
RIGHT = [{"ORDER": "fifo"}, {"ORDER": "lifo"}, {"ORDER": "adaptive", "DEADLINE_MARGIN": "yield"}, {"ORDER": "deadline"},
         {"ORDER": "deadline", "REFUSE_LATE": "on", "CONCURRENCY": "adaptive", "PAGE_LIMIT": 0}, {"DEADLINE_MARGIN": "p90"},
         {"DEADLINE_MARGIN": "off"}, {"MAX_WAITING": 40, "RESERVED_SHARE": 0.5}, {"MAX_WAITING": 0}, {"MAX_WAITING_BYTES": 9000},
         {"MAX_WAITING_BYTES": 0}, {"REFUSE_LATE": "on"}, {"REFUSE_LATE": "off"}, {"CONCURRENCY": 1, "PAGE_LIMIT": 0},
         {"CONCURRENCY": 16}, {"CONCURRENCY": "adaptive", "PAGE_LIMIT": 0}, {"CONCURRENCY": 4, "PAGE_LIMIT": 8},
         {"RATE_LIMIT": 200}, {"RATE_LIMIT": 0}, {"DEFAULT_TTL_S": 0}, {"DEFAULT_TTL_S": 3600}]
WRONG = [{"ORDER": "random"}, {"MAX_WAITING": "00"}, {"CONCURRENCY": "adaptive", "PAGE_LIMIT": 3}, {"RATE_LIMIT": -1},
         {"CONCURRENCY": "adaptive", "CONCURRENCY_MIN": 5, "CONCURRENCY_MAX": 4, "PAGE_LIMIT": 0}]
DEPLOYED = [[], ["ORDER=fifo"], ["ORDER=adaptive", "DEADLINE_MARGIN=yield"], ["CONCURRENCY=8", "MAX_WAITING=1000"],
            ["CONCURRENCY=adaptive", "REFUSE_LATE=on"],
            ["CONCURRENCY=adaptive", "ORDER=deadline", "REFUSE_LATE=on"]]

MOST_WAITING = 500  # The tasks that remain at the end must be done before they can be counted.


class Handler(http.server.BaseHTTPRequestHandler):
    """Counts the starts of each task by each daemon: `NODE:INCARNATION:NUMBER` is the form of a lease."""

    protocol_version = "HTTP/1.1"
    lock, started = threading.Lock(), collections.Counter()

    def do_POST(self):
        task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with Handler.lock:
            Handler.started[task["lease"].rsplit(":", 1)[0], task["taskId"]] += 1
        time.sleep(0.002)
        try:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")
        except OSError:
            self.close_connection = True  # The daemon was killed.

    def log_message(self, *_):
        pass


def create(daemon, rng, name, ledger, stop):
    number = 0
    while not stop.is_set():
        tasks = []
        for _ in range(rng.choice((1, 5, 20))):
            task = {"taskId": f"{name}-{number}", "group": rng.choice(("", "a", "b"))}
            number += 1
            if rng.random() < 0.3:
                task["deadline"] = int(time.time() * 1000) + rng.randrange(1, 500)
            if rng.random() < 0.1:
                task["delayMs"] = rng.randrange(100)
            tasks.append(task)
        try:
            while daemon.stats()["depth"]["PENDING"] > MOST_WAITING and not stop.is_set():
                time.sleep(0.01)
            results = daemon.call("POST", QUEUE + "/tasks", {"tasks": tasks})["results"]
        except OSError:
            return
        for task, result in zip(tasks, results):
            if "error" not in result:
                ledger["created"].add(task["taskId"])
            elif "its deadline" in result["error"]["message"] and task.get("deadline", 0) <= time.time() * 1000:
                pass  # It passed on the way.
            elif result["error"]["code"] != "TooManyRequestsException":
                ledger["problems"].append(f"{task} was refused: {result}")
        time.sleep(rng.random() * 0.02)


def change(daemon, binary, runner, rng, ledger, stop):
    while not stop.is_set():
        try:
            luck = rng.random()
            if luck < 0.1:
                words = [word for one in ["TASK_RUNNER=" + runner, "MAX_ATTEMPTS=1000", *rng.choice(DEPLOYED)] for word in ("--set", "ProcessTasksFunction." + one)]
                done = subprocess.run([str(binary), "deploy", str(TEMPLATE), *words], timeout=60, capture_output=True, text=True, check=False,
                                      env={**os.environ, "FRESHET_URL": f"http://127.0.0.1:{daemon.port}"})
                if done.returncode and not stop.is_set():
                    ledger["problems"].append(f"deploy {words}: {done.stderr}")
            elif luck < 0.25:
                before = daemon.call("GET", QUEUE + "/policy")
                try:
                    daemon.call("POST", QUEUE + "/policy", rng.choice(WRONG))
                    ledger["problems"].append("a wrong policy was taken")
                except Refused as refused:
                    if refused.status != 400 or daemon.call("GET", QUEUE + "/policy") != before:
                        ledger["problems"].append(f"a wrong policy: {refused}")
            else:
                daemon.call("POST", QUEUE + "/policy", rng.choice(RIGHT))
            ledger["changes"] += 1
        except Refused as refused:  # It contradicts what is set.
            if refused.status != 400:
                ledger["problems"].append(f"a policy: {refused}")
        except OSError:
            return
        time.sleep(rng.random() * 0.01)


def one_life(daemon, runner, rng, ledger, life, seconds):
    stop = threading.Event()
    calls = [(create, (daemon, random.Random(rng.random()), f"l{life}c{i}", ledger, stop)) for i in range(3)]
    calls.append((change, (daemon, daemon.binary, runner, random.Random(rng.random()), ledger, stop)))
    threads = [threading.Thread(target=target, args=args) for target, args in calls]
    for thread in threads:
        thread.start()
    stop.wait(seconds)
    return stop, threads


def settle_down(daemon):
    """Until nothing waits or is in work."""
    daemon.call("POST", QUEUE + "/policy", {"RATE_LIMIT": 0, "PAGE_LIMIT": 0, "CONCURRENCY": 16})
    deadline = time.monotonic() + 120
    while True:
        depth = daemon.stats()["depth"]
        if not any(depth[state] for state in ("PENDING", "TAKEN", "DELAYED")):
            return
        assert time.monotonic() < deadline, depth
        time.sleep(0.02)


def check(daemon, ledger):
    assert not ledger["problems"], ledger["problems"][:3]
    check_books(daemon.stats())
    tasks = {task["taskId"]: task for state in ("SUCCESS", "SHED", "FAILURE", "DEAD", "CANCELLED") for task in daemon.tasks(state)}
    lost = ledger["created"] - tasks.keys()
    assert not lost, f"{len(lost)} acknowledged tasks are lost, e.g. {sorted(lost)[:3]}"
    starts = collections.Counter()
    for (life, name), count in Handler.started.items():
        assert count == 1, f"{name} was started {count} times in life {life}"
        starts[name] += count
    for name, task in tasks.items():
        assert task["taskStatus"] in ("SUCCESS", "SHED"), task
        kills = sum(entry["outcome"] == "daemon died" for entry in task.get("history", []))
        least = task["taskStatus"] == "SUCCESS"
        assert least <= starts[name] <= least + kills, f"started {starts[name]} times, in work at {kills} kills: {task}"
    return len(tasks), sum(count > 1 for count in starts.values())


def main():
    options, rng = kill_options(__doc__)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # Connections of a daemon that was killed.
    threading.Thread(target=server.serve_forever, daemon=True).start()
    runner = f"http://127.0.0.1:{server.server_port}/"
    ledger = {"created": set(), "problems": [], "changes": 0}
    with tempfile.TemporaryDirectory(prefix="freshet-policy-") as folder:
        daemon = Daemon(options.binary, pathlib.Path(folder), "--segment-bytes", "1MiB", "--log-level", "warn",
                        "--set", "ProcessTasksFunction.MAX_ATTEMPTS=1000", runner=runner).start()
        try:
            for life in range(options.rounds):
                stop, threads = one_life(daemon, runner, rng, ledger, life, rng.uniform(0.1, 0.8))
                stop.set()  # First, so that what fails from here on is the kill's doing.
                daemon.kill()
                for thread in threads:
                    thread.join()
                daemon.start()
            stop, threads = one_life(daemon, runner, rng, ledger, options.rounds, 0.3)
            stop.set()
            for thread in threads:
                thread.join()
            settle_down(daemon)
            tasks, again = check(daemon, ledger)
            assert daemon.stop() == 0, daemon.log_tail()
            print(f"{tasks} tasks, {ledger['changes']} changes of the policy, {options.rounds} kills: none lost, {again} that were in "
                  "work at a kill started again, no other twice, books balance")
        except (AssertionError, OSError, Refused, RuntimeError) as error:
            print(f"FAILED (seed {options.seed}): {error!r}\n{daemon.log_tail()}")
            daemon.kill()
            sys.exit(1)


if __name__ == "__main__":
    main()
