#!/usr/bin/env python3
"""DynamoDB Streams through real SDK clients: boto3, the aws CLI and (if its modules are there) the JavaScript SDK v3.

Started like conformance_test.py, with the same environment variables.
"""
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest
import uuid

from botocore.exceptions import ClientError

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402

HERE = pathlib.Path(__file__).parent
SERVER = endpoint.Endpoint()
PATIENCE = 60  # Seconds for what comes by itself.


def setUpModule():
    SERVER.__enter__()


def tearDownModule():
    SERVER.__exit__()


class Case(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.client = endpoint.client(SERVER.url)
        cls.streams = endpoint.client(SERVER.url, "dynamodbstreams")

    def make_table(self, view):
        name = "streams-" + uuid.uuid4().hex[:12]
        table = self.client.create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": view})["TableDescription"]
        self.addCleanup(lambda: self.client.delete_table(TableName=name))
        if endpoint.is_foreign(SERVER.url) and "LatestStreamArn" not in table:
            raise endpoint.lacking("streams")
        return name, table["LatestStreamArn"]

    def change(self, name):
        """One insert, one change, a put that changes nothing, and one delete."""
        item = {"pk": {"S": "a"}, "sk": {"N": "1"}, "v": {"S": "old"}}
        self.client.put_item(TableName=name, Item=item)
        self.client.update_item(TableName=name, Key={"pk": {"S": "a"}, "sk": {"N": "1"}}, UpdateExpression="SET v = :v",
                                ExpressionAttributeValues={":v": {"S": "new"}})
        self.client.put_item(TableName=name, Item=dict(item, v={"S": "new"}))
        self.client.delete_item(TableName=name, Key={"pk": {"S": "a"}, "sk": {"N": "1"}})

    def shard(self, arn):
        shards = self.streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        self.assertEqual(len(shards), 1)
        return shards[0]

    def iterator(self, arn, kind="TRIM_HORIZON", **more):
        return self.streams.get_shard_iterator(StreamArn=arn, ShardId=self.shard(arn)["ShardId"], ShardIteratorType=kind,
                                               **more)["ShardIterator"]

    def fails(self, code, message, call, **request):
        with self.assertRaises(ClientError) as caught:
            call(**request)
        error = caught.exception.response["Error"]
        self.assertEqual(error["Code"], code, error)
        self.assertIn(message, error["Message"])


class Streams(Case):
    def test_every_view(self):
        old, new = ({"pk": {"S": "a"}, "sk": {"N": "1"}, "v": {"S": v}} for v in ("old", "new"))
        images = {"KEYS_ONLY": [{}, {}, {}],
                  "NEW_IMAGE": [{"NewImage": old}, {"NewImage": new}, {}],
                  "OLD_IMAGE": [{}, {"OldImage": old}, {"OldImage": new}],
                  "NEW_AND_OLD_IMAGES": [{"NewImage": old}, {"NewImage": new, "OldImage": old}, {"OldImage": new}]}
        for view, wanted in images.items():
            name, arn = self.make_table(view)
            self.change(name)
            records = self.streams.get_records(ShardIterator=self.iterator(arn))["Records"]
            self.assertEqual([r["eventName"] for r in records], ["INSERT", "MODIFY", "REMOVE"])
            for record, image in zip(records, wanted):
                change = record["dynamodb"]
                self.assertEqual({k: v for k, v in change.items() if k.endswith("Image")}, image, view)
                self.assertEqual(change["Keys"], {"pk": {"S": "a"}, "sk": {"N": "1"}})
                self.assertEqual(change["StreamViewType"], view)
                self.assertIsInstance(change["ApproximateCreationDateTime"], datetime.datetime)
                self.assertGreater(change["SizeBytes"], 0)
                self.assertEqual((record["eventSource"], record["eventVersion"], record["awsRegion"]),
                                 ("aws:dynamodb", "1.1", "us-east-1"))
                self.assertNotIn("userIdentity", record)
            numbers = [int(r["dynamodb"]["SequenceNumber"]) for r in records]
            self.assertEqual(numbers, sorted(set(numbers)))
            self.assertEqual(len({r["eventID"] for r in records}), 3)

    def test_list_and_describe(self):
        before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=60)
        made = dict(self.make_table("KEYS_ONLY") for _ in range(3))
        seen, more = {}, {}
        while True:
            page = self.streams.list_streams(Limit=1, **more)
            seen.update((s["TableName"], s["StreamArn"]) for s in page["Streams"])
            if "LastEvaluatedStreamArn" not in page:
                break
            more = {"ExclusiveStartStreamArn": page["LastEvaluatedStreamArn"]}
        self.assertEqual({name: seen.get(name) for name in made}, made)
        name, arn = next(iter(made.items()))
        self.assertEqual([s["StreamArn"] for s in self.streams.list_streams(TableName=name)["Streams"]], [arn])
        stream = self.streams.describe_stream(StreamArn=arn)["StreamDescription"]
        self.assertEqual((stream["StreamArn"], stream["TableName"], stream["StreamStatus"], stream["StreamViewType"]),
                         (arn, name, "ENABLED", "KEYS_ONLY"))
        self.assertTrue(arn.endswith("/stream/" + stream["StreamLabel"]))
        self.assertEqual([k["KeyType"] for k in stream["KeySchema"]], ["HASH", "RANGE"])
        self.assertGreater(stream["CreationRequestDateTime"], before)
        shard = stream["Shards"][0]
        self.assertGreaterEqual(len(shard["ShardId"]), 28)
        self.assertNotIn("ParentShardId", shard)
        self.assertNotIn("EndingSequenceNumber", shard["SequenceNumberRange"])
        rest = self.streams.describe_stream(StreamArn=arn, ExclusiveStartShardId=shard["ShardId"])["StreamDescription"]
        self.assertEqual(rest["Shards"], [])

    def test_iterators(self):
        name, arn = self.make_table("KEYS_ONLY")
        start = self.shard(arn)["SequenceNumberRange"]["StartingSequenceNumber"]
        at_start = self.iterator(arn, "AT_SEQUENCE_NUMBER", SequenceNumber=start)
        latest = self.iterator(arn, "LATEST")
        for i in range(5):
            self.client.put_item(TableName=name, Item={"pk": {"S": "a"}, "sk": {"N": str(i)}})

        def read(iterator, **more):
            answer = self.streams.get_records(ShardIterator=iterator, **more)
            return answer["NextShardIterator"], [int(r["dynamodb"]["Keys"]["sk"]["N"]) for r in answer["Records"]]

        self.assertEqual(read(at_start)[1], [0, 1, 2, 3, 4])
        follow, first = read(latest, Limit=2)
        follow, second = read(follow, Limit=2)
        follow, third = read(follow, Limit=2)
        self.assertEqual((first, second, third), ([0, 1], [2, 3], [4]))
        self.assertEqual(read(follow)[1], [])
        records = self.streams.get_records(ShardIterator=self.iterator(arn))["Records"]
        number = records[2]["dynamodb"]["SequenceNumber"]
        self.assertEqual(read(self.iterator(arn, "AT_SEQUENCE_NUMBER", SequenceNumber=number))[1], [2, 3, 4])
        self.assertEqual(read(self.iterator(arn, "AFTER_SEQUENCE_NUMBER", SequenceNumber=number))[1], [3, 4])
        self.assertEqual(read(self.iterator(arn, "LATEST"))[1], [])

    def test_deletes_by_ttl_are_the_service_s_own(self):
        name, arn = self.make_table("OLD_IMAGE")
        self.client.update_time_to_live(TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
        now = int(time.time())
        self.client.put_item(TableName=name, Item={"pk": {"S": "a"}, "sk": {"N": "1"}, "ttl": {"N": str(now - 5)}})
        iterator, removed, deadline = self.iterator(arn), [], time.monotonic() + PATIENCE
        while not removed and time.monotonic() < deadline:
            answer = self.streams.get_records(ShardIterator=iterator)
            iterator = answer["NextShardIterator"]
            removed = [r for r in answer["Records"] if r["eventName"] == "REMOVE"]
            time.sleep(0.05)
        self.assertEqual(removed[0]["userIdentity"], {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"})
        self.assertEqual(removed[0]["dynamodb"]["OldImage"]["ttl"], {"N": str(now - 5)})

    def test_a_stream_that_is_switched_off(self):
        name, arn = self.make_table("NEW_IMAGE")
        for i in range(3):
            self.client.put_item(TableName=name, Item={"pk": {"S": str(i)}, "sk": {"N": "1"}})
        self.client.update_table(TableName=name, StreamSpecification={"StreamEnabled": False})
        deadline = time.monotonic() + PATIENCE
        while True:
            stream = self.streams.describe_stream(StreamArn=arn)["StreamDescription"]
            if stream["StreamStatus"] == "DISABLED" or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        self.assertEqual(stream["StreamStatus"], "DISABLED")
        numbers = stream["Shards"][-1]["SequenceNumberRange"]
        self.assertLessEqual(int(numbers["StartingSequenceNumber"]), int(numbers["EndingSequenceNumber"]))
        self.assertIn(arn, [s["StreamArn"] for s in self.streams.list_streams(TableName=name)["Streams"]])
        iterator, records = self.iterator(arn), []
        while iterator and time.monotonic() < deadline:
            answer = self.streams.get_records(ShardIterator=iterator)
            records += answer["Records"]
            iterator = answer.get("NextShardIterator")
        self.assertIsNone(iterator, "a closed shard has an end")
        self.assertEqual([r["dynamodb"]["Keys"]["pk"]["S"] for r in records], ["0", "1", "2"])
        on = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        self.client.update_table(TableName=name, StreamSpecification=on)
        self.assertNotEqual(self.client.describe_table(TableName=name)["Table"]["LatestStreamArn"], arn)
        self.assertEqual(self.streams.describe_stream(StreamArn=arn)["StreamDescription"]["StreamStatus"], "DISABLED")

    def test_errors(self):
        name, arn = self.make_table("KEYS_ONLY")
        shard = self.shard(arn)["ShardId"]
        iterator = dict(StreamArn=arn, ShardId=shard, ShardIteratorType="LATEST")
        get, records = self.streams.get_shard_iterator, self.streams.get_records
        self.fails("ValidationException", "", self.streams.list_streams, Limit=0)
        self.fails("ResourceNotFoundException", "not found", self.streams.list_streams, TableName="none-" + name)
        self.fails("ValidationException", "", self.streams.describe_stream, StreamArn="x" * 40)
        self.fails("ResourceNotFoundException", "Requested resource not found: Stream", self.streams.describe_stream,
                   StreamArn=arn[:-3] + "999")
        self.fails("ValidationException", "", get, **dict(iterator, StreamArn="x" * 40))
        self.fails("ResourceNotFoundException", "", get, **dict(iterator, ShardId="x" * 30))
        self.fails("ValidationException", "TRIM_HORIZON", get, **dict(iterator, ShardIteratorType="NEWEST"))
        self.fails("ValidationException", "", get, **dict(iterator, ShardIteratorType="AT_SEQUENCE_NUMBER"))
        self.fails("ValidationException", "", get, SequenceNumber="1" + "0" * 20, **iterator)
        self.fails("TrimmedDataAccessException", "", get, SequenceNumber="1" + "0" * 20,
                   **dict(iterator, ShardIteratorType="AT_SEQUENCE_NUMBER"))
        self.fails("ValidationException", "", records, ShardIterator="x" * 60)
        self.fails("ValidationException", "1000", records, ShardIterator=self.iterator(arn), Limit=1001)


class CommandLine(Case):
    @unittest.skipUnless(shutil.which("aws"), "the aws CLI is not installed")
    def test_follow_a_stream(self):
        name, arn = self.make_table("NEW_IMAGE")
        self.change(name)

        def aws(*arguments):
            command = ["aws", "--endpoint-url", SERVER.url, "--output", "json", "dynamodbstreams", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, env=endpoint.environment(SERVER.url), timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

        self.assertEqual(aws("list-streams", "--table-name", name)["Streams"][0]["StreamArn"], arn)
        shard = aws("describe-stream", "--stream-arn", arn)["StreamDescription"]["Shards"][0]["ShardId"]
        iterator = aws("get-shard-iterator", "--stream-arn", arn, "--shard-id", shard, "--shard-iterator-type",
                       "TRIM_HORIZON")["ShardIterator"]
        names = [r["eventName"] for r in aws("get-records", "--shard-iterator", iterator)["Records"]]
        self.assertEqual(names, ["INSERT", "MODIFY", "REMOVE"])


class JavaScript(Case):
    """The JavaScript SDK v3; the checks are in streams_v3.mjs."""

    @unittest.skipUnless((pathlib.Path(os.environ.get("FRESHET_NODE_MODULES", "")) /
                          "node_modules/@aws-sdk/client-dynamodb-streams").is_dir(),
                         "the AWS SDK for JavaScript is not in FRESHET_NODE_MODULES (./test.sh installs it)")
    def test_sdk_v3(self):
        name, arn = self.make_table("NEW_AND_OLD_IMAGES")
        modules = pathlib.Path(os.environ["FRESHET_NODE_MODULES"])
        script = modules / "streams_v3.mjs"  # Beside node_modules, where its imports are looked up.
        shutil.copy(HERE / "streams_v3.mjs", script)
        self.change(name)
        done = subprocess.run(["node", str(script), arn], capture_output=True, text=True,
                              env=endpoint.environment(SERVER.url), timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
