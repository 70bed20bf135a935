#!/usr/bin/env python3
"""count_states and capture_changes with the binary, killed again and again under load: the counters are what a recount
says, the captured lines are the stream's records, each once; in a folder and in a bucket that fails. And what is wrong
with settings is said before anything is deployed."""
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from daemon import ROOT, Daemon, Refused, kill_options
from s3_server import KEY, SECRET, S3Server

TEMPLATE = ROOT / "config/stream-functions.yaml"
STATES = ("PENDING", "TAKEN", "SUCCESS", "FAILURE", "DEAD")
COUNTED = "QueueTable#taskStatus"


def wait_for(what, condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.05)


def page_through(daemon, operation, **members):
    items, start = [], None
    while True:
        page = daemon.dynamodb(operation, **members, **({"ExclusiveStartKey": start} if start else {}))
        items += page["Items"]
        start = page.get("LastEvaluatedKey")
        if not start:
            return items


def counters(daemon):
    items = page_through(daemon, "Query", TableName="QueueMetrics", KeyConditionExpression="counted = :c",
                         ExpressionAttributeValues={":c": {"S": COUNTED}}, ConsistentRead=True)
    states, moves, position = {}, {}, None
    for item in items:
        if "itemCount" in item and item["itemCount"]["N"] != "0":
            states[item["state"]["S"]] = int(item["itemCount"]["N"])
        if "moves" in item:
            moves[(item["fromState"]["S"], item["toState"]["S"])] = int(item["moves"]["N"])
        if item["metric"]["S"] == "position":
            position = int(item["sequence"]["N"])
    return states, moves, position


def recount(daemon):
    states = {}
    for item in page_through(daemon, "Scan", TableName="QueueTable", ConsistentRead=True):
        state = item.get("taskStatus", {"S": "(none)"})["S"]
        states[state] = states.get(state, 0) + 1
    return states


