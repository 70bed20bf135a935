#!/usr/bin/env python3
"""A broken disk, and a full one, under traffic of every kind, through the real binary.

Each kind of call on the store's files fails with EIO, once and from then on: the daemon ends with status 1 within 5 s, says
why, and has everything that it acknowledged when it is started again. A full disk throttles what adds data, and lets everything
go on when there is space again, without a restart. A failing file of a backup, a capture, a trace or uploaded code is its own
error: the daemon lives.

A library that is loaded before the C library lets the calls fail (bad_disk.cc); the daemon knows nothing of it.
"""
import argparse
import base64
import errno
import io
import mmap
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

from daemon import QUEUE, ROOT, SLOWER, Daemon, Refused, check_books

OPTIONS = None
PATIENCE = 20 * SLOWER
ALWAYS = 0xffffffff


class BadDisk:
    """The library's instructions, in a file that it has mapped."""

    def __init__(self, folder):
        self.path = folder / "orders"
        self.path.write_bytes(b"\0" * 256)
        self.file = open(self.path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 256)

    def environment(self):
        return {"LD_PRELOAD": OPTIONS.bad_disk, "BAD_DISK": str(self.path)}

    def fail(self, call, path, times=ALWAYS, error=errno.EIO):
        self.heal()
        self.map[4:8] = struct.pack("<i", error)
        self.map[16:256] = call.encode().ljust(24, b"\0") + path.encode().ljust(216, b"\0")
        self.map[0:4] = struct.pack("<I", times)  # Last: from here on calls fail.

    def heal(self):
        self.map[0:12] = b"\0" * 12

    @property
    def hits(self):
        return struct.unpack("<I", self.map[8:12])[0]

    def close(self):
        self.map.close()
        self.file.close()


def until(done, what, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} does not come")
        time.sleep(0.005)


