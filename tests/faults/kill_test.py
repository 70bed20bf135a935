#!/usr/bin/env python3
"""kill -9 under load, again and again, through the real binary.

Producers create tasks, workers take and settle them; the daemon is killed at a random moment and started again on the same
data. Afterwards every task whose creation was acknowledged is there, every acknowledged completion stands, the books balance
and leases of the dead daemon have been reclaimed: the next round's workers get those tasks again.
"""
import pathlib
import random
import sys
import tempfile
import threading
import time

from daemon import QUEUE, Daemon, Refused, check_books, kill_options

PRODUCERS, WORKERS = 4, 4


class Ledger:
    """The writes that the daemon has acknowledged."""

    def __init__(self):
        self.lock = threading.Lock()
        self.created, self.completed, self.sent = set(), set(), set()
        self.problems = []

    def note(self, members, ids):
        with self.lock:
            members.update(ids)


def produce(daemon, ledger, rng, name, stop):
    number = 0
    while not stop.is_set():
        batch = [f"{name}-{number + i}" for i in range(rng.choice((1, 1, 8, 32)))]
        number += len(batch)
        try:
            answer = daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": t, "payload": {"from": name, "pad": "x" * 100}}
                                                                       for t in batch]})
        except OSError:
            return
        ledger.note(ledger.created, [r["taskId"] for r in answer["results"] if "error" not in r])


def work(daemon, ledger, rng, stop):
    settle = []
    while not stop.is_set():
        try:
            answer = daemon.call("POST", QUEUE + "/take", {"max": rng.choice((1, 4, 16)), "waitMs": 50, "settle": settle})
        except OSError:
            return
        for result in answer.get("settled", []):
            if "error" in result:
                ledger.problems.append(f"a held lease was refused: {result}")
            elif result["taskStatus"] == "SUCCESS":
                ledger.note(ledger.completed, [result["taskId"]])
        # One in ten is taken and forgotten: its lease must be reclaimed.
        settle = [{"taskId": t["taskId"], "lease": t["lease"], "outcome": "complete", "result": {"ok": True}}
                  for t in answer["tasks"] if rng.random() > 0.1]


def one_round(daemon, ledger, rng, number):
    stop = threading.Event()
    threads = [threading.Thread(target=produce, args=(daemon, ledger, random.Random(rng.random()), f"r{number}p{i}", stop))
               for i in range(PRODUCERS)]
    threads += [threading.Thread(target=work, args=(daemon, ledger, random.Random(rng.random()), stop)) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    stop.wait(rng.uniform(0.05, 0.6))  # How far it gets does not matter: any moment must do.
    daemon.kill()
    stop.set()
    for thread in threads:
        thread.join()
    daemon.start()
    # Claims of the dead daemon end by themselves, at once; only then does nothing move any more while we look.
    deadline = time.monotonic() + 20
    while daemon.stats()["depth"].get("TAKEN", 0) > 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    states = {}
    for state in ("PENDING", "TAKEN", "DELAYED", "SUCCESS", "FAILURE", "DEAD", "CANCELLED"):
        for task in daemon.tasks(state):
            states[task["taskId"]] = state
    lost = ledger.created - states.keys()
    assert not lost, f"{len(lost)} acknowledged tasks are lost, e.g. {sorted(lost)[:3]}"
    undone = {t for t in ledger.completed if states[t] != "SUCCESS"}
    assert not undone, f"{len(undone)} acknowledged completions are lost, e.g. {sorted(undone)[:3]}"
    taken = [t for t, s in states.items() if s == "TAKEN"]
    assert not taken, f"leases of the dead daemon were not reclaimed: {taken[:3]}"
    assert not ledger.problems, ledger.problems[:3]
    check_books(daemon.stats())
    return len(ledger.created), len(ledger.completed)


def main():
    options, rng = kill_options(__doc__)
    with tempfile.TemporaryDirectory(prefix="freshet-kill-") as folder:
        # Small segments, so that rotation and compaction are hit too.
        daemon = Daemon(options.binary, pathlib.Path(folder), "--segment-bytes", "1MiB", "--log-level", "warn").start()
        ledger = Ledger()
        try:
            for number in range(options.rounds):
                created, completed = one_round(daemon, ledger, rng, number)
                print(f"round {number + 1}: {created} created, {completed} completed, none lost, books balance", flush=True)
            # The remaining tasks are taken and finished: the queue still works.
            while True:
                tasks = daemon.call("POST", QUEUE + "/take", {"max": 1000})["tasks"]
                if not tasks:
                    break
                daemon.call("POST", QUEUE + "/settle", {"settle": [{"taskId": t["taskId"], "lease": t["lease"],
                                                                    "outcome": "complete"} for t in tasks]})
            check_books(daemon.stats())
            assert daemon.stop() == 0, daemon.log_tail()
        except (AssertionError, Refused) as error:
            print(f"FAILED (seed {options.seed}): {error}\n{daemon.log_tail()}")
            daemon.kill()
            sys.exit(1)


if __name__ == "__main__":
    main()
