#!/usr/bin/env python3
"""Writes a data folder with a released version of Freshet, and what that version says is in it.

    tests/data/write.py --binary PATH/TO/freshet --to tests/data/VERSION

Do this once for each change of a format, with the last program that wrote the old one. The folder then holds

  store/            the data folder after `kill -9`, each file compressed (the log keeps zeros up to its files' sizes)
  expected.json.gz  items, streams, books and backups, as that program's own API answered just before

ReleasedDataTest (tests/tables/engine) opens every such folder with the store of today and compares all of it.
tests/faults/data_test.py starts today's daemon on each.
"""
import argparse
import base64
import gzip
import json
import pathlib
import random
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
from daemon import QUEUE, Daemon  # noqa: E402

FAR = 4_102_444_800  # 2100-01-01: nothing expires while the test of this folder is in use.
TEMPLATE = """
AWSTemplateFormatVersion: '2010-09-09'
Transform: AWS::Serverless-2016-10-31
Resources:
  QueueTable:
    Type: AWS::DynamoDB::Table
    Metadata: {Freshet: {Queue: true}}
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - {AttributeName: taskId, AttributeType: S}
        - {AttributeName: taskStatus, AttributeType: S}
        - {AttributeName: taskCreated, AttributeType: N}
      KeySchema: [{AttributeName: taskId, KeyType: HASH}]
      GlobalSecondaryIndexes:
        - IndexName: task-status-created-index
          KeySchema: [{AttributeName: taskStatus, KeyType: HASH}, {AttributeName: taskCreated, KeyType: RANGE}]
          Projection: {ProjectionType: ALL}
      TimeToLiveSpecification: {AttributeName: ttl, Enabled: true}
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
  ProcessTasksTopic: {Type: AWS::SNS::Topic}
  TriggerTopic: {Type: AWS::SNS::Topic}
  ProcessTasksFunction:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: native
      Handler: process_tasks
      Timeout: 86400
      Environment: {Variables: {QUEUE_TABLE: !Ref QueueTable, TRIGGER_TOPIC_ARN: !Ref TriggerTopic, TASK_RUNNER: none,
                                LEASE_MS: '86400000', MAX_ATTEMPTS: '2', DEFAULT_TTL_S: '0'}}
"""


def attribute_types(number):
    """An item with every type of attribute, at the edges of what each may hold."""
    return {"S": {"S": f"text {number} \u00e9 \u4e2d \U0001f600"}, "empty": {"S": ""}, "N": {"N": "-1.2345678901234567890123456789012345678E-20"},
            "large": {"N": "9" * 38 + "0" * 80}, "B": {"B": base64.b64encode(bytes(range(256))).decode()}, "T": {"BOOL": True},
            "F": {"BOOL": False}, "nothing": {"NULL": True}, "SS": {"SS": ["a", "b", "\u00fc"]}, "NS": {"NS": ["1", "-2.5", "3E+10"]},
            "BS": {"BS": [base64.b64encode(b"\0").decode(), base64.b64encode(b"\xff\xfe").decode()]},
            "L": {"L": [{"N": str(number)}, {"L": [{"M": {}}]}, {"S": "end"}]}, "M": {"M": {"nested": {"M": {"deep": {"L": []}}}}}}


