#!/usr/bin/env python3
"""The sample's SDK for priority queues (shipment_queue.py) alone against the daemon's store, and on the same records as
the daemon's own queue: what one side writes the other reads and goes on with, in both ways to keep what is in flight."""
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402
from shipment_queue import MAPPED, ShipmentQueue  # noqa: E402

# As the sample's configuration.json has it, in the form of its own.
CONFIGURATION = {"version": "1.00", "last_updated_date": "2019-08-06", "s3_code_bucket": "aws-blog-post-queueing", "tables": [{
    "logical_name": "Shipment", "table_name": "AWSBlog-shipment-demo", "read_capacity": 100, "write_capacity": 100,
    "partition_key": {"attribute_name": "id", "attribute_type": "String"},
    "indexes": [{"index_name": f"{name}-last_updated_timestamp-index", "GSI": True, "read_capacity": 100, "write_capacity": 100,
                 "hash_key": {"attribute_name": hash_key, "attribute_type": "Numeric"},
                 "sort_key": {"attribute_name": "last_updated_timestamp", "attribute_type": "String"}}
                for name, hash_key in (("queueud", "queued"), ("dlq", "DLQ"))]}],
    "lambdas": [{"logical_name": "QueueProcessingLambda", "runtime": "Java8", "timeout_seconds": 900}]}
OWN = {"name": "Shipment", "table": "AWSBlog-shipment-demo"}


