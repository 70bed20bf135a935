#!/usr/bin/env python3
"""Several daemons that serve one engine's queues together (--fleet):

  tests/conformance/engine_fleet_test.py freshet|extenddb|dynamodb_local

Everything is started on free ports and stopped. An engine that is not installed is skipped by name."""
import gzip
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

from engine_daemon_test import BINARY, KEYS, ROOT, EngineDaemon, Function, Handler, Refused, check_books, dynamodb_local, extenddb, freshet
from daemon import SLOWER

LEASE_MS = 3000
KILLS = 5
QUEUE = "/queues/QueueTable"

# Writes when it begins and ends, and the processes above it. Works for as many milliseconds as the payload says.
WORK = """#!{python}
import json, os, sys, time
task, above, process = json.load(sys.stdin), [], os.getppid()
while process > 1:
    above.append(process)
    process = int(open(f"/proc/{{process}}/stat").read().rsplit(")", 1)[1].split()[1])
def note(what):
    line = json.dumps({{"task": task["taskId"], "do": what, "above": above, "at": time.monotonic()}}) + "\\n"
    os.write(journal, line.encode())
journal = os.open("{journal}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
note("begin")
time.sleep(task["payload"] / 1000)
note("end")
"""


def most_at_once(lines):
    most = now = 0
    for line in sorted(lines, key=lambda line: line["at"]):
        now += 1 if line["do"] == "begin" else -1
        most = max(most, now)
    return most