class Writer:
    def __init__(self, daemon):
        self.daemon, self.random = daemon, random.Random(1)

    def dynamodb(self, operation, **members):
        return self.daemon.dynamodb(operation, **members)

    def create(self, name, sort=None, stream=None, **more):
        keys, definitions = [{"AttributeName": "p", "KeyType": "HASH"}], [{"AttributeName": "p", "AttributeType": "S"}]
        if sort:
            keys.append({"AttributeName": "s", "KeyType": "RANGE"})
            definitions.append({"AttributeName": "s", "AttributeType": sort})
        if stream:
            more["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream}
        definitions += more.pop("definitions", [])
        self.dynamodb("CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=keys, AttributeDefinitions=definitions, **more)

    def put(self, table, **item):
        self.dynamodb("PutItem", TableName=table, Item=item)

    def items(self):
        """Every type, keys of every type, local and global indexes, items that grow, shrink and go."""
        index = [{"IndexName": "by-kind", "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
                  "Projection": {"ProjectionType": "ALL"}}]
        local = [{"IndexName": "by-weight", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "weight", "KeyType": "RANGE"}],
                  "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["S"]}}]
        self.create("Everything", "N", "NEW_AND_OLD_IMAGES", GlobalSecondaryIndexes=index, LocalSecondaryIndexes=local,
                    definitions=[{"AttributeName": "kind", "AttributeType": "S"}, {"AttributeName": "weight", "AttributeType": "N"}])
        self.dynamodb("UpdateTimeToLive", TableName="Everything", TimeToLiveSpecification={"AttributeName": "until", "Enabled": True})
        for number in range(60):
            self.put("Everything", p={"S": f"partition-{number % 7}"}, s={"N": str(number - 30)}, kind={"S": f"kind-{number % 3}"},
                     weight={"N": str(self.random.randrange(1000))}, until={"N": str(FAR + number)}, **attribute_types(number))
        for number in range(0, 60, 5):
            key = {"p": {"S": f"partition-{number % 7}"}, "s": {"N": str(number - 30)}}
            if number % 2:
                self.dynamodb("DeleteItem", TableName="Everything", Key=key)
            else:
                self.dynamodb("UpdateItem", TableName="Everything", Key=key, UpdateExpression="SET weight = weight + :one REMOVE kind, M.nested",
                              ExpressionAttributeValues={":one": {"N": "1"}})
        self.create("Bytes", "B", "KEYS_ONLY")
        for number in range(10):
            self.put("Bytes", p={"S": "p"}, s={"B": base64.b64encode(bytes([number, 0, 255])).decode()})
        self.dynamodb("TransactWriteItems", ClientRequestToken="token-1", TransactItems=[
            {"Put": {"TableName": "Bytes", "Item": {"p": {"S": "q"}, "s": {"B": "AA=="}}}},
            {"Update": {"TableName": "Everything", "Key": {"p": {"S": "partition-1"}, "s": {"N": "-29"}},
                        "UpdateExpression": "SET transacted = :t", "ExpressionAttributeValues": {":t": {"BOOL": True}}}}])

    def streams(self):
        """A stream that was switched off and on, and one of a table that is gone. Both can still be read."""
        self.create("Switched", stream="NEW_IMAGE")
        self.put("Switched", p={"S": "first"})
        self.dynamodb("UpdateTable", TableName="Switched", StreamSpecification={"StreamEnabled": False})
        self.put("Switched", p={"S": "unseen"})
        self.dynamodb("UpdateTable", TableName="Switched", StreamSpecification={"StreamEnabled": True, "StreamViewType": "OLD_IMAGE"})
        self.put("Switched", p={"S": "first"}, again={"BOOL": True})
        self.create("Gone", stream="NEW_AND_OLD_IMAGES")
        self.put("Gone", p={"S": "was here"})
        self.dynamodb("DeleteTable", TableName="Gone")

    def tasks(self):
        """Tasks in every state, with lanes, keys, results and a history."""
        def create(name, **members):
            self.daemon.call("POST", f"{QUEUE}/tasks", {"taskId": name, "payload": {"name": name}, **members})

        def take():
            return self.daemon.call("POST", f"{QUEUE}/take", {"leaseMs": 86_400_000})["tasks"][0]

        def settle(task, outcome, **more):
            self.daemon.call("POST", f"{QUEUE}/settle", {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": outcome, **more}]})

        for name, outcome, more in (("done", "complete", {"result": {"shipped": [1, 2.5, None]}}), ("failed", "fail", {"final": True, "error": "no stock"}),
                                    ("later", "fail", {"delayMs": 31_000_000_000}), ("returned", "release", {"delayMs": 31_000_000_000}),
                                    ("held", "heartbeat", {})):
            create(name)
            settle(take(), outcome, **more)
        create("dead", maxAttempts=1)
        settle(take(), "fail", error="again")
        create("cancelled")
        self.daemon.call("POST", f"{QUEUE}/cancel", {"taskIds": ["cancelled"]})
        create("delayed", delayMs=31_000_000_000)
        create("grouped", group="eu", priority=5)
        create("keyed", key="parcel-1")
        create("keyed-2", key="parcel-1", replace=True)
        for number in range(5):
            create(f"waiting-{number}")

    def rotate(self):
        """Fills and frees segments, so that there are retired ones, moved items and checkpoints."""
        self.create("Churn")
        for number in range(60):
            self.put("Churn", p={"S": f"item-{number % 10}"}, number={"N": str(number)}, text={"S": "x" * 60_000})

    def backup(self):
        self.dynamodb("CreateBackup", TableName="Everything", BackupName="of-everything")

    def stream_records(self):
        answer, found = self.daemon.call("POST", "/", {}, self.streams_headers("ListStreams")), []
        for stream in answer["Streams"]:
            arn = stream["StreamArn"]
            described = self.daemon.call("POST", "/", {"StreamArn": arn}, self.streams_headers("DescribeStream"))["StreamDescription"]
            records = []
            for shard in described["Shards"]:
                iterator = self.daemon.call("POST", "/", {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"},
                                            self.streams_headers("GetShardIterator"))["ShardIterator"]
                while iterator:
                    page = self.daemon.call("POST", "/", {"ShardIterator": iterator}, self.streams_headers("GetRecords"))
                    if not page["Records"]:
                        break
                    records += page["Records"]
                    iterator = page.get("NextShardIterator")
            found.append({"table": stream["TableName"], "label": stream["StreamLabel"], "view": described["StreamViewType"],
                          "status": described["StreamStatus"], "records": records})
        return sorted(found, key=lambda stream: (stream["table"], stream["label"]))

    @staticmethod
    def streams_headers(operation):
        return {"X-Amz-Target": f"DynamoDBStreams_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}

    def scan(self, table):
        items, start = [], {}
        while True:
            page = self.dynamodb("Scan", TableName=table, ConsistentRead=True, **start)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return items
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def expected(self, version):
        tables = self.dynamodb("ListTables")["TableNames"]
        stats = self.daemon.stats()
        return {"version": version, "writtenMs": int(time.time() * 1000),
                "tables": {table: self.scan(table) for table in tables},
                "indexes": {"Everything/by-kind": {kind: self.dynamodb(
                    "Query", TableName="Everything", IndexName="by-kind", KeyConditionExpression="kind = :k",
                    ExpressionAttributeValues={":k": {"S": kind}})["Items"] for kind in ("kind-0", "kind-1", "kind-2")}},
                "streams": self.stream_records(),
                "books": {"QueueTable": {"depth": stats["depth"], "bytes": stats["bytes"], "flow": stats["flow"]}},
                "backups": [{"name": backup["BackupName"], "table": backup["TableName"], "bytes": backup["BackupSizeBytes"]}
                            for backup in self.dynamodb("ListBackups")["BackupSummaries"]]}


def pack(store, folder):
    """Each file of the data folder, compressed without a time stamp. Spare space and the lock hold nothing."""
    for file in sorted(store.rglob("*")):
        if file.is_file() and file.name != "LOCK" and not file.name.startswith(("spare-", "trash-")):
            to = folder / "store" / file.relative_to(store).with_name(file.name + ".gz")
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(gzip.compress(file.read_bytes(), mtime=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--to", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if options.to.exists():
        sys.exit(f"{options.to} is there already: what a version wrote does not change")
    with tempfile.TemporaryDirectory() as place:
        template = pathlib.Path(place) / "template.yaml"
        template.write_text(TEMPLATE)
        daemon = Daemon(options.binary.resolve(), pathlib.Path(place) / "daemon", "--segment-bytes", 1 << 20, template=template).start()
        try:
            writer = Writer(daemon)
            writer.rotate()
            writer.items()
            writer.streams()
            writer.tasks()
            writer.backup()
            expected = writer.expected(options.to.name)
            if writer.stream_records() != expected["streams"]:
                sys.exit("the daemon still writes: nothing was kept")
        finally:
            daemon.kill()
        options.to.mkdir(parents=True)
        pack(daemon.data / "store", options.to)
        (options.to / "expected.json.gz").write_bytes(gzip.compress((json.dumps(expected, indent=1, sort_keys=True) + "\n").encode(), mtime=0))


if __name__ == "__main__":
    main()