def stream(daemon):
    """All records of the queue table's stream, and its ARN."""
    target = "DynamoDBStreams_20120810."
    call = lambda operation, **members: daemon.call("POST", "/", members, {"X-Amz-Target": target + operation,
                                                                           "Content-Type": "application/x-amz-json-1.0"})
    arn = call("ListStreams", TableName="QueueTable")["Streams"][-1]["StreamArn"]
    shard = call("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = call("GetShardIterator", StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    records = []
    while True:
        page = call("GetRecords", ShardIterator=iterator)
        if not page["Records"]:
            return records
        records += page["Records"]
        iterator = page["NextShardIterator"]


class Load(threading.Thread):
    """Writes that go on until told to end; a daemon that is away is waited for."""

    def __init__(self, daemon, random, number):
        super().__init__(daemon=True)
        self.target_daemon, self.random, self.number = daemon, random, number
        self.ended = threading.Event()
        self.failed = None
        self.writes = 0

    def run(self):
        while not self.ended.is_set():
            try:
                self.write()
                self.writes += 1
            except OSError:
                time.sleep(0.02)
            except Refused as error:
                if error.status < 500:
                    self.failed = error
                    return

    def write(self):
        key = {"taskId": {"S": f"task-{self.number}-{self.random.randrange(60)}"}}
        what = self.random.randrange(10)
        if what == 0:
            self.target_daemon.dynamodb("DeleteItem", TableName="QueueTable", Key=key)
        elif what == 1:
            self.target_daemon.dynamodb("PutItem", TableName="QueueTable", Item=key)
        else:
            item = {**key, "taskStatus": {"S": self.random.choice(STATES)}, "taskCreated": {"N": "1"},
                    "payload": {"S": "x" * self.random.randrange(300)}}
            self.target_daemon.dynamodb("PutItem", TableName="QueueTable", Item=item)


def captured(folder, objects):
    """The content of each finished file, by name; those in a bucket too."""
    files = {}
    for path in (folder / "QueueTable").glob("*.jsonl"):
        try:
            files[path.name] = path.read_bytes()
        except FileNotFoundError:
            assert objects, path  # Gone to the bucket meanwhile: it is there.
    for path, body in dict(objects).items():
        name = path.rsplit("/", 1)[1]
        assert files.get(name, body) == body, name
        files[name] = body
    return files


def check_captured(daemon, folder, objects):
    lines = []
    for name, content in sorted(captured(folder, objects).items()):
        records = [json.loads(line) for line in content.decode().splitlines()]
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
        first, last = name.split("_")[1].removesuffix(".jsonl").split("-")
        assert (numbers[0], numbers[-1]) == (first, last), name
        lines += records
    wanted = stream(daemon)
    assert [record["dynamodb"]["SequenceNumber"] for record in lines] == \
        [record["dynamodb"]["SequenceNumber"] for record in wanted], (len(lines), len(wanted))
    for line, record in zip(lines, wanted):
        for part in ("eventID", "eventName"):
            assert line[part] == record[part], (line, record)
        for part in ("Keys", "NewImage", "OldImage"):
            assert line["dynamodb"].get(part) == record["dynamodb"].get(part), (line, record)
    return len(lines)


def check_counters(daemon):
    states, moves, _ = counters(daemon)
    assert states == recount(daemon), (states, recount(daemon))
    balance = {}
    for (source, target), number in moves.items():
        balance[source] = balance.get(source, 0) - number
        balance[target] = balance.get(target, 0) + number
    for state, number in balance.items():
        if not state.startswith("(") or state == "(none)":
            assert number == states.get(state, 0), (state, moves, states)


def is_behind(daemon):
    records = stream(daemon)
    position = counters(daemon)[2]
    return position is None or position < int(records[-1]["dynamodb"]["SequenceNumber"][1:])


def bucket_options(server, secret=SECRET):
    return ["--parameter", f"S3Endpoint=http://127.0.0.1:{server.port}", "--parameter", "S3Bucket=changes", "--parameter",
            "S3Prefix=a/b", "--parameter", f"S3AccessKeyId={KEY}", "--parameter", f"S3SecretAccessKey={secret}",
            "--set", "CaptureChangesFunction.CAPTURE_S3_TIMEOUT_MS=300"]


def survives_kills(binary, folder, random, rounds, server):
    changes = folder / "changes"
    changes.mkdir(parents=True)
    bucket = bucket_options(server) if server else []
    daemon = Daemon(binary, folder / "data", "--parameter", f"CaptureFolder={changes}", "--parameter", "CaptureFileSeconds=1",
                    "--parameter", "CaptureFileBytes=100000", *bucket, template=TEMPLATE)
    daemon.start()
    loads = [Load(daemon, type(random)(random.random()), number) for number in range(3)]
    for load in loads:
        load.start()
    try:
        for _ in range(rounds):
            if server:
                server.faults = [random.choice(("fail", "hang", "lost answer", None)) for _ in range(3)]
            time.sleep(random.uniform(0.1, 1.1))
            daemon.kill()
            if random.random() < 0.3:  # As if the machine had torn the last line.
                for part in (changes / "QueueTable").glob("*.part"):
                    with part.open("ab") as file:
                        file.write(b'{"eventID": "to')
            daemon.start()
        for load in loads:
            load.ended.set()
            load.join(60)
            assert load.failed is None, load.failed
            assert load.writes > 0
        if server:
            server.faults = []
        wait_for("the counters", lambda: not is_behind(daemon))
        check_counters(daemon)
        objects = server.objects if server else {}

        def all_there():
            done = captured(changes, objects)
            last = stream(daemon)[-1]["dynamodb"]["SequenceNumber"]
            return done and max(done).endswith(f"-{last}.jsonl") and not (server and list((changes / "QueueTable").glob("*.jsonl")))

        wait_for("the last file", all_there, 120)
        number = check_captured(daemon, changes, objects)
        if server:
            assert not server.problems, server.problems[:3]
        print(f"{number} records, {sum(load.writes for load in loads)} writes, {len(captured(changes, objects))} files", flush=True)
    finally:
        for load in loads:
            load.ended.set()
        daemon.stop()


def says_why_a_bucket_refuses(binary, folder, server):
    """With the wrong secret nothing arrives and nothing is removed; with the right one what waited goes there."""
    changes = folder / "changes"
    changes.mkdir(parents=True)
    options = ["--parameter", f"CaptureFolder={changes}", "--parameter", "CaptureFileSeconds=1"]
    daemon = Daemon(binary, folder / "data", *options, *bucket_options(server, "wrong"), template=TEMPLATE).start()
    try:
        daemon.dynamodb("PutItem", TableName="QueueTable", Item={"taskId": {"S": "1"}})
        wait_for("a refusal", lambda: "SignatureDoesNotMatch" in daemon.log_path.read_text())
        assert len(list((changes / "QueueTable").glob("*.jsonl"))) == 1 and not server.objects
        daemon.stop()
        daemon.options = (*options, *bucket_options(server))
        daemon.start()
        wait_for("the object", lambda: server.objects and not list((changes / "QueueTable").glob("*.jsonl")))
        check_captured(daemon, changes, server.objects)
    finally:
        daemon.stop()


def refused(binary, template, *options):
    run = subprocess.run([str(binary), "run", str(template), "--data", ":memory:", "--listen", "127.0.0.1:0", *map(str, options)],
                         capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 2, run
    return run.stderr


def says_what_is_wrong(binary, folder):
    error = refused(binary, TEMPLATE, "--parameter", f"CaptureFolder={folder}/none")
    assert "CaptureChangesFunction.Environment.Variables: CAPTURE_FOLDER is" in error, error
    assert "it must be a folder that is there and can be written to" in error, error
    error = refused(binary, TEMPLATE, "--parameter", f"CaptureFolder={folder}", "--parameter", "S3Endpoint=gopher://somewhere")
    assert "CAPTURE_S3_ENDPOINT: not a usable URL" in error, error
    error = refused(binary, TEMPLATE, "--set", "CountStatesFunction.COUNT_ATTRIBUTE=")
    assert "COUNT_ATTRIBUTE is empty" in error, error
    error = refused(binary, TEMPLATE, "--set", "CountStatesFunction.METRICS_TABLE=QueueTable")
    assert "it must be another one" in error and "it needs counted (S, HASH) and metric (S, RANGE)" in error, error
    text = TEMPLATE.read_text()
    for old, new, message in (
            ("NEW_AND_OLD_IMAGES", "KEYS_ONLY", "to count states it must be NEW_AND_OLD_IMAGES"),
            ("MaximumBatchingWindowInSeconds: 1", "ParallelizationFactor: 2", "must have a ParallelizationFactor of 1"),
            ("MaximumBatchingWindowInSeconds: 1", "FilterCriteria: {Filters: [{Pattern: '{\"eventName\": [\"INSERT\"]}'}]}",
             "count_states needs all records")):
        assert old in text
        path = folder / "wrong.yaml"
        path.write_text(text.replace(old, new))
        error = refused(binary, path)
        assert message in error and "wrong.yaml:" in error, error


def main():
    options, random = kill_options(__doc__)
    with tempfile.TemporaryDirectory(prefix="freshet-test-") as folder:
        folder = pathlib.Path(folder)
        try:
            says_what_is_wrong(options.binary, folder)
            survives_kills(options.binary, folder / "folder", random, options.rounds // 2, None)
            with S3Server() as server:
                survives_kills(options.binary, folder / "bucket", random, options.rounds // 2, server)
            with S3Server() as server:
                says_why_a_bucket_refuses(options.binary, folder / "refused", server)
        except (AssertionError, OSError, Refused, RuntimeError) as error:
            print(f"FAILED: {error!r}")
            sys.exit(1)
    print("stream functions survive kill -9")


if __name__ == "__main__":
    main()
