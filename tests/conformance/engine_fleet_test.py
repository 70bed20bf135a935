#!/usr/bin/env python3
"""Several daemons that serve one engine's queues of tasks together (--fleet):

  tests/conformance/engine_fleet_test.py freshet|extenddb|dynamodb_local

Everything is started on free ports and stopped. An engine that is not installed is skipped by name."""
import gzip
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import urllib.request

from engine_daemon_test import BINARY, KEYS, ROOT, Handler, Refused, check_books, freshet, next_millisecond
from engine_fleet import LEASE_MS, QUEUE, EngineFleet, main, tests_of
from daemon import SLOWER

KILLS = 5

# Writes when it begins and ends, and the processes above it. Works for as many milliseconds as the payload says.
WORK = """#!{python}
import json, os, sys, time
task, above, process = json.load(sys.stdin), [], os.getppid()
while process > 1:
    above.append(process)
    process = int(open(f"/proc/{{process}}/stat").read().rsplit(")", 1)[1].split()[1])
def note(what):
    line = json.dumps({{"task": task["taskId"], "do": what, "above": above, "process": os.getpid(), "at": time.monotonic()}}) + "\\n"
    os.write(journal, line.encode())
journal = os.open("{journal}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
note("begin")
time.sleep(task["payload"] / 1000)
note("end")
"""

# Also writes a line each 10 ms, so that it is known how long a run went on that was killed.
LONG_WORK = WORK.replace("time.sleep(task[\"payload\"] / 1000)\n", """until = time.monotonic() + task["payload"] / 1000
while time.monotonic() < until:
    time.sleep(0.01)
    note("go on")
""")


def most_at_once(lines):
    most = now = 0
    for line in sorted(lines, key=lambda line: line["at"]):
        now += 1 if line["do"] == "begin" else -1
        most = max(most, now)
    return most


def most_runs_at_once(lines):
    """From the lines of LONG_WORK. A run that was killed ends with its last line."""
    runs = {}
    for line in lines:
        runs.setdefault((line["task"], line["process"]), []).append(line["at"])
    return most_at_once([{"do": what, "at": at} for times in runs.values() for what, at in (("begin", min(times)), ("end", max(times)))])