class EngineFleet(EngineDaemon):
    """Uses the fixture, not its tests (load_tests below)."""

    def member(self, name, *options, runner="none"):
        daemon = self.daemon(name, "--fleet", "--fleet-lease-ms", str(LEASE_MS), "--create-tables", *options, runner=runner)
        return self.begin(daemon)

    def begin(self, daemon):
        """Starts it. ExtendDB may answer 500 for a moment after a daemon was killed within a request."""
        for _ in range(20):
            try:
                return daemon.start()
            except RuntimeError as error:
                if self.name != "extenddb" or "Internal server error" not in str(error):
                    raise
            time.sleep(0.1)
        return daemon.start()

    def try_again(self, daemon, method, path, document=None):
        """As a client does: again while nobody serves the queue, or the answer got lost. Tasks have ids of their own."""
        while True:
            try:
                return daemon.call(method, path, document)
            except Refused as refused:
                if refused.status != 503:
                    raise
            except OSError:
                if daemon.process.poll() is not None:
                    raise
            time.sleep(0.02)

    def owner(self, daemons, unit="queue/QueueTable"):
        """The one that serves the unit, by what the others say."""
        while True:
            for daemon in daemons:
                fleet = daemon.call("GET", "/fleet")
                held = [member["id"] for member in fleet["members"] if member["alive"] and unit in member["holds"]]
                if len(held) == 1:
                    for one in daemons:
                        if one.call("GET", "/fleet")["member"] == held[0]:
                            return one
            time.sleep(0.02)

    def depth(self, daemon):
        return self.try_again(daemon, "GET", QUEUE + "/stats")["depth"]

    def until_fleet(self, daemon, members):
        while sum(member["alive"] for member in daemon.call("GET", "/fleet")["members"]) != members:
            time.sleep(0.02)

    def until_shares(self, daemon, shares):
        """Until each member that is alive has that many units."""
        while sorted(len(member["holds"]) for member in daemon.call("GET", "/fleet")["members"] if member["alive"]) != shares:
            time.sleep(0.02)

    def test_each_member_answers_for_every_queue(self):
        daemons = [self.member(name) for name in "abc"]
        for number in range(9):
            self.try_again(daemons[number % 3], "POST", QUEUE + "/tasks", {"taskId": f"t-{number}", "payload": number})
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
        if self.name == "extenddb":
            self.skipTest("ExtendDB sometimes answers 500 to everything after a client of it was killed on a busy machine")
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
            while self.try_again(daemons[0], "GET", QUEUE + "/stats")["depth"]["SUCCESS"] < len(set(created)):
                time.sleep(0.02)
            items = self.items(daemons[0])
            self.assertEqual({item["taskStatus"]["S"] for item in items}, {"SUCCESS"})
            self.assertEqual(set(created) - {item["taskId"]["S"] for item in items}, set())
            again = sum(count - 1 for count in handler.came.values())
            self.assertLessEqual(again, 20 * KILLS, "only what was in work at a kill is done again")

    def test_creates_go_on_while_the_owner_is_dead(self):
        """At the other member each create is answered at once, and what was answered is there once. Every second task has no id."""
        if self.name == "extenddb":
            self.skipTest("ExtendDB sometimes answers 500 to everything after a client of it was killed on a busy machine")
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

    def test_a_schedule_fires_once(self):
        """The one that fires it creates the task, also in a queue that another one serves."""
        daemons, wait = [], 5
        while not daemons:  # The first daemon must know the schedule before its time, however slow the machine is.
            at = time.time() + wait
            when = time.strftime("at(%Y-%m-%dT%H:%M:%S)", time.gmtime(at))
            options = ("--parameter", "CreateTasks=true", "--parameter", f"CreateSchedule={when}",
                       "--set", "CreateTasksFunction.CREATE_TASKS=1")
            first = self.member(f"a{wait}", *options)
            if time.time() < int(at):
                daemons = [first]
            else:
                self.end(first)
                wait *= 2
        daemons += [self.member(name, *options) for name in "bc"]
        while not self.items(daemons[0]):
            time.sleep(0.02)
        idle = next(daemon for daemon in daemons if "CREATE_TASKS_BEGIN" not in daemon.log_path.read_text())
        idle.kill()
        idle.start()
        for daemon in daemons:
            while "last" not in (state := daemon.call("GET", "/schedules")["schedules"][0]):
                time.sleep(0.02)
            self.assertNotIn("next", state)
        began = [daemon.log_path.read_text().count("CREATE_TASKS_BEGIN") for daemon in daemons]
        self.assertEqual(sum(began), 1, began)
        self.assertEqual(len(self.items(daemons[0])), 1)

    def runs_mapping(self, daemons):
        """The one that runs the template's mapping. The others may be dead."""
        end = time.monotonic() + 60 * SLOWER
        while time.monotonic() < end:
            for daemon in daemons:
                fleet = daemon.call("GET", "/fleet")
                if any(one["id"] == fleet["member"] and "mapping/SeenChange" in one["holds"] for one in fleet["members"]):
                    return daemon
            time.sleep(0.02)
        raise AssertionError("nobody runs the mapping")

    def changes(self, daemon, function, versions):
        for version in versions:
            self.change(daemon, "a", version)
        self.wait_for(daemon, lambda: versions[-1] in function.versions()["a"])

    def test_a_mapping_goes_on_at_another_daemon(self):
        with Function() as function:
            template = function.template(self.place)
            fleet = ("--fleet", "--fleet-lease-ms", str(LEASE_MS))
            daemons = [self.begin(self.reader(template, *fleet, name=name)) for name in "abc"]
            self.changes(daemons[0], function, range(1, 11))
            owner = self.runs_mapping(daemons)
            with urllib.request.urlopen(f"http://127.0.0.1:{owner.port}/metrics") as page:
                self.assertIn("\nfreshet_fleet_mappings 1\n", page.read().decode())
            daemons.remove(owner)
            owner.kill()
            self.changes(daemons[0], function, range(11, 21))
            came = function.versions()["a"]
            self.assertEqual(sorted(set(came)), list(range(1, 21)))
            self.assertEqual(came[-10:], list(range(11, 21)), "what was not processed came after the kill")
            owner = self.runs_mapping(daemons)
            daemons.remove(owner)
            self.end(owner)
            before = len(came)
            self.changes(daemons[0], function, range(21, 31))
            self.assertEqual(function.versions()["a"][before:], list(range(21, 31)), "each once: the stop was a clean one")
            self.assertEqual(self.runs_mapping(daemons), daemons[0])
            path = "/2015-03-31/event-source-mappings/"
            uuid = daemons[0].call("GET", path)["EventSourceMappings"][0]["UUID"]
            for method, where, document in (("POST", path, {"FunctionName": "Seen", "StartingPosition": "LATEST", "EventSourceArn":
                                                            "arn:aws:dynamodb:us-east-1:000000000000:table/Orders/stream/x"}),
                                            ("PUT", path + uuid, {"BatchSize": 1}), ("DELETE", path + uuid, None)):
                with self.assertRaises(Refused) as refused:
                    daemons[0].call(method, where, document)
                self.assertEqual(refused.exception.status, 400)
                self.assertIn("those of its template", str(refused.exception))
            self.assertNotIn("STREAM_RECORDS_LOST", daemons[0].log_path.read_text())

    def test_a_mapping_of_one_daemon_goes_on_in_a_fleet(self):
        with Function() as function:
            template = function.template(self.place, StartingPosition="LATEST")
            daemon = self.reader(template).start()
            self.changes(daemon, function, range(1, 6))
            self.end(daemon)
            writer = self.daemon("writer", "--create-tables").start()
            self.change(writer, "a", 6)
            self.end(writer)
            daemon = self.reader(template, "--fleet").start()
            self.changes(daemon, function, range(7, 10))
            self.assertEqual(function.versions(), {"a": list(range(1, 10))})

    def test_a_priority_queue_moves_to_another_daemon(self):
        """It is strict: one record is in flight in the whole fleet, also while another daemon takes it over."""
        definition = self.place / "priority.json"
        definition.write_text(json.dumps({"queues": [{"name": "Shipment", "table": "Shipment", "strict": True,
                                                      "visibility_timeout_ms": 60000}]}))
        option = ("--priority-queue", str(definition))
        daemons = [self.member(name, *option) for name in "abc"]
        path = "/priority/Shipment/"

        def settle(daemon, record):
            return self.try_again(daemon, "POST", path + "remove", {"id": record["id"], "receipt": record["receipt"]})

        def peek(daemon):
            return self.try_again(daemon, "POST", path + "peek", {"max": 5})["records"]

        for number in range(6):
            daemon = daemons[number % 3]
            self.try_again(daemon, "POST", path + "put", {"id": f"r{number}", "status": "READY_TO_SHIP"})
            self.try_again(daemon, "POST", path + "enqueue", {"id": f"r{number}"})
        owner = self.owner(daemons, "priority/Shipment")
        self.assertEqual([self.try_again(daemon, "GET", path + "stats")["ready"] for daemon in daemons], [6] * 3)
        first = peek(daemons[0])
        self.assertEqual([record["id"] for record in first], ["r0"], first)
        for daemon in daemons:
            self.assertIn("is strict, and ", peek(daemon)[0]["detail"])
        daemons.remove(owner)
        owner.kill()
        # Anybody may put a record meanwhile.
        self.assertTrue(daemons[0].call("POST", path + "put", {"id": "r6", "status": "READY_TO_SHIP"})["successful"])
        for daemon in daemons:
            self.assertIn("is strict, and ", peek(daemon)[0]["detail"])
        self.assertTrue(settle(daemons[1], first[0])["successful"])
        second = peek(daemons[0])
        self.assertEqual([record["id"] for record in second], ["r1"], second)
        owner = self.owner(daemons, "priority/Shipment")
        daemons.remove(owner)
        self.end(owner)
        self.assertTrue(settle(daemons[0], second[0])["successful"])
        order = []
        while (third := peek(daemons[0])) and third[0]["successful"]:
            order.append(third[0]["id"])
            settle(daemons[0], third[0])
        self.assertEqual(order, ["r2", "r3", "r4", "r5"])
        with self.assertRaises(Refused) as refused:
            daemons[0].call("GET", "/priority/Nothing/stats")
        self.assertEqual(refused.exception.status, 404)

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

    def test_a_redrive_is_that_of_the_owner(self):
        definition = self.place / "priority.json"
        definition.write_text(json.dumps({"queues": [{"name": "Shipment", "table": "Shipment"}]}))
        daemons = [self.member(name, "--priority-queue", str(definition)) for name in "ab"]
        path = "/priority/Shipment/"
        self.until_shares(daemons[0], [1, 1])  # From then on the queue stays where it is.
        for number in range(4):
            self.try_again(daemons[0], "POST", path + "put", {"id": f"r{number}", "status": "READY_TO_SHIP"})
            self.try_again(daemons[0], "POST", path + "enqueue", {"id": f"r{number}"})
            self.try_again(daemons[0], "POST", path + "dlq", {"id": f"r{number}"})
        started = self.try_again(daemons[0], "POST", path + "redrive", {"rate": 20})
        self.assertTrue(started["going_on"])
        while True:
            shown = [self.try_again(daemon, "GET", path + "stats")["redrive"] for daemon in daemons]
            if not any(one["going_on"] for one in shown):
                break
            time.sleep(0.02)
        self.assertEqual([one["moved"] for one in shown], [4, 4])

    def test_any_daemon_answers_for_a_filtered_queue(self):
        definition = self.place / "filtered.json"
        definition.write_text((ROOT / "config" / "filtered-queue.json").read_text())
        daemons = [self.member(name, "--filtered-queue", str(definition)) for name in "ab"]
        owner = self.owner(daemons, "filtered/CallCenter")
        path = "/filtered/CallCenter/"
        member = {"id": "a1", "attributes": {"AgentName": "Ann", "Languages": ["English"], "Gender": "F"}}
        daemons[0].call("POST", path + "put", member)
        waiting = daemons[1].call("POST", path + "assign", {"request": "call-1", "match": {"Languages": "English", "Gender": "F"}, "wait": True})
        self.assertEqual(waiting["outcome"], "waiting")
        daemons[0].call("POST", path + "enqueue", {"id": "a1"})
        self.assertEqual(daemons[1].call("GET", path + "requests/call-1")["member"], "a1")
        daemons.remove(owner)
        owner.kill()
        self.owner(daemons, "filtered/CallCenter")
        self.assertEqual(daemons[0].call("GET", path + "requests/call-1")["member"], "a1")

    def test_events_of_a_dead_daemon_run_on_another(self):
        with Function() as function:
            function.refuses = lambda event: event["n"] < 0
            function.fails.set()
            template = function.template(self.place)
            fleet = ("--fleet", "--fleet-lease-ms", str(LEASE_MS))
            daemons = [self.begin(self.reader(template, *fleet, name=name)) for name in "ab"]

            def invoke(daemon, number):
                daemon.call("POST", "/2015-03-31/functions/Seen/invocations", {"n": number, "Records": [{"n": number}]},
                            {"X-Amz-Invocation-Type": "Event"})

            for number in range(5):
                invoke(daemons[0], number)
            self.wait_for(daemons[0], lambda: function.failed >= 5)
            daemons[0].kill()
            function.fails.clear()
            self.wait_for(daemons[1], lambda: len(function.records) >= 5)
            self.assertEqual(sorted(record["n"] for record in function.records), list(range(5)))
            self.assertIn("EVENTS_TAKEN_OVER", daemons[1].log_path.read_text())
            # Back again, it has none of them, and runs new ones.
            again = self.begin(self.reader(template, *fleet, name="a"))
            self.until_fleet(again, 2)
            invoke(again, 5)
            self.wait_for(again, lambda: len(function.records) >= 6)
            self.assertEqual(sorted(record["n"] for record in function.records), list(range(6)))

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
                (("--fleet", "--store", "dynamodb", "--endpoint", self.url, "--advertise", "h:1"), "--advertise: "),
                (("--fleet", "--store", "dynamodb", "--endpoint", self.url, "--advertise", "http://h/x"), "without a path")):
            done = freshet("run", "--data", ":memory:", *words)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(text, done.stderr)


def load_tests(loader, *unused):
    return unittest.TestSuite(EngineFleet(name) for name in loader.getTestCaseNames(EngineFleet) if name in vars(EngineFleet))


if __name__ == "__main__":
    EngineDaemon.name = sys.argv.pop(1)
    {"extenddb": extenddb.need, "dynamodb_local": dynamodb_local.need}.get(EngineDaemon.name, lambda: None)()
    unittest.main()