class BothSides(unittest.TestCase):
    def serve(self, definition):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "queue.json"
        path.write_text(json.dumps(definition))
        server = endpoint.Endpoint("--priority-queue", str(path))
        server.__enter__()
        self.addCleanup(server.__exit__)
        self.url = server.url
        self.sdk = ShipmentQueue(endpoint.client(self.url))

    def ours(self, call, **members):
        """The result, whatever came of it; of peeks that of the first record."""
        request = urllib.request.Request(f"{self.url}/priority/Shipment/{call}", json.dumps(members).encode())
        try:
            answer = json.loads(urllib.request.urlopen(request, timeout=30).read())
        except urllib.error.HTTPError as error:
            self.assertLess(error.code, 500)
            answer = json.loads(error.read())
        return answer["records"][0] if call == "peek" else answer

    def code(self, call, **members):
        return self.ours(call, **members)["return_value"]

    def ready(self, *names):
        for name in names:
            self.sdk.put(name, "READY_TO_SHIP")
            self.assertNotIn("failed", self.sdk.enqueue(name))

    def stats(self):
        with urllib.request.urlopen(f"{self.url}/priority/Shipment/stats", timeout=30) as answer:
            return json.loads(answer.read())

    def place(self, name):
        """(queued, DLQ, system_info.queued) of the item."""
        item = self.sdk.get(name)
        of = lambda value: value and int(value["N"])  # noqa: E731
        return of(item.get("queued")), of(item.get("DLQ")), of(item["system_info"]["M"]["queued"])

    def test_the_sdk_alone(self):
        self.serve(CONFIGURATION)
        sdk = self.sdk
        sdk.put("A-101")
        self.assertEqual(sdk.enqueue("A-101")["failed"], "FAILED_RECORD_NOT_CONSTRUCTED")
        self.assertEqual(sdk.update_status("A-101", "READY_TO_SHIP")["version"], {"N": "2"})
        added = sdk.enqueue("A-101")
        self.assertEqual((added["version"], added["queued"], added["queue_selected"]), ({"N": "3"}, {"N": "1"}, {"BOOL": False}))
        self.ready("A-202")
        self.assertEqual(sdk.stats(), (["A-101", "A-202"], []))
        self.assertEqual(sdk.peek(), "A-101")
        self.assertEqual(sdk.peek(), "A-202")
        self.assertIsNone(sdk.peek())
        self.assertEqual(sdk.stats(), (["A-101", "A-202"], ["A-101", "A-202"]))
        self.assertEqual(sdk.enqueue("A-101")["failed"], "FAILED_ILLEGAL_STATE")
        restored = sdk.restore("A-101")
        self.assertEqual(restored["status"], {"S": "READY_TO_SHIP"})
        self.assertEqual(sdk.stats(), (["A-202", "A-101"], ["A-202"]), "it went to the end")
        self.assertEqual(sdk.send_to_dlq("A-202")["status"], {"S": "IN_DLQ"})
        self.assertEqual(sdk.send_to_dlq("A-202")["failed"], "ConditionalCheckFailedException")
        self.assertEqual((sdk.stats(), sdk.dead()), ((["A-101"], []), ["A-202"]))
        self.assertEqual(self.place("A-202"), (None, 1, 0))
        sdk.touch("A-101")
        self.assertEqual(sdk.peek(), "A-101")
        sdk.update_status("A-101", "COMPLETED")
        removed = sdk.remove("A-101")  # REMOVE of what is there, and of a nested attribute.
        self.assertNotIn("peek_utc_timestamp", removed)
        self.assertEqual((removed["status"], self.place("A-101")), ({"S": "COMPLETED"}, (None, None, 0)))
        self.assertEqual(sdk.remove("A-101", version=1)["failed"], "ConditionalCheckFailedException")
        self.assertEqual(sdk.remove("nobody")["failed"], "FAILED_ID_NOT_FOUND")
        # Without system_info the path of its update leads nowhere.
        sdk.client.put_item(TableName="AWSBlog-shipment-demo", Item={"id": {"S": "plain"}})
        bare = sdk.update("plain", 1, "ADD #sys.#v :one SET #sys.last_updated_timestamp = :lut", ("#v", "#sys"), {})
        self.assertIn(bare["failed"], ("ConditionalCheckFailedException", "ValidationException"))

    def test_ours_goes_on_with_what_the_sdk_wrote(self):
        for definition in (CONFIGURATION, dict(OWN, in_flight="in-place")):
            with self.subTest(definition=definition):
                self.serve(definition)
                self.ready("A", "B", "C", "D")
                taken = self.ours("peek", visibilityMs=600_000)
                self.assertEqual((taken["id"], taken["status"], taken["version"]), ("A", "PROCESSING_SHIPMENT", 3))
                self.assertNotIn("failed", self.sdk.remove("A"), "the SDK settles what we peeked")
                self.assertEqual(self.place("A"), (None, None, 0))
                self.assertEqual(self.code("remove", id="A", receipt=taken["receipt"]), "FAILED_ON_CONDITION")
                self.assertEqual(self.sdk.peek(), "B")
                self.assertEqual(self.code("restore", id="B"), "SUCCESS", "we restore what the SDK peeked")
                self.sdk.send_to_dlq("C")
                self.assertEqual(self.ours("restore", id="C")["place"], "ready", "out of the dead-letter queue")
                self.assertEqual(self.place("C"), (1, None, 1))
                self.assertEqual(self.sdk.peek(), "D", "B and C went to the end")
                self.assertEqual(self.code("dlq", id="D"), "SUCCESS")
                self.assertEqual((self.sdk.dead(), self.place("D")), (["D"], (None, 1, 0)))
                self.assertNotIn("failed", self.sdk.restore("D"))
                self.assertEqual([self.ours("peek")["id"] for _ in range(3)], ["B", "C", "D"])
                self.assertEqual(self.code("peek"), "FAILED_EMPTY_QUEUE")

    def test_the_sdk_goes_on_with_what_we_wrote(self):
        for definition in (CONFIGURATION, dict(OWN, in_flight="in-place")):
            with self.subTest(definition=definition):
                self.serve(definition)
                for name in ("A", "B", "C"):
                    self.assertEqual(self.code("put", id=name, data={"id": name}, status="READY_TO_SHIP"), "SUCCESS")
                    self.assertEqual(self.code("enqueue", id=name), "SUCCESS")
                self.assertEqual(self.sdk.stats(), (["A", "B", "C"], []))
                info = self.sdk.get("A")["system_info"]["M"]
                self.assertLessEqual({"id", "creation_timestamp", "last_updated_timestamp", "status", "version", "queued",
                                      "queue_selected", "queue_added_timestamp"}, set(info))
                for name in set(info) & set(MAPPED):  # The mapper reads these types.
                    kind = {"version": "N", "queued": "N", "queue_selected": "BOOL"}.get(name, "S")
                    self.assertEqual(list(info[name]), [kind], name)
                self.assertEqual(self.sdk.peek(), "A")
                self.assertNotIn("failed", self.sdk.remove("A"))
                taken = self.ours("peek")
                self.assertEqual(taken["id"], "B")
                self.assertEqual(self.sdk.peek(), "C", "what we have in flight is not given to the SDK")
                self.assertNotIn("failed", self.sdk.restore("B"))
                self.assertEqual(self.code("remove", id="B", receipt=taken["receipt"]), "SUCCESS",
                                 "nobody has been given it since")
                # An SDK's put forgets all that it does not map.
                self.sdk.put("B", "READY_TO_SHIP")
                self.assertLessEqual(set(self.sdk.get("B")["system_info"]["M"]), set(MAPPED))
                self.assertEqual(self.code("enqueue", id="B"), "SUCCESS")
                self.assertEqual(self.sdk.peek(), "B")

    def test_versions_hold_between_the_sides(self):
        self.serve(CONFIGURATION)
        self.ready("A")
        seen = int(self.sdk.get("A")["system_info"]["M"]["version"]["N"])
        self.assertEqual(self.code("touch", id="A"), "SUCCESS")
        self.assertEqual(self.sdk.remove("A", version=seen)["failed"], "ConditionalCheckFailedException")
        self.assertNotIn("failed", self.sdk.touch("A"))
        self.assertEqual(self.code("remove", id="A", version=seen + 1), "FAILED_ON_CONDITION")
        self.assertEqual(self.code("remove", id="A", version=seen + 2), "SUCCESS")

    def test_random_calls_of_both_on_the_same_records(self):
        seed = int(os.environ.get("FRESHET_SEED", "1"))
        for definition in (CONFIGURATION, dict(OWN, in_flight="in-place")):
            with self.subTest(seed=seed, definition=definition):
                self.serve(definition)
                chance = random.Random(seed)
                names = [f"R-{i}" for i in range(6)]
                self.ready(*names)
                for _ in range(150):
                    name = chance.choice(names)
                    sdk = getattr(self.sdk, chance.choice(("enqueue", "remove", "restore", "send_to_dlq", "touch")))
                    ours = chance.choice(("enqueue", "remove", "restore", "dlq", "touch", "cancel"))
                    what = chance.randrange(8)
                    if what < 3:
                        sdk(name)
                    elif what < 6:
                        self.code(ours, id=name)
                    elif what == 6:
                        self.sdk.peek()
                    else:
                        self.ours("peek", visibilityMs=600_000)
                # After every step, the index has each record by its attributes, and both sides agree.
                placed = {name: self.place(name) for name in names}
                dead = sorted(name for name, (_, number, _) in placed.items() if number == 1)
                waiting = [name for name, (number, _, _) in placed.items() if number is not None]
                self.assertEqual(sorted(self.sdk.dead()), dead)
                self.assertEqual(self.stats()["total_records_in_queue"], len(waiting), placed)
                for name in names:
                    self.assertEqual(self.code("put", id=name, data={"id": name}, status="READY_TO_SHIP"), "SUCCESS")
                    self.assertEqual(self.code("enqueue", id=name), "SUCCESS")
                self.assertEqual([self.sdk.peek() if i % 2 else self.ours("peek")["id"] for i in range(6)], names)


if __name__ == "__main__":
    unittest.main()