class FleetOfQueues(EngineFleet):
    def test_each_member_answers_for_every_queue(self):
        daemons = [self.member(name) for name in "abc"]
        for number in range(9):
            self.try_again(daemons[number % 3], "POST", QUEUE + "/tasks", {"taskId": f"t-{number}", "payload": number})
            next_millisecond()
        taken = [self.try_again(daemons[number % 3], "POST", QUEUE + "/take", {"max": 1})["tasks"][0] for number in range(9)]
        self.assertEqual([task["taskId"] for task in taken], [f"t-{number}" for number in reversed(range(9))])
        for number, task in enumerate(taken):
            self.try_again(daemons[number % 3], "POST", QUEUE + "/settle",
                           {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"}]})
        stats = [daemon.stats() for daemon in daemons]
        check_books(stats[0])
        self.assertEqual([one["depth"]["SUCCESS"] for one in stats], [9, 9, 9])
        lists = [daemon.call("GET", "/queues")["queues"] for daemon in daemons]
        self.assertEqual(lists, [["QueueTable"]] * 3)
        # A pause goes with the queue, and each member answers for it.
        daemons[0].call("POST", QUEUE + "/pause", {"reason": "a test"})
        self.assertEqual([daemon.stats()["state"] for daemon in daemons], ["paused"] * 3)
        daemons[1].call("POST", QUEUE + "/resume", {})
        self.assertEqual([daemon.stats()["state"] for daemon in daemons], ["running"] * 3)
        job = daemons[2].call("POST", QUEUE + "/jobs", {"do": "purge", "states": ["SUCCESS"]})
        while daemons[0].call("GET", f"{QUEUE}/jobs/{job['id']}")["phase"] in ("counting", "changing"):
            time.sleep(0.02)
        packed = gzip.compress(json.dumps({"taskId": "packed", "payload": 1}).encode())
        for daemon in daemons:
            request = urllib.request.Request(f"http://127.0.0.1:{daemon.port}{QUEUE}/tasks", packed,
                                             {"Content-Type": "application/json", "Content-Encoding": "gzip"})
            with urllib.request.urlopen(request) as answer:
                self.assertEqual(answer.status, 200)
        with self.assertRaises(Refused) as refused:
            daemons[0].call("GET", "/queues/Nothing/stats")
        self.assertEqual(refused.exception.status, 404)

    def test_another_takes_over_when_the_owner_is_killed(self):
        with Handler() as handler:
            names = iter(range(100))
            daemons = [self.member(f"m{next(names)}", runner=handler.url) for _ in range(3)]
            created, stopping = [], threading.Event()

            def create():
                number = 0
                while not stopping.is_set():
                    asked = daemons[number % len(daemons)]
                    try:
                        asked.call("POST", QUEUE + "/tasks", {"taskId": f"t-{number}", "payload": number})
                        created.append(f"t-{number}")
                        number += 1
                    except (Refused, OSError):
                        time.sleep(0.005)  # Created again under its id, elsewhere perhaps.

            creator = threading.Thread(target=create)
            creator.start()
            gaps = []
            try:
                for _ in range(KILLS):
                    before = len(created)
                    while len(created) < before + 30:
                        time.sleep(0.005)
                    owner = self.owner(daemons)
                    others = [one for one in daemons if one is not owner]
                    owner.kill()
                    begun = time.monotonic()
                    daemons[:] = others
                    while True:
                        try:
                            others[0].stats()
                            break
                        except Refused:
                            time.sleep(0.01)
                    gaps.append(time.monotonic() - begun)
                    daemons.append(self.member(f"m{next(names)}", runner=handler.url))
            finally:
                stopping.set()
                creator.join()
            print(f"served again after {[round(gap, 2) for gap in gaps]} s", file=sys.stderr)
            while (depth := self.depth(daemons[0]))["PENDING"] + depth["DELAYED"] > 0:
                time.sleep(0.1)
            # The counts may lack the last write of a killed owner until the table is counted again, some minutes later.
            while {item["taskStatus"]["S"] for item in self.items(daemons[0])} != {"SUCCESS"}:
                time.sleep(0.5)
            items = self.items(daemons[0])
            self.assertEqual(set(created) - {item["taskId"]["S"] for item in items}, set())
            again = sum(count - 1 for count in handler.came.values())
            self.assertLessEqual(again, 20 * KILLS, "only what was in work at a kill is done again")

    def test_creates_go_on_while_the_owner_is_dead(self):
        """At the other member each create is answered at once, and what was answered is there once. Every second task has no id."""
        names = iter(range(100))
        daemons = [self.member(f"m{next(names)}") for _ in range(2)]
        created, longest = {}, 0.0

        def create(asked, first):
            nonlocal longest
            for number in range(first, 1_000_000, 2):
                if stopping.is_set():
                    return
                task = {"payload": number, **({"taskId": f"t-{number}"} if number % 4 < 2 else {})}
                begun = time.monotonic()
                try:
                    answer = asked.call("POST", QUEUE + "/tasks", task)
                except Exception as error:
                    failed.append((number, str(error)))
                    return
                longest = max(longest, time.monotonic() - begun)
                created[number] = answer["taskId"]
                if not answer["created"] and "taskId" not in task:
                    failed.append((number, "an id that was made for it was there"))
                time.sleep(0.002)

        numbers = 0
        for _ in range(KILLS):
            owner = self.owner(daemons)
            other, = [one for one in daemons if one is not owner]
            self.until_fleet(other, 2)
            time.sleep(LEASE_MS / 1000 * SLOWER)  # It has compared its clock with the leader's by then.
            stopping, failed = threading.Event(), []
            creators = [threading.Thread(target=create, args=(other, numbers + one)) for one in (0, 1)]
            before = len(created)
            for creator in creators:
                creator.start()
            try:
                while len(created) < before + 20 and not failed:
                    time.sleep(0.005)
                owner.kill()
                self.assertIs(self.owner([other]), other)
                served = len(created)
                while len(created) < served + 20 and not failed:
                    time.sleep(0.005)
            finally:
                stopping.set()
                for creator in creators:
                    creator.join()
            self.assertEqual(failed, [])
            numbers = max(created) + 4 - max(created) % 4
            daemons = [other, self.member(f"m{next(names)}")]
        print(f"{len(created)} creates, each answered within {longest:.3f} s", file=sys.stderr)
        items = self.items(daemons[0])
        self.assertEqual(sorted(int(item["payload"]["N"]) for item in items), sorted(created))
        self.assertEqual({int(item["payload"]["N"]): item["taskId"]["S"] for item in items}, created)
        taken = set()
        while len(taken) < len(created):
            tasks = self.try_again(daemons[1], "POST", QUEUE + "/take", {"max": 100, "waitMs": 1000, "leaseMs": 600_000})["tasks"]
            taken.update(task["taskId"] for task in tasks)
        self.assertEqual(taken, set(created.values()))

    def test_sigterm_hands_over(self):
        first, second = self.member("first"), self.member("second")
        owner = self.owner([first, second])
        other = second if owner is first else first
        for number in range(3):
            self.try_again(other, "POST", QUEUE + "/tasks", {"taskId": f"t-{number}", "payload": number})
            next_millisecond()
        held = self.try_again(other, "POST", QUEUE + "/take", {"max": 1, "leaseMs": 60_000})["tasks"][0]
        owner.process.send_signal(signal.SIGTERM)
        while other.call("GET", "/fleet")["units"] != [{"unit": "queue/QueueTable", "owner": other.call("GET", "/fleet")["member"]}]:
            time.sleep(0.01)
        # The task that a worker holds stays its own, and the worker may settle it at the new owner.
        taken = self.try_again(other, "POST", QUEUE + "/take", {"max": 5})["tasks"]
        self.assertEqual([task["taskId"] for task in taken], ["t-1", "t-0"])
        answer = other.call("POST", QUEUE + "/settle", {"settle": [{"taskId": held["taskId"], "lease": held["lease"], "outcome": "complete"}]})
        self.assertNotIn("error", str(answer))
        self.assertEqual(owner.process.wait(), 0)

    def test_a_take_that_waits_at_an_owner_that_freezes_ends(self):
        daemons = [self.member(name) for name in "ab"]
        self.try_again(daemons[0], "GET", QUEUE + "/stats")
        self.until_fleet(daemons[0], 2)
        owner = self.owner(daemons)
        other, = [one for one in daemons if one is not owner]
        answers = []

        def take():
            begun = time.monotonic()
            answers.append((other.call("POST", QUEUE + "/take", {"waitMs": 60000}), time.monotonic() - begun))

        takes = threading.Thread(target=take)
        takes.start()
        time.sleep(1)  # The take waits at the owner.
        owner.process.send_signal(signal.SIGSTOP)
        try:
            takes.join()
        finally:
            owner.process.send_signal(signal.SIGCONT)
        (answer, took), = answers
        self.assertEqual(answer, {"tasks": []})
        self.assertLess(took, 20, "the lease is 3 s, and the machine may be busy")
        self.try_again(daemons[0], "POST", QUEUE + "/tasks", {"taskId": "a"})
        taken = self.try_again(daemons[1], "POST", QUEUE + "/take", {"waitMs": 20000})["tasks"]
        self.assertEqual([task["taskId"] for task in taken], ["a"])

    def test_tasks_run_on_all_daemons(self):
        """Programs run on every daemon, all together within the queue's limit; those of a daemon that is killed run again."""
        journal, program = self.place / "journal", self.place / "work.py"
        program.write_text(WORK.format(python=sys.executable, journal=journal))
        program.chmod(0o755)
        limits = [word for setting in ("CONCURRENCY=6", "TASK_TIMEOUT_MS=4000", "BACKOFF_BASE_MS=1")
                  for word in ("--set", "ProcessTasksFunction." + setting)]
        daemons = [self.member(name, *limits, runner=f"exec:{program}") for name in "abc"]
        owner = self.owner(daemons)
        self.until_fleet(owner, 3)

        def lines():
            return [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []

        def create(names):
            self.try_again(daemons[0], "POST", QUEUE + "/tasks", {"tasks": [{"taskId": name, "payload": 300} for name in names]})

        create([f"t-{number}" for number in range(36)])
        self.wait_for(owner, lambda: self.depth(owner).get("SUCCESS", 0) == 36)
        done = lines()
        self.assertEqual(len(done), 72, "a begin and an end each")
        ran = [sum(daemon.process.pid in line["above"] for line in done if line["do"] == "begin") for daemon in daemons]
        self.assertEqual(sum(ran), 36)
        self.assertGreaterEqual(min(ran), 6, ran)
        self.assertLessEqual(most_at_once(done), 6)
        fleet = owner.call("GET", "/fleet")
        self.assertEqual([member["runs"] for member in fleet["members"]], [0, 0, 0])
        # One that only runs tasks is killed.
        other = next(daemon for daemon in daemons if daemon is not owner)
        create([f"u-{number}" for number in range(12)])
        while not any(other.process.pid in line["above"] for line in lines()[72:]):
            time.sleep(0.01)
        other.kill()
        daemons.remove(other)
        self.wait_for(owner, lambda: self.depth(owner).get("SUCCESS", 0) == 48)
        again = [item["taskId"]["S"] for item in self.items(owner) if int(item["attempt"]["N"]) > 1]
        self.assertIn(len(again), (1, 2), f"only what it had been given, as it has two places: {again}")
        # The owner stops: what runs elsewhere for it is finished.
        create([f"v-{number}" for number in range(4)])
        rest = next(daemon for daemon in daemons if daemon is not owner)
        while not any(rest.process.pid in line["above"] and line["task"].startswith("v-") for line in lines()):
            time.sleep(0.01)
        self.end(owner)
        while any(item["taskStatus"]["S"] != "SUCCESS" for item in self.items(rest)):  # Its books learn of these later.
            time.sleep(0.02)
        done = [line for line in lines() if line["task"].startswith("v-")]
        self.assertEqual(len(done), 8, "each once")

    def test_a_daemon_of_another_fleet_does_not_start(self):
        named = ("--fleet-name", "one")
        first = self.member("a", *named)
        for options in (("--fleet-name", "two"), ()):
            with self.assertRaises(RuntimeError) as refused:
                self.member("b", *options)
            self.assertIn("these tables are those of the fleet 'one', and this daemon was started with", str(refused.exception))
        self.member("c", *named)
        self.until_fleet(first, 2)

    def test_a_fleet_that_runs_without_a_name_gets_none(self):
        first = self.member("a")
        with self.assertRaises(RuntimeError) as refused:
            self.member("b", "--fleet-name", "one")
        self.assertIn("these tables are those of a fleet without a name", str(refused.exception))
        self.end(first)
        self.member("b", "--fleet-name", "one")

    def test_requests_between_daemons_are_signed(self):
        """Creates and runs go through daemons that ask for signatures. One with another secret is refused by the others."""
        def keys(name, secret, key="AKIDFLEET", role="work"):
            path = self.place / name
            path.write_text(f"[key]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\nfreshet_role = {role}\n")
            path.chmod(0o600)
            return str(path)

        def ask(daemon, credentials, *words):
            done = subprocess.run([BINARY, *words, "--json", "--url", f"http://127.0.0.1:{daemon.port}", "--credentials", credentials],
                                  capture_output=True, text=True)
            return done.returncode, done.stdout, done.stderr

        def answer(daemon, *words):
            status, out, error = ask(daemon, right, *words)
            return json.loads(out) if status == 0 else {"error": error}

        journal, program = self.place / "journal", self.place / "work.py"
        program.write_text(WORK.format(python=sys.executable, journal=journal))
        program.chmod(0o755)
        right, wrong = keys("right", "one"), keys("wrong", "two")
        # No client may send what the daemons ask each other for.
        members = ("--member-credentials", keys("members", "three", "AKIDMEMBERS", "operate"))
        options = ("--set", "ProcessTasksFunction.CONCURRENCY=6", "--credentials")
        daemons = [self.member(name, *options, right, *members, runner=f"exec:{program}") for name in "abc"]
        self.wait_for(daemons[0], lambda: [one["alive"] for one in answer(daemons[0], "fleet").get("members", [])] == [True] * 3)
        self.wait_for(daemons[0], lambda: "depth" in answer(daemons[0], "stats"))
        for number in range(36):
            self.assertEqual(ask(daemons[number % 3], right, "put", "300", "--id", f"t-{number}")[0], 0)
        for daemon in daemons:
            self.wait_for(daemon, lambda daemon=daemon: answer(daemon, "stats").get("depth", {}).get("SUCCESS") == 36)
        began = [json.loads(line) for line in journal.read_text().splitlines() if '"begin"' in line]
        ran = [sum(daemon.process.pid in line["above"] for line in began) for daemon in daemons]
        self.assertEqual(sum(ran), 36)
        self.assertGreaterEqual(min(ran), 1, ran)
        stranger = self.member("d", *options, wrong, runner=f"exec:{program}")
        status, _, error = ask(stranger, wrong, "put", "1", "--id", "strange")
        self.assertNotEqual(status, 0)
        self.assertIn("signature", error)

    def test_the_limit_holds_through_changes_of_owner(self):
        """The owner is killed or stopped again and again, and starts again. FRESHET_CHANGES: how often (100 in a release)."""
        changes, seed = int(os.environ.get("FRESHET_CHANGES", "4")), int(os.environ.get("FRESHET_SEED", "1"))
        draw = random.Random(seed)
        journal, program = self.place / "journal", self.place / "work.py"
        program.write_text(LONG_WORK.format(python=sys.executable, journal=journal))
        program.chmod(0o755)
        limits = [word for setting in ("CONCURRENCY=6", "TASK_TIMEOUT_MS=4000", "BACKOFF_BASE_MS=1", "LEASE_MS=4000", "MAX_ATTEMPTS=1000")
                  for word in ("--set", "ProcessTasksFunction." + setting)]
        daemons = [self.member(name, *limits, runner=f"exec:{program}") for name in "abc"]
        names = []
        for change in range(changes):
            owner = self.owner(daemons)
            self.until_fleet(owner, 3)
            waiting = [f"t-{change}-{number}" for number in range(24)]
            names += waiting
            self.try_again(owner, "POST", QUEUE + "/tasks", {"tasks": [{"taskId": name, "payload": draw.randrange(20, 400)} for name in waiting]})
            time.sleep(draw.random())
            victim = owner if draw.random() < 0.8 else draw.choice(daemons)
            if draw.random() < 0.6:
                victim.kill()
            else:
                victim.stop()
            time.sleep(draw.choice((0, 0, LEASE_MS / 1000)))
            victim.start()
        owner = self.owner(daemons)
        while any(item["taskStatus"]["S"] != "SUCCESS" for item in self.items(owner)):
            time.sleep(0.1)
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        self.assertLessEqual({line["task"] for line in lines}, set(names))
        self.assertEqual({line["task"] for line in lines if line["do"] == "end"}, set(names), "each has run")
        self.assertLessEqual(most_runs_at_once(lines), 6, f"seed {seed}")

    def test_a_daemon_without_a_fleet_does_not_serve_its_queues(self):
        first = self.member("first")
        self.try_again(first, "POST", QUEUE + "/tasks", {"taskId": "first"})
        # Once it serves the queue, the table has all indexes. Creates are answered before.
        self.depth(first)
        alone = self.daemon("alone")
        with self.assertRaises(RuntimeError) as refused:
            alone.start()
        self.assertIn("queue 'QueueTable' is served by a fleet of daemons: the one at http://127.0.0.1:", str(refused.exception))
        self.assertIn("Start this daemon with --fleet", str(refused.exception))
        self.end(first)
        alone.start()
        self.assertEqual(alone.call("GET", QUEUE + "/tasks/first")["taskStatus"], "PENDING")

    def test_queues_are_spread(self):
        first = self.member("first")
        for table in ("QQ1", "QQ2", "QQ3"):
            first.dynamodb("CreateTable", TableName=table, BillingMode="PAY_PER_REQUEST",
                           AttributeDefinitions=[{"AttributeName": "taskId", "AttributeType": "S"}],
                           KeySchema=[{"AttributeName": "taskId", "KeyType": "HASH"}])
        first.stop()
        queues = [word for table in ("QQ1", "QQ2", "QQ3") for word in ("--queue", table)]
        first, second = self.member("first", *queues), self.member("second", *queues)
        while True:
            fleet = second.call("GET", "/fleet")
            serves = [len(member["holds"]) for member in fleet["members"] if member["alive"]]
            if serves == [2, 2]:
                break
            time.sleep(0.02)
        for queue in ("QQ1", "QQ2", "QQ3"):
            self.try_again(first, "POST", f"/queues/{queue}/tasks", {"taskId": queue})
            self.assertEqual(self.try_again(second, "GET", f"/queues/{queue}/tasks/{queue}")["taskId"], queue)
        while second.call("GET", "/queues")["queues"] != ["QQ1", "QQ2", "QQ3", "QueueTable"]:
            time.sleep(0.02)
        shown = freshet("fleet", "--url", f"http://127.0.0.1:{second.port}").stdout
        self.assertIn("(asked)", shown)
        self.assertEqual(shown.count("alive"), 2)

    def test_a_copied_data_folder_is_noticed(self):
        first = self.member("first")
        self.owner([first])
        shutil.copytree(first.store, self.place / "copy" / "store")
        second = self.member("copy")
        self.owner([second])
        while first.call("GET", "/fleet")["state"] != "superseded":
            time.sleep(0.02)
        with self.assertRaises(Refused) as refused:
            first.call("GET", "/readyz")
        self.assertIn("another daemon has joined the fleet", str(refused.exception))

    def test_a_member_whose_clock_is_off_serves_nothing(self):
        library = os.environ.get("FRESHET_STEP_CLOCK")
        if not library:
            self.skipTest("needs FRESHET_STEP_CLOCK: the library of tests/faults/step_clock.cc")
        first = self.member("first")
        self.owner([first])
        clock = self.place / "clock"
        clock.write_bytes(struct.pack("q", 5_000_000_000))
        second = self.daemon("second", "--fleet", "--fleet-lease-ms", str(LEASE_MS), "--create-tables")
        second.environment = {**KEYS, "LD_PRELOAD": library, "STEP_CLOCK": str(clock)}
        second.start()
        while second.call("GET", "/fleet")["state"] != "clock-off":
            time.sleep(0.02)
        with self.assertRaises(Refused) as refused:
            second.call("GET", "/readyz")
        self.assertIn("ms ahead of that of the fleet's leader", str(refused.exception))
        self.try_again(second, "POST", QUEUE + "/tasks", {"taskId": "t", "payload": 1})
        self.assertIs(self.owner([first, second]), first)
        with open(clock, "r+b") as file:
            file.write(struct.pack("q", 0))
        while second.call("GET", "/fleet")["state"] != "joined":
            time.sleep(0.02)
        with urllib.request.urlopen(f"http://127.0.0.1:{second.port}/readyz") as answer:
            self.assertEqual(answer.status, 200)

    def test_a_changed_policy_and_the_order_outlive_the_owner(self):
        options = ("--set", "ProcessTasksFunction.LAYOUT=fleet")
        daemons = [self.member(name, *options) for name in "abc"]
        self.try_again(daemons[0], "POST", QUEUE + "/tasks", {"tasks": [{"taskId": f"t{number}"} for number in range(9)]})
        policy = self.try_again(daemons[1], "POST", QUEUE + "/policy", {"RATE_LIMIT": "1000", "MAX_ATTEMPTS": "7"})
        self.assertEqual(policy["MAX_ATTEMPTS"], "7")
        owner = self.owner(daemons)
        owner.kill()
        others = [daemon for daemon in daemons if daemon is not owner]
        policy = self.try_again(others[0], "GET", QUEUE + "/policy")
        self.assertEqual((policy["RATE_LIMIT"], policy["MAX_ATTEMPTS"]), ("1000", "7"))
        taken = self.try_again(others[1], "POST", QUEUE + "/take", {"max": 9})["tasks"]
        self.assertEqual([task["taskId"] for task in taken], [f"t{number}" for number in reversed(range(9))])
        # A settlement may stay without an answer on a slow machine; the counts of another owner learn of it later.
        while taken:
            self.try_again(others[0], "POST", QUEUE + "/settle",
                           {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"} for task in taken]})
            done = {item["taskId"]["S"] for item in self.items(others[0]) if item["taskStatus"]["S"] == "SUCCESS"}
            taken = [task for task in taken if task["taskId"] not in done]

    def test_the_commands_of_the_page(self):
        page = (ROOT / "docs/fleet.md").read_text()
        serve, = [line for line in page.splitlines() if line.startswith("    freshet serve ")]
        show, = [line for line in page.splitlines() if line == "    freshet fleet"]
        words = serve.replace("http://127.0.0.1:8000", self.url).split()[1:]
        ready = self.place / "ready"
        process = subprocess.Popen([BINARY, *words, "--data", self.place / "page", "--listen", "127.0.0.1:0", "--ready-file", ready],
                                   env={**os.environ, **KEYS}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            for said in process.stdout:
                if ready.exists():
                    break
            self.assertTrue(ready.exists(), said)
            while "queue/jobs" not in (shown := freshet(*show.split()[1:], "--url", ready.read_text().strip()).stdout):
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            self.assertIn("alive", shown)
            look, = [line for line in page.splitlines() if line.startswith("    freshet doctor ")]
            words = look.replace("http://127.0.0.1:8000", self.url).replace("config/", f"{ROOT}/config/").split()[1:]
            looked = freshet(*words)
            self.assertIn("ok     table 'freshet-fleet': as it is wanted\n", looked.stdout, looked)
            self.assertIn("table 'freshet-queues'", looked.stdout)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()
        self.assertEqual(process.returncode, 0)

    def test_options_that_contradict(self):
        for words, text in (
                (("--fleet",), "--fleet needs --store dynamodb"),
                (("--advertise", "http://h"), "--advertise needs --fleet"),
                (("--member-credentials", "f"), "--member-credentials needs --credentials"),
                (("--fleet", "--store", "dynamodb", "--endpoint", self.url, "--advertise", "h:1"), "--advertise: "),
                (("--fleet", "--store", "dynamodb", "--endpoint", self.url, "--advertise", "http://h/x"), "without a path")):
            done = freshet("run", "--data", ":memory:", *words)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(text, done.stderr)


load_tests = tests_of(FleetOfQueues)

if __name__ == "__main__":
    main()
