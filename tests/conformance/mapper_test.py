#!/usr/bin/env python3
"""DynamoDBMapper of the AWS SDK for Java 1 (java/Shipments.java, which makes the requests of the sample's queue) and the daemon's own
queue in turn on the same records: 1,000 random steps, after each of which both give the same record, and what the model below says.

FRESHET_SEED and FRESHET_STEPS choose others. The sample's code for a condition that failed is FAILED_DYNAMO_ERROR, ours says which
(docs/priority-queue.md); steps that the two are meant to answer differently are not taken.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402
import pins  # noqa: E402

STEPS = int(os.environ.get("FRESHET_STEPS", "1000"))
SEED = int(os.environ.get("FRESHET_SEED", "1"))
HOURS = 36_000_000  # No timeout passes while this runs.
DEFINITION = {"name": "Shipment", "table": "AWSBlog-shipment-demo", "in_flight": "in-place", "visibility_timeout_ms": HOURS}
NAMES = [f"R-{i}" for i in range(8)]
MAPPED = ("id", "creation_timestamp", "last_updated_timestamp", "status", "version", "queued", "queue_selected",
          "queue_add_timestamp", "dlq_add_timestamp", "queue_peek_timestamp", "queue_remove_timestamp")


class Model:
    """The effect of every call on the records: {name: [status, version, place]}, and the waiting ones in order."""

    def __init__(self):
        self.records, self.waiting, self.in_flight = {}, [], []

    def leave(self, name):
        for some in (self.waiting, self.in_flight):
            if name in some:
                some.remove(name)

    def set(self, name, status, place):
        record = self.records[name]
        record[:] = [status, record[1] + 1, place]
        self.leave(name)
        if place == "ready":
            self.waiting.append(name)
        elif place == "in flight":
            self.in_flight.append(name)
        return "SUCCESS"

    def call(self, call, name, status):
        """The result's code."""
        if call == "peek":
            return self.set(self.waiting[0], "PROCESSING_SHIPMENT", "in flight") if self.waiting else "FAILED_EMPTY_QUEUE"
        if call == "put":
            self.leave(name)
            self.records[name] = [status, 1, "outside"]
            return "SUCCESS"
        if call == "delete":
            self.leave(name)
            self.records.pop(name, None)
            return "SUCCESS"
        if name not in self.records:
            return "FAILED_ID_NOT_FOUND"
        old, _, place = self.records[name]
        if call == "status":
            return "SUCCESS" if old == status else self.set(name, status, place)
        if call == "enqueue" and old != "READY_TO_SHIP":
            return "FAILED_RECORD_NOT_CONSTRUCTED" if old == "UNDER_CONSTRUCTION" else "FAILED_ILLEGAL_STATE"
        if call == "dlq" and place not in ("ready", "in flight"):
            return "FAILED_ILLEGAL_STATE"
        if call == "touch":
            return self.set(name, old, place)
        after = {"enqueue": ("READY_TO_SHIP", "ready"), "restore": ("READY_TO_SHIP", "ready"), "remove": (old, "outside"),
                 "dlq": ("IN_DLQ", "dead")}[call]
        return self.set(name, *after)

    def differs_by_design(self, call, name):
        """Calls that docs/priority-queue.md says the two answer differently."""
        if name not in self.records:
            return call == "delete"
        status, _, place = self.records[name]
        return (call == "restore" and status == "UNDER_CONSTRUCTION" or call == "remove" and place == "outside"
                or call == "status" and place in ("in flight", "dead") or call == "touch" and place == "dead"
                or call == "enqueue" and place in ("in flight", "dead"))


