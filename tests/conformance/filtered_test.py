#!/usr/bin/env python3
"""A program written for AWS (call_centre.py) against the daemon, unchanged: each command a process of its own, none waits
for another; two assigns at once, of which one is cancelled. And the same items through the daemon's own filtered queue."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from boto3.dynamodb.conditions import Key

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402

HERE = pathlib.Path(__file__).parent
POOL = ("Chad:M:English,French,Spanish", "Juan:M:Spanish", "Ana:F:Spanish,English", "Remy:M:English", "Zoe:F:French")
# The call centre by names, as call_centre.py keys its agents.
DEFINITION = {"name": "Calls", "table": "AgentQueueFIFO", "names": {"id": "AgentName"}, "matching_ms": 10, "attributes": [
    {"name": "Languages", "set": True, "values": ["English", "French", "Spanish"]}, {"name": "Gender", "values": ["F", "M"]}]}


class CallCentre(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def serve(self, *options):
        server = endpoint.Endpoint(*options)
        server.__enter__()
        self.addCleanup(server.__exit__)
        self.url = server.url

    def start(self, *words, **variables):
        environment = dict(endpoint.environment(self.url), PYTHONPATH=str(HERE / "redirect"), **variables)
        return subprocess.Popen([sys.executable, str(HERE / "call_centre.py"), *words], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end(self, process):
        out, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, error), (0, ""), out)
        return out.splitlines()

    def run_it(self, *words):
        return self.end(self.start(*words))

    def item(self, pk, sk):
        return endpoint.resource(self.url).Table("AgentQueueFIFO").get_item(Key={"pk": pk, "sk": sk})["Item"]

    def begin(self):
        self.assertEqual(self.run_it("create"), ["created AgentQueueFIFO"])
        self.assertEqual(len(self.run_it("pool", *POOL)), 5)
        self.assertEqual(sorted(self.run_it("queue")), ["queued Ana", "queued Chad", "queued Juan", "queued Remy", "queued Zoe"])

    def test_the_commands_one_after_the_other(self):
        self.serve()
        self.begin()
        spanish = self.item("AllQueues", "Q#Spanish#M")
        self.assertEqual((spanish["QueueVersionId"], spanish["QueueDepth"]), (2, 2))
        chad = self.item("Agents", "Agent#Chad")
        self.assertEqual((chad["AgentStatus"], chad["Languages"]), ("queued", {"English", "French", "Spanish"}))
        entries = endpoint.resource(self.url).Table("AgentQueueFIFO").query(KeyConditionExpression=Key("pk").eq("Q#French#M"))
        (entry,) = entries["Items"]
        self.assertEqual(set(entry), {"pk", "sk", "AgentName", "AgentID", "Gender", "Languages"})
        self.assertEqual((entry["AgentName"], entry["AgentID"]), ("Chad", chad["AgentID"]))
        seen, said = self.run_it("assign", "Q#Spanish#M")
        self.assertEqual(json.loads(seen), {"Q#English#F": ["1", "1"], "Q#English#M": ["2", "2"], "Q#French#F": ["1", "1"],
                                            "Q#French#M": ["1", "1"], "Q#Spanish#F": ["1", "1"], "Q#Spanish#M": ["2", "2"]})
        self.assertEqual(said, "assigned Chad")
        self.assertEqual(self.run_it("assign", "Q#French#M")[1], "nobody for Q#French#M")
        french = self.item("AllQueues", "Q#French#M")
        self.assertEqual((french["QueueVersionId"], french["QueueDepth"]), (2, 0))
        self.assertEqual(self.run_it("reset"), ["['ResponseMetadata']"])
        self.assertEqual(self.item("Agents", "Agent#Chad")["AgentStatus"], "available")
        self.assertEqual(self.run_it("queue"), ["queued Chad"])
        self.assertEqual(self.run_it("delete"), ["deleted AgentQueueFIFO"])

    def test_of_two_at_once_one_is_cancelled(self):
        self.serve()
        self.begin()
        both = [self.start("assign", "Q#Spanish#F", BARRIER=f"{self.folder.name}:2") for _ in range(2)]
        said = sorted(self.end(process)[1] for process in both)
        self.assertEqual(said[0], "assigned Ana")
        refused = json.loads(said[1])
        self.assertEqual(refused["code"], "TransactionCanceledException")
        # Delete and Update for each of two languages, and behind the first two the agent: both queues have changed.
        reasons = ["None", "ConditionalCheckFailed", "None", "None", "ConditionalCheckFailed"]
        self.assertEqual(refused["reasons"], reasons)
        self.assertEqual(refused["message"], "Transaction cancelled, please refer cancellation reasons for specific reasons "
                                             f"[{', '.join(reasons)}]")
        self.assertEqual(self.item("AllQueues", "Q#English#F")["QueueDepth"], 0)

    def call(self, path, document=None):
        body = None if document is None else json.dumps(document).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/filtered/Calls{path}", body), timeout=30) as answer:
            return json.loads(answer.read())

    def test_beside_the_daemons_own_queue(self):
        definition = pathlib.Path(self.folder.name) / "calls.json"
        definition.write_text(json.dumps(DEFINITION))
        self.serve("--filtered-queue", str(definition))
        self.run_it("pool", *POOL)
        self.run_it("queue")
        self.assertTrue(self.call("/recount")["right"])
        given = self.call("/assign", {"match": [{"Languages": "Spanish", "Gender": "M"}]})
        self.assertEqual(given["member"], "Chad")
        self.assertEqual(self.run_it("assign", "Q#Spanish#M")[1], "assigned Juan")
        self.assertEqual(self.call("/assign", {"match": "Q#Spanish#M"})["outcome"], "no-match")
        self.assertEqual(self.call("/release", {"id": "Chad", "assignment": given["assignment"], "enqueue": True})["status"], "queued")
        self.assertEqual(self.run_it("assign", "Q#French#M")[1], "assigned Chad")
        self.run_it("reset")
        self.assertEqual(self.call("/enqueue", {"id": "Juan"})["queues"], ["Q#Spanish#M"])
        # A request that waits gets an agent whom the program queues, which knows of no requests.
        self.assertEqual(self.call("/assign", {"match": "Q#French#M", "request": "r", "wait": True})["outcome"], "waiting")
        self.assertEqual(self.run_it("queue"), ["queued Chad"])
        while self.call("/requests/r")["status"] == "waiting":
            time.sleep(0.01)
        self.assertEqual(self.call("/requests/r")["member"], "Chad")
        self.assertTrue(self.call("/recount")["right"])


if __name__ == "__main__":
    unittest.main()