class Traffic:
    """Clients of every kind, who go on until they are told to end or the daemon is gone."""

    PAD = "x" * 20_000

    def __init__(self, daemon):
        self.daemon, self.ended, self.gone = daemon, threading.Event(), threading.Event()
        self.answers, self.throttled, self.other = {}, 0, []
        self.acknowledged = {}  # Item: version.
        self.threads = []

    CLIENTS = ("items", "batches", "tasks", "waits", "transactions", "records", "tables")

    def start(self, *clients):
        for client in clients or self.CLIENTS:
            thread = threading.Thread(target=self.run, args=(client,), daemon=True)
            self.threads.append(thread)
            thread.start()
        return self

    def run(self, client):
        number, step = 0, getattr(self, client)
        while not self.ended.is_set():
            try:
                step(number)
                self.answers[client] = self.answers.get(client, 0) + 1
            except OSError:
                self.gone.set()
                return
            except Refused as refused:
                if "ProvisionedThroughputExceededException" in str(refused):
                    self.throttled += 1
                elif refused.status < 500 and client != "tables" and "TrimmedDataAccessException" not in str(refused):
                    self.other.append((client, str(refused)))
                time.sleep(0.005)
            number += 1

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a client waits for an answer"

    def items(self, number):
        name = f"i{number % 40}"
        version = self.acknowledged.get(name, 0) + 1
        self.daemon.dynamodb("PutItem", TableName="Items", Item={"id": {"S": name}, "v": {"N": str(version)}, "pad": {"S": self.PAD[:2000]}})
        self.acknowledged[name] = version

    def batches(self, number):
        items = [{"id": {"S": f"b{(number * 8 + i) % 100}"}, "pad": {"S": self.PAD}, "ttl": {"N": str(int(time.time()) + 1)}} for i in range(8)]
        self.daemon.dynamodb("BatchWriteItem", RequestItems={"Items": [{"PutRequest": {"Item": item}} for item in items]})

    def tasks(self, number):
        self.daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": f"t{os.getpid()}-{id(self)}-{number}-{i}", "ttlSeconds": 60} for i in range(4)]})
        tasks = self.daemon.call("POST", QUEUE + "/take", {"max": 8})["tasks"]
        if tasks:
            self.daemon.call("POST", QUEUE + "/settle", {"settle": [{"taskId": t["taskId"], "lease": t["lease"], "outcome": "complete"}
                                                                    for t in tasks]})

    def waits(self, number):
        self.daemon.call("POST", QUEUE + "/take", {"max": 1, "waitMs": 1000})

    def transactions(self, number):
        put = lambda name: {"Put": {"TableName": "Items", "Item": {"id": {"S": name}, "n": {"N": str(number)}}}}
        self.daemon.dynamodb("TransactWriteItems", TransactItems=[put("x"), put("y")])
        self.daemon.dynamodb("UpdateItem", TableName="Items", Key={"id": {"S": "x"}}, UpdateExpression="ADD c :one",
                             ExpressionAttributeValues={":one": {"N": "1"}})
        self.daemon.dynamodb("DeleteItem", TableName="Items", Key={"id": {"S": "y"}})

    def records(self, number):
        """The oldest records, which only the disk has, and the newest."""
        call = lambda operation, **members: self.daemon.call("POST", "/", members, {
            "X-Amz-Target": "DynamoDBStreams_20120810." + operation, "Content-Type": "application/x-amz-json-1.0"})
        arn = call("ListStreams", TableName="Items")["Streams"][-1]["StreamArn"]
        shard = call("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
        iterator = call("GetShardIterator", StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        for _ in range(3):
            iterator = call("GetRecords", ShardIterator=iterator, Limit=20)["NextShardIterator"]

    def tables(self, number):
        name = f"Some{number % 3}"
        try:
            self.daemon.dynamodb("CreateTable", TableName=name, KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
                                 AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
        except Refused as refused:
            if "ResourceInUse" not in str(refused):  # An earlier life has made it.
                raise
        self.daemon.dynamodb("PutItem", TableName=name, Item={"id": {"S": "a"}})
        self.daemon.dynamodb("DeleteTable", TableName=name)


class BadDiskTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="freshet-bad-")
        self.at = pathlib.Path(self.folder.name)
        self.disk = BadDisk(self.at)
        self.daemon = self.make_daemon()

    def make_daemon(self, *options, bound="40MiB", **more):
        return Daemon(OPTIONS.binary, self.at / "data", "--segment-bytes", "1MiB", "--max-data-bytes", bound, "--max-memory-bytes", "24MiB",
                      "--log-level", "warn", *options, **more)

    def tearDown(self):
        if self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.kill()
        self.disk.close()
        self.folder.cleanup()

    @property
    def store(self):
        return self.daemon.data / "store"

    def start(self, bad=True):
        before = dict(os.environ)
        os.environ.update(self.disk.environment() if bad else {})
        try:
            self.daemon.start()
        finally:
            os.environ.clear()
            os.environ.update(before)

    def make_table(self):
        self.daemon.dynamodb("CreateTable", TableName="Items", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
                             AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                             StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
        self.daemon.dynamodb("UpdateTimeToLive", TableName="Items", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})

    def begin(self):
        """A store whose segments are closed, compacted and removed."""
        self.start()
        self.make_table()
        traffic = Traffic(self.daemon).start()
        until(lambda: not (self.store / "segment-0000000002.log").exists() and (self.store / "segment-0000000009.log").exists(),
              "the first segment's removal")
        traffic.end()
        self.assertFalse(traffic.other)
        return traffic.acknowledged

    def logged(self, since, event):
        return re.findall(rf'"event":"{event}"[^\n]*', self.daemon.log_path.read_text(errors="replace")[since:])

    def check_acknowledged(self, acknowledged):
        for name, version in acknowledged.items():
            item = self.daemon.dynamodb("GetItem", TableName="Items", Key={"id": {"S": name}}, ConsistentRead=True)["Item"]
            self.assertGreaterEqual(int(item["v"]["N"]), version, f"{name}: an acknowledged version is gone")
        check_books(self.daemon.stats())


class EveryCall(BadDiskTest):
    CALLS = [("write", "/segment-"), ("sync", "/segment-"), ("truncate", "/segment-"), ("open", "/segment-"), ("read", "/segment-"),
             ("rename", "/segment-"), ("open", "/spare-"), ("create", "/spare-"), ("allocate", "/spare-"), ("write", "/spare-"),
             ("sync", "/spare-"), ("rename", "/spare-"), ("open", "/trash-"), ("remove", "/trash-"), ("fsync", "=STORE"),
             ("statvfs", "=STORE"), ("fstat", "/LOCK")]

    def test_it_ends_the_process(self):
        acknowledged = self.begin()
        self.daemon.kill()
        for call, path in self.CALLS:
            for times in (1, ALWAYS):
                with self.subTest(call=call, path=path, times=times):
                    self.one_fault(call, path.replace("=STORE", f"={self.store}"), times, acknowledged)
        self.disk.heal()
        self.start(bad=False)
        self.check_acknowledged(acknowledged)
        self.assertEqual(self.daemon.stop(), 0)

    def one_fault(self, call, path, times, acknowledged):
        self.disk.heal()
        since = self.daemon.log_path.stat().st_size
        self.start()
        try:
            self.check_acknowledged(acknowledged)
            traffic = Traffic(self.daemon)
            traffic.acknowledged = acknowledged
            traffic.start()
            until(lambda: all(traffic.answers.get(client) for client in Traffic.CLIENTS), "an answer to each client")
            self.disk.fail(call, path, times)
            until(lambda: self.disk.hits > 0, f"a call of {call} on {path}")
            try:
                self.assertEqual(self.daemon.process.wait(5), 1)
            except subprocess.TimeoutExpired:
                self.fail(f"5 s after the fault it still runs: {self.daemon.log_tail()}")
            traffic.end()
            failed = self.logged(since, "STORE_FAILED")
            self.assertEqual(len(failed), 1, self.daemon.log_tail())
            self.assertIn("Input/output error", failed[0])
            self.assertFalse(self.logged(since, "TURN_SLOW"))
        finally:
            if self.daemon.process.poll() is None:
                self.daemon.kill()


class FullDisk(BadDiskTest):
    def begin_full(self):
        acknowledged = self.begin()
        self.daemon.kill()
        self.daemon = self.make_daemon("--drain-ms", "500", bound="0")  # The disk's own bound.
        self.start()
        traffic = Traffic(self.daemon)
        traffic.acknowledged = acknowledged
        return traffic.start()

    def goes_on(self, traffic):
        """There is space again, and the daemon is the same."""
        self.disk.heal()
        before = dict(traffic.answers)
        until(lambda: all(traffic.answers.get(client, 0) > before.get(client, 0) + 2 for client in Traffic.CLIENTS), "going on")
        traffic.end()
        self.assertFalse(traffic.other)
        self.assertFalse(self.logged(0, "STORE_FAILED"))
        self.check_acknowledged(traffic.acknowledged)
        self.assertEqual(self.daemon.stop(), 0)
        self.start(bad=False)
        self.check_acknowledged(traffic.acknowledged)

    def test_without_space_what_adds_data_is_throttled(self):
        traffic = self.begin_full()
        self.disk.fail("full", "/store/", error=errno.ENOSPC)
        until(lambda: traffic.throttled > 20, "throttling")
        self.goes_on(traffic)

    def test_beyond_a_quota_what_adds_data_is_throttled(self):
        """The disk says that it has space, and gives none."""
        traffic = self.begin_full()
        self.disk.fail("allocate", "/store/", error=errno.EDQUOT)
        until(lambda: traffic.throttled > 20, "throttling")
        self.goes_on(traffic)

    def test_without_room_for_a_name_writes_wait(self):
        traffic = self.begin_full()
        self.disk.fail("rename", "/store/", error=errno.ENOSPC)
        until(lambda: self.disk.hits > 20, "names that do not fit")
        self.goes_on(traffic)

    def test_it_can_be_stopped_while_the_disk_is_full(self):
        traffic = self.begin_full()
        self.disk.fail("rename", "/store/", error=errno.ENOSPC)
        until(lambda: self.disk.hits > 0, "the first name that does not fit")
        self.daemon.process.terminate()
        self.assertEqual(self.daemon.process.wait(PATIENCE), 0)
        traffic.end()
        self.disk.heal()
        self.start(bad=False)
        self.check_acknowledged(traffic.acknowledged)


def archive(source):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("main.py", source)
    return base64.b64encode(file.getvalue()).decode()


class OtherFiles(BadDiskTest):
    """Each is an error of its own, and the store goes on."""

    def lives(self, traffic):
        before = dict(traffic.answers)
        until(lambda: all(traffic.answers.get(client, 0) > before.get(client, 0) for client in Traffic.CLIENTS), "an answer to each client")
        self.assertIsNone(self.daemon.process.poll())
        self.assertFalse(self.logged(0, "STORE_FAILED"))

    def test_a_backup(self):
        self.start()
        self.make_table()
        traffic = Traffic(self.daemon).start()
        status = lambda arn: self.daemon.dynamodb("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"]

        def back_up():
            return self.daemon.dynamodb("CreateBackup", TableName="Items", BackupName="some")["BackupDetails"]["BackupArn"]

        def is_gone(arn):
            try:
                return status(arn) == "GONE"
            except Refused as refused:
                return "BackupNotFoundException" in str(refused)

        for number, (call, path) in enumerate((("create", ".part"), ("write", ".part"), ("sync", ".part"), ("rename", ".part"), ("fsync", "/backups"))):
            for error in (errno.EIO, errno.ENOSPC):
                with self.subTest(call=call, error=error):
                    since = self.daemon.log_path.stat().st_size
                    self.disk.fail(call, path, error=error)
                    try:
                        arn = back_up()
                    except Refused as refused:
                        self.assertIn(call, ("create", "write"))
                        self.assertIn(refused.status, (400, 500))
                    else:
                        until(lambda: is_gone(arn), "the end of a backup that fails")
                        self.assertIn("is given up", "".join(self.logged(since, "STORE_WARNING")))
                    self.assertGreater(self.disk.hits, 0)
                    self.lives(traffic)
                    self.disk.heal()
                    arn = back_up()
                    until(lambda: status(arn) == "AVAILABLE", "the next backup")
        for call in ("open", "read"):
            self.disk.fail(call, ".backup")
            try:
                self.daemon.dynamodb("RestoreTableFromBackup", TargetTableName="Copy", BackupArn=arn)
            except Refused as refused:
                self.assertEqual(refused.status, 500)
            self.lives(traffic)
        self.disk.fail("rename", ".backup")
        with self.assertRaises(Refused) as refused:
            self.daemon.dynamodb("DeleteBackup", BackupArn=arn)
        self.assertEqual(refused.exception.status, 500)
        self.lives(traffic)
        self.disk.heal()
        self.daemon.dynamodb("DeleteBackup", BackupArn=arn)
        traffic.end()
        self.assertFalse(traffic.other)
        self.assertEqual(self.daemon.stop(), 0)

    def test_a_capture(self):
        changes = self.at / "changes"
        changes.mkdir()
        self.daemon = self.make_daemon("--parameter", f"CaptureFolder={changes}", "--parameter", "CaptureFileSeconds=1",
                                       template=ROOT / "config/stream-functions.yaml", runner="fake")
        self.start()
        self.make_table()
        traffic = Traffic(self.daemon).start()
        finished = lambda: len(list(changes.glob("*/*.jsonl")))
        until(lambda: finished() > 0, "a file")
        for call, path in (("write", ".part"), ("sync", ".part"), ("rename", ".part"), ("create", "/changes/"), ("fsync", "/changes/")):
            for error in (errno.EIO, errno.ENOSPC):
                with self.subTest(call=call, error=error):
                    since = self.daemon.log_path.stat().st_size
                    self.disk.fail(call, path, error=error)
                    until(lambda: self.disk.hits > 0, "the fault")
                    until(lambda: self.logged(since, "CAPTURE_FAILED") or self.logged(since, "FUNCTION_ERROR"), "its error")
                    self.lives(traffic)
                    self.disk.heal()
                    before = finished()
                    until(lambda: finished() > before, "the next file")
        traffic.end()
        self.assertEqual(self.daemon.stop(), 0)

    def test_a_trace(self):
        self.daemon = self.make_daemon("--trace-file", self.at / "trace.json", runner="fake")
        self.start()
        self.make_table()
        traffic = Traffic(self.daemon).start()
        until(lambda: (self.at / "trace.json").stat().st_size > 0, "a trace")
        self.disk.fail("append", "/trace.json")
        until(lambda: self.logged(0, "TRACE_EXPORT_FAILED"), "its error")
        self.lives(traffic)
        traffic.end()
        self.assertEqual(self.daemon.stop(), 0)

    def test_an_upload(self):
        self.start()
        self.make_table()
        traffic = Traffic(self.daemon).start()
        create = lambda name: self.daemon.call("POST", "/2015-03-31/functions", {
            "FunctionName": name, "Runtime": "python3.11", "Handler": "main.handler", "Role": "arn:aws:iam::000000000000:role/any",
            "Code": {"ZipFile": archive(f"def handler(event, context):\n    return '{name}'\n")}})
        code = self.store / "code"
        # The last one is the sync after the rename.
        calls = [(call, "/store/code") for call in ("mkdir", "create", "append", "fsync", "rename")] + [("fsync", f"={code}")]
        for number, (call, path) in enumerate(calls):
            for error in (errno.EIO, errno.ENOSPC):
                with self.subTest(call=call, path=path, error=error):
                    name = f"F{number}-{error}"
                    before = set(os.listdir(code)) if code.exists() else set()
                    self.disk.fail(call, path, error=error)
                    with self.assertRaises(Refused) as refused:
                        create(name)
                    self.assertGreater(self.disk.hits, 0)
                    self.assertGreaterEqual(refused.exception.status, 500)
                    left = set(os.listdir(code)) - before if code.exists() else set()
                    self.assertEqual([one for one in left if not one.endswith(".part")], [], "a later upload would trust it")
                    self.lives(traffic)
                    self.disk.heal()
                    create(name)
                    self.assertEqual(self.daemon.call("POST", f"/2015-03-31/functions/{name}/invocations", {}), name)
        traffic.end()
        self.assertEqual(self.daemon.stop(), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--bad-disk", required=True, help="the library")
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.binary, OPTIONS.bad_disk = os.path.abspath(OPTIONS.binary), os.path.abspath(OPTIONS.bad_disk)
    unittest.main(argv=[sys.argv[0], *rest], warnings="ignore")