class Mapper(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="freshet-mapper-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "queue.json"
        path.write_text(json.dumps(DEFINITION))
        server = endpoint.Endpoint("--priority-queue", str(path))
        server.__enter__()
        self.addCleanup(server.__exit__)
        self.url = server.url
        self.java = subprocess.Popen(pins.java_command("mapper", "Shipments"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True, env=endpoint.environment(server.url))
        self.addCleanup(self.end)

    def end(self):
        self.java.stdin.close()
        self.java.wait(30)
        self.java.stdout.close()

    def theirs(self, *words):
        self.java.stdin.write(" ".join(words) + "\n")
        self.java.stdin.flush()
        return json.loads(self.java.stdout.readline())

    def ours(self, call, **members):
        path = f"{self.url}/priority/Shipment/{call}"
        request = urllib.request.Request(path, json.dumps(members).encode() if members.pop("post", True) else None)
        try:
            return json.loads(urllib.request.urlopen(request, timeout=60).read())
        except urllib.error.HTTPError as error:
            self.assertLess(error.code, 500)
            return json.loads(error.read())

    def one_side(self, by_us, call, name, status):
        """(code, the record's name) of the call."""
        if not by_us:
            result = self.theirs(call, *(() if call == "peek" else (name,)), *((status,) if call in ("put", "status") else ()))
            return result["return_value"], result.get("id", name)
        members = {} if call == "peek" else {"id": name}
        if call in ("put", "status"):
            members["status"] = status
        if call == "put":
            members["data"] = {"id": name}
        result = self.ours(call, **members)
        if call == "peek":
            result = result["records"][0]
        return result["return_value"], result.get("id") or name

    def compare(self, model, name):
        """The record as both sides read it, and as the model has it."""
        mapped = self.theirs("get", name)
        with urllib.request.urlopen(f"{self.url}/priority/Shipment/records/{name}", timeout=60) as answer:
            item = json.loads(answer.read())["item"]
        info = {member: held for member, held in item["system_info"].items() if member in MAPPED}
        info["queued"] = bool(info["queued"])
        self.assertEqual({member: held for member, held in mapped["system_info"].items() if member in MAPPED and held is not None}, info)
        self.assertEqual(mapped["last_updated_timestamp"], item["last_updated_timestamp"])
        self.assertEqual([info["status"], info["version"]], model.records[name][:2])

    def compare_queues(self, model):
        seen = self.theirs("stats")
        self.assertEqual([name for name in seen["all"] if name not in seen["selected"]], model.waiting)
        self.assertEqual(sorted(seen["selected"]), sorted(model.in_flight))
        dead = sorted(name for name, record in model.records.items() if record[2] == "dead")
        self.assertEqual(sorted(seen["dead"]), dead)
        with urllib.request.urlopen(f"{self.url}/priority/Shipment/stats", timeout=60) as answer:
            ours = json.loads(answer.read())
        self.assertEqual((ours["total_records_in_queue"], ours["total_records_in_queue_selected_for_processing"]),
                         (len(seen["all"]), len(seen["selected"])))

    def step(self, model, by_us, call, name, status, wanted, first):
        code, found = self.one_side(by_us, call, name, status)
        if not by_us and call == "dlq" and wanted == "FAILED_ILLEGAL_STATE":
            wanted = "FAILED_DYNAMO_ERROR"  # The sample's word for a condition that failed.
        self.assertEqual(code, wanted)
        if call == "peek" and wanted == "SUCCESS":
            self.assertEqual(found, first)
        if first in model.records:
            self.compare(model, first)

    def test_in_turn(self):
        chance = random.Random(SEED)
        model = Model()
        calls = ("put", "put", "enqueue", "enqueue", "enqueue", "peek", "peek", "peek", "remove", "restore", "dlq", "touch", "status",
                 "delete")
        for step in range(STEPS):
            by_us = step % 2 == 0
            call, name = chance.choice(calls), chance.choice(NAMES)
            while model.differs_by_design(call, name):
                call, name = chance.choice(calls), chance.choice(NAMES)
            status = chance.choice(("READY_TO_SHIP", "READY_TO_SHIP", "UNDER_CONSTRUCTION"))
            first = model.waiting[0] if call == "peek" and model.waiting else name
            wanted = model.call(call, name, status)
            try:
                self.step(model, by_us, call, name, status, wanted, first)
                if step % 20 == 0:
                    self.compare_queues(model)
            except AssertionError as error:
                error.add_note(f"seed {SEED}, step {step}: {call} {name} by {'us' if by_us else 'the mapper'}, then {model.records}")
                raise
        self.compare_queues(model)


if __name__ == "__main__":
    pins.need(("maven", "mapper"), tools=("java", "javac"))
    unittest.main()
