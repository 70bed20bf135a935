#!/usr/bin/env python3
"""A daemon whose queue lives in a real engine (--store dynamodb):

  tests/conformance/engine_daemon_test.py freshet|extenddb|dynamodb_local

Everything is started on free ports and stopped. An engine that is not installed is skipped by name."""
import collections
import contextlib
import http.server
import importlib.util
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(ROOT / "tests" / "faults"))
import dynamodb_local  # noqa: E402
import engines_test  # noqa: E402
import extenddb  # noqa: E402
import ordered_test  # noqa: E402
from daemon import SLOWER, Daemon, Refused, check_books  # noqa: E402
from engine_commands_test import BINARY, Between, freshet  # noqa: E402

TASKS = 300
STOP_SECONDS = 5  # A stop's steps after the drain.
KILLED_AT = (400, 700, 1100)  # Requests to the engine, after the start of a daemon.
KEYS = {"AWS_ACCESS_KEY_ID": extenddb.KEY, "AWS_SECRET_ACCESS_KEY": extenddb.SECRET, "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}


class Served:
    """Serves such requests on a free port for the time of a `with`."""

    def __init__(self, answer):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), answer)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *unused: None  # The daemon was killed.
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.server.shutdown()
        self.server.server_close()


class Handler(Served):
    """Answers each task with 200 for the time of a `with`, and counts how often it came. While `silent` is set, it answers none."""

    def __init__(self):
        self.came, self.lock = collections.Counter(), threading.Lock()
        self.silent, self.over = threading.Event(), threading.Event()
        handler = self

        class Answer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with handler.lock:
                    handler.came[task["taskId"]] += 1
                if handler.silent.is_set():
                    handler.over.wait()
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *unused):
                pass

        super().__init__(Answer)
        self.url += "/"

    def __exit__(self, *unused):
        self.over.set()
        super().__exit__()


def next_millisecond():
    """Until the clock shows another one: the index of an engine has no order for tasks of the same millisecond (docs/lifecycle.md)."""
    now = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == now:
        time.sleep(0.0002)


class Function(Served):
    """A function over HTTP for the time of a `with`: keeps the records that it gets. While `fails` is set, it fails."""

    def __init__(self):
        self.records, self.batches, self.failed, self.fails = [], [], 0, threading.Event()
        function = self

        class Answer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                failed = function.fails.is_set() or function.refuses(event)
                if not failed:
                    function.batches.append(len(event["Records"]))
                    function.records += event["Records"]
                function.failed += failed
                self.send_response(500 if failed else 200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *unused):
                pass

        self.refuses = lambda event: False
        super().__init__(Answer)
        self.url += "/f"

    def versions(self):
        """By item: its versions, in the order in which they came."""
        came = collections.defaultdict(list)
        for record in list(self.records):
            image = record["dynamodb"].get("NewImage")
            came[record["dynamodb"]["Keys"]["id"]["S"]].append(int(image["v"]["N"]) if image else 0)
        return came

    def template(self, place, **more):
        event = {"Stream": {"Fn::GetAtt": ["Orders", "StreamArn"]}, "StartingPosition": "TRIM_HORIZON", "BatchSize": 10, **more}
        table = {"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                 "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                 "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"}}
        function = {"Runtime": "http", "Handler": self.url, "Events": {"Change": {"Type": "DynamoDB", "Properties": event}}}
        path = place / "template.json"
        path.write_text(json.dumps({"Resources": {"Orders": {"Type": "AWS::DynamoDB::Table", "Properties": table},
                                                  "Seen": {"Type": "AWS::Serverless::Function", "Properties": function}}}))
        return path


class Trimming(http.server.BaseHTTPRequestHandler):
    """Stands before an engine: it says that nothing is kept behind a sequence number, as it would a day later."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, answer = 400, b'{"__type":"com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException","message":"trimmed"}'
        if b"AFTER_SEQUENCE_NUMBER" not in body:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            request = urllib.request.Request(self.server.engine, data=body, headers=headers)
            try:
                with urllib.request.urlopen(request) as response:
                    status, answer = response.status, response.read()
            except urllib.error.HTTPError as error:
                status, answer = error.code, error.read()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *unused):
        pass


class Held(Trimming):
    """Stands before an engine: it answers the first read after `hold` only once another read has come."""

    def do_POST(self):
        server = self.server
        if self.headers["X-Amz-Target"].endswith(".GetItem"):
            if server.hold.is_set():
                server.hold.clear()
                server.again.wait(10)
            else:
                server.again.set()
        super().do_POST()


class EngineDaemon(unittest.TestCase):
    name = ""

    def setUp(self):
        self.engine = engines_test.engine(self.name)
        self.url = self.engine.__enter__().url
        self.addCleanup(self.engine.__exit__, None, None, None)
        folder = tempfile.TemporaryDirectory(prefix="freshet-engine-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)

    def daemon(self, name, *options, runner="none", url=None):
        daemon = Daemon(BINARY, self.place / name, "--store", "dynamodb", "--endpoint", url or self.url, *options, runner=runner)
        daemon.environment = KEYS
        self.addCleanup(self.end, daemon)
        return daemon

    def end(self, daemon):
        if getattr(daemon.local, "connection", None):
            daemon.local.connection.close()
        daemon.stop()

    def items(self, daemon):
        """All tasks, as the engine has them."""
        found, start = [], {}
        while True:
            page = daemon.dynamodb("Scan", TableName="QueueTable", ConsistentRead=True, **start)
            found += page["Items"]
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def wait_until(self, daemon, done):
        """Looks at the books until they are so. A test that waits in vain ends by ctest's own limit."""
        while True:
            stats = daemon.stats()
            if done(stats["depth"]):
                return stats
            self.assertIsNone(daemon.process.poll(), daemon.log_tail())

    def test_the_newest_first_and_each_outcome(self):
        daemon = self.daemon("order", "--create-tables").start()
        for name in ("a", "b", "c"):
            daemon.call("POST", "/queues/QueueTable/tasks", {"taskId": name, "payload": name})
            next_millisecond()
        daemon.dynamodb("PutItem", TableName="QueueTable", Item={"taskId": {"S": "d"}, "taskStatus": {"S": "PENDING"},
                                                                 "taskCreated": {"N": "1"}})
        with self.assertRaises(Refused) as refused:
            daemon.call("POST", "/queues/QueueTable/tasks", {"taskId": "e", "deadline": 1})
        self.assertEqual(refused.exception.status, 400)
        taken = daemon.call("POST", "/queues/QueueTable/take", {"max": 4})["tasks"]
        self.assertEqual([task["taskId"] for task in taken], ["c", "b", "a", "d"])
        outcomes = dict(zip("cbad", ("complete", "fail", "release", "complete")))
        daemon.call("POST", "/queues/QueueTable/settle",
                    {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": outcomes[task["taskId"]]} for task in taken]})
        stats = daemon.stats()
        check_books(stats)
        self.assertEqual(stats["depth"]["SUCCESS"], 2)
        self.assertEqual(stats["depth"]["PENDING"], 1)
        states = collections.Counter(item["taskStatus"]["S"] for item in self.items(daemon))
        self.assertEqual(states, {state: depth for state, depth in stats["depth"].items() if depth})
        self.assertEqual(daemon.call("GET", "/queues/QueueTable/tasks/a/explain")["task"]["taskStatus"], "PENDING")

    def test_each_task_is_done_although_the_daemon_is_killed(self):
        with Handler() as handler:
            created = 0
            for number in KILLED_AT:
                killed = threading.Event()
                with Between(self.url, number, lambda: (daemon.process.send_signal(signal.SIGKILL), killed.set())) as between:
                    daemon = self.daemon("killed", "--create-tables", runner=handler.url, url=between.url).start()
                    # No answer: the task may be there. It is created again under its id.
                    while not killed.is_set():
                        try:
                            daemon.call("POST", "/queues/QueueTable/tasks", {"taskId": f"t-{created}", "payload": created})
                            created += 1
                        except OSError:
                            pass
                    daemon.process.wait()
            daemon = self.daemon("killed", runner=handler.url).start()
            for i in range(max(0, created - 1), max(created + 1, TASKS)):
                daemon.call("POST", "/queues/QueueTable/tasks", {"taskId": f"t-{i}", "payload": i})
            tasks = max(created + 1, TASKS)
            self.wait_until(daemon, lambda depth: depth["SUCCESS"] >= tasks)
            check_books(daemon.stats())
            items = self.items(daemon)
            self.assertEqual({item["taskId"]["S"] for item in items}, {f"t-{i}" for i in range(tasks)})
            self.assertEqual({item["taskStatus"]["S"] for item in items}, {"SUCCESS"})
            self.assertEqual(set(handler.came), {f"t-{i}" for i in range(tasks)})
            again = sum(count - 1 for count in handler.came.values())
            self.assertLessEqual(again, 20 * len(KILLED_AT), "only what was in work at a kill is done again")

    def test_a_read_that_is_slow_is_sent_again(self):
        served = self.enterContext(Served(Held))
        server = served.server
        server.engine, server.hold, server.again = self.url, threading.Event(), threading.Event()
        daemon = self.daemon("hedged", "--create-tables", "--hedge-after-ms", "50", url=served.url).start()
        daemon.call("POST", "/queues/QueueTable/tasks", {"taskId": "a", "payload": 1})
        server.again.clear()
        server.hold.set()
        begun = time.monotonic()
        self.assertEqual(daemon.dynamodb("GetItem", TableName="QueueTable", Key={"taskId": {"S": "a"}}, ConsistentRead=True)["Item"]["payload"],
                         {"N": "1"})
        self.assertTrue(server.again.is_set(), "it was sent again")
        self.assertLess(time.monotonic() - begun, 2.5 * SLOWER, "a retry comes after three seconds")

    def test_a_stop_is_in_time_although_the_engine_does_not_answer(self):
        drain_ms = 1000
        with Handler() as handler, Between(self.url, 0, lambda: None) as between:
            daemon = self.daemon("silent", "--create-tables", "--drain-ms", str(drain_ms), runner=handler.url, url=between.url).start()
            handler.silent.set()
            daemon.call("POST", "/queues/QueueTable/tasks", {"tasks": [{"taskId": f"t-{i}"} for i in range(3)]})
            while not handler.came:
                pass
            between.silent.set()
            waits = threading.Thread(target=self.in_vain, args=(daemon,))
            waits.start()
            began = time.monotonic()
            self.assertEqual(daemon.stop(), 0, daemon.log_tail())
            took = time.monotonic() - began
            handler.over.set()
            waits.join()
        self.assertLess(took, drain_ms / 1000 + STOP_SECONDS, "the drain, three seconds to give tasks back, and half a second for each other step")
        self.assertIn("LEASES_NOT_RELEASED", daemon.log_path.read_text())
        # The daemon knows what it holds itself. Where a task waits, it would have to ask how old that is.
        self.assertRegex(daemon.log_path.read_text(), "the store did not answer, so nothing was counted|0 wait, 3 are still held by workers")

    def in_vain(self, daemon):
        with contextlib.suppress(OSError, Refused):
            daemon.call("POST", "/queues/QueueTable/take", {"max": 1})

    def test_a_start_that_cannot_be_says_why(self):
        self.check(self.daemon("missing"), "table 'QueueTable' is not there: make it, or start the daemon with --create-tables")
        self.check(self.daemon("nobody", url="http://127.0.0.1:9"), "Connection refused")
        keyless = self.daemon("keyless")
        keyless.environment = {**KEYS, "AWS_ACCESS_KEY_ID": ""}
        self.check(keyless, "no access key: neither AWS_ACCESS_KEY_ID")
        if self.name == "extenddb":
            stranger = self.daemon("stranger")
            stranger.environment = {**KEYS, "AWS_SECRET_ACCESS_KEY": "wrong"}
            self.check(stranger, "InvalidSignatureException")

    def test_tasks_in_the_data_folder_are_told_of(self):
        before = Daemon(BINARY, self.place / "moves").start()
        before.call("POST", "/queues/QueueTable/tasks", {"tasks": [{"taskId": f"t-{i}"} for i in range(3)]})
        self.end(before)
        daemon = self.daemon("moves", "--create-tables").start()
        line, = [line for line in daemon.log_path.read_text().splitlines() if "TASKS_LEFT_BEHIND" in line]
        said = json.loads(line)
        self.assertEqual((said["table"], said["tasks"]), ("QueueTable", 3), said)
        self.assertIn(f"freshet copy {daemon.store} {self.url} --table QueueTable", said["what"])

    def test_the_other_queues_do_the_same_there(self):
        options = [("--priority-queue", "priority-queue"), ("--filtered-queue", "filtered-queue"), ("--ordered-writes", "ordered-writes")]
        words = [word for option, name in options for word in (option, ROOT / f"config/{name}.json")]
        daemon = self.daemon("others", "--create-tables", *words).start()
        for name in ("priority_test", "filtered_test"):  # This folder has tests of these names, too.
            spec = importlib.util.spec_from_file_location(f"faults_{name}", ROOT / f"tests/faults/{name}.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            module.routes(daemon)
        ordered_test.calls(daemon)

    def test_settings_of_tables_go_to_the_engine_or_are_refused(self):
        daemon = self.daemon("settings", "--create-tables").start()
        table = {"TableName": "Mine"}
        daemon.dynamodb("CreateTable", **table, KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], DeletionProtectionEnabled=True,
                        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST",
                        Tags=[{"Key": "team", "Value": "a"}])
        self.assertTrue(daemon.dynamodb("DescribeTable", **table)["Table"]["DeletionProtectionEnabled"])
        daemon.dynamodb("UpdateTable", **table, DeletionProtectionEnabled=False)
        described = daemon.dynamodb("DescribeTable", **table)["Table"]
        self.assertFalse(described["DeletionProtectionEnabled"])
        arn = {"ResourceArn": described["TableArn"]}
        for operation, members in (("ListTagsOfResource", arn), ("TagResource", {**arn, "Tags": [{"Key": "a", "Value": "b"}]}),
                                   ("UntagResource", {**arn, "TagKeys": ["a"]}), ("DescribeContinuousBackups", table)):
            with self.assertRaises(Refused) as refused:
                daemon.dynamodb(operation, **members)
            self.assertIn("ask the engine itself", str(refused.exception))

    def reader(self, template, *options, name="streams", url=None):
        daemon = self.daemon(name, "--create-tables", *options, template, url=url)
        daemon.template = None
        return daemon

    def change(self, daemon, item, version):
        daemon.dynamodb("PutItem", TableName="Orders", Item={"id": {"S": item}, "v": {"N": str(version)}})

    def wait_for(self, daemon, done, seconds=60):
        end = time.monotonic() + seconds * SLOWER
        while not done():
            self.assertIsNone(daemon.process.poll(), daemon.log_tail())
            self.assertLess(time.monotonic(), end, daemon.log_tail())
            time.sleep(0.02)

    def test_a_function_gets_each_change_in_order(self):
        items, versions = [f"i-{i}" for i in range(8)], 12
        with Function() as function:
            daemon = self.reader(function.template(self.place)).start()
            for version in range(1, versions + 1):
                for item in items:
                    self.change(daemon, item, version)
            daemon.dynamodb("DeleteItem", TableName="Orders", Key={"id": {"S": items[0]}})
            self.wait_for(daemon, lambda: len(function.records) >= versions * len(items) + 1)
            every = list(range(1, versions + 1))
            self.assertEqual(function.versions(), {item: every + ([0] if item == items[0] else []) for item in items})
            self.assertLessEqual(max(function.batches), 10)
            first = function.records[0]
            self.assertEqual((first["eventName"], first["eventSource"]), ("INSERT", "aws:dynamodb"))
            self.assertEqual(len({record["eventID"] for record in function.records}), len(function.records))
            self.assertTrue(first["eventSourceARN"].startswith("arn:"), first)
            self.assertGreater(len(first["dynamodb"]["SequenceNumber"]), 10)
            self.assertEqual({record["eventName"] for record in function.records}, {"INSERT", "MODIFY", "REMOVE"})

    def test_a_restart_goes_on_where_it_stopped(self):
        with Function() as function:
            template = function.template(self.place)
            daemon = self.reader(template).start()
            for version in range(1, 11):
                self.change(daemon, "a", version)
            self.wait_for(daemon, lambda: len(function.records) >= 10)
            self.assertEqual(daemon.stop(), 0)
            other = self.daemon("other", "--create-tables").start()  # It only writes.
            for version in range(11, 21):
                self.change(other, "a", version)
            self.end(other)
            daemon = self.reader(template).start()
            self.wait_for(daemon, lambda: len(function.records) >= 20)
            self.change(daemon, "a", 21)
            self.wait_for(daemon, lambda: len(function.records) >= 21)
            self.assertEqual(function.versions(), {"a": list(range(1, 22))}, "each once: the stop was a clean one")
            function.fails.set()
            for version in range(22, 32):
                self.change(daemon, "a", version)
            self.wait_for(daemon, lambda: function.failed)
            daemon.kill()
            function.fails.clear()
            daemon = self.reader(template).start()
            self.wait_for(daemon, lambda: function.versions()["a"][-1] == 31)
            came = function.versions()["a"]
            self.assertEqual(sorted(set(came)), list(range(1, 32)))
            self.assertEqual(came[21:], list(range(22, 32)), "what was not processed came after the kill")
            self.assertNotIn("STREAM_RECORDS_LOST", daemon.log_path.read_text())

    def test_a_restart_after_a_trim_goes_on_with_a_warning(self):
        between = self.enterContext(Served(Trimming))
        between.server.engine = self.url
        with Function() as function:
            template = function.template(self.place)
            daemon = self.reader(template).start()
            self.change(daemon, "a", 1)
            self.wait_for(daemon, lambda: len(function.records) >= 1)
            self.assertEqual(daemon.stop(), 0)
            daemon = self.reader(template, url=between.url).start()
            self.change(daemon, "a", 2)
            self.wait_for(daemon, lambda: function.versions()["a"][-1] == 2)
            line, = [line for line in daemon.log_path.read_text().splitlines() if "STREAM_RECORDS_LOST" in line]
            self.assertEqual(json.loads(line)["table"], "Orders")

    def test_settings_of_a_mapping_hold_on_an_engine(self):
        with Function() as function:
            fewer = {"StartingPosition": "LATEST", "MaximumRetryAttempts": 2, "BisectBatchOnFunctionError": True,
                     "FilterCriteria": {"Filters": [{"Pattern": json.dumps({"eventName": ["INSERT"]})}]}}
            writer = self.reader(function.template(self.place), name="writer").start()
            self.change(writer, "before", 1)
            self.wait_for(writer, lambda: function.records)
            self.end(writer)
            function.records.clear()
            function.refuses = lambda event: any("poison" in record["dynamodb"]["Keys"]["id"]["S"] for record in event["Records"])
            daemon = self.reader(function.template(self.place, **fewer)).start()
            for version in (1, 2):
                for item in ("a", "poison", "b", "c"):
                    self.change(daemon, item, version)
            self.wait_for(daemon, lambda: set(function.versions()) >= {"a", "b", "c"} and "STREAM_RECORDS_DROPPED" in daemon.log_path.read_text())
            self.assertEqual(function.versions(), {"a": [1], "b": [1], "c": [1]}, "inserts only, from the start of the mapping on")

    def capture_template(self, **more):
        """The table of Function.template(), captured in the folder `changes`."""
        with Function() as function:
            path = function.template(self.place, **more)
        resources = json.loads(path.read_text())["Resources"]
        variables = {"CAPTURE_FOLDER": str(self.place / "changes"), "CAPTURE_FILE_S": "1"}
        resources["Seen"]["Properties"].update(Runtime="native", Handler="capture_changes", Environment={"Variables": variables})
        path.write_text(json.dumps({"Resources": resources}))
        (self.place / "changes").mkdir(exist_ok=True)
        return path

    def captured(self):
        """By item: its versions in the files, in the order of their names."""
        came, folder = collections.defaultdict(list), self.place / "changes" / "Orders"
        for path in sorted(folder.glob("*.jsonl")) + sorted(folder.glob("*.jsonl.part")):
            try:
                lines = path.read_text().splitlines()
            except FileNotFoundError:  # It has just been finished.
                return self.captured()
            for line in map(json.loads, lines):
                came[line["dynamodb"]["Keys"]["id"]["S"]].append(int(line["dynamodb"]["NewImage"]["v"]["N"]))
        return came

    def test_each_change_is_captured_once_over_kills(self):
        items, versions = [f"i-{i}" for i in range(5)], 0
        template = self.capture_template()
        for end in range(6, 31, 6):
            daemon = self.reader(template).start()
            for versions in range(versions + 1, end + 1):
                for item in items:
                    self.change(daemon, item, versions)
            # The marks are stored a moment after the lines: the kill comes in between.
            self.wait_for(daemon, lambda: self.captured().get(items[0], [0])[-1] >= versions - 2)
            daemon.kill()
        daemon = self.reader(template).start()
        folder = self.place / "changes" / "Orders"
        self.wait_for(daemon, lambda: sum(map(len, self.captured().values())) >= versions * len(items))
        self.wait_for(daemon, lambda: all(path.stat().st_size == 0 for path in folder.glob("*.part")))
        self.assertEqual(self.captured(), {item: list(range(1, versions + 1)) for item in items}, "each once and in order")
        for path in folder.iterdir():
            self.assertRegex(path.name, r"^[^_]+_[-.~0-9A-Za-z]+_[0-9]{40}(-[0-9]{40}\.jsonl|\.jsonl\.part)$")
        self.assertNotIn("CAPTURE_FAILED", daemon.log_path.read_text())

    def count_template(self, **more):
        """The table of Function.template(), whose states are counted in the table OrderCounts."""
        with Function() as function:
            path = function.template(self.place, **more)
        resources = json.loads(path.read_text())["Resources"]
        keys = [("counted", "HASH"), ("metric", "RANGE")]
        resources["Counts"] = {"Type": "AWS::DynamoDB::Table", "Properties": {
            "TableName": "OrderCounts", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in keys],
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name, _ in keys]}}
        resources["Seen"]["Properties"].update(Runtime="native", Handler="count_states", Timeout=900,
                                               Environment={"Variables": {"METRICS_TABLE": "OrderCounts", "COUNT_ATTRIBUTE": "state"}})
        path.write_text(json.dumps({"Resources": resources}))
        return path

    def counted(self, daemon):
        """The counters that are not 0: by state and by move."""
        page = daemon.dynamodb("Query", TableName="OrderCounts", ConsistentRead=True, KeyConditionExpression="counted = :c",
                               ExpressionAttributeValues={":c": {"S": "Orders#state"}})
        numbers = {item["metric"]["S"]: int(item.get("itemCount", item.get("moves", {"N": "0"}))["N"]) for item in page["Items"]}
        return {metric: number for metric, number in numbers.items() if number}

    def test_the_states_of_a_table_are_counted_over_kills(self):
        """Also those of items that were there before the function was. Each move counts once."""
        draw, states, expected = random.Random(7), {}, collections.Counter()

        def move(daemon, item, state):
            if state:
                daemon.dynamodb("PutItem", TableName="Orders", Item={"id": {"S": item}, "v": {"N": str(draw.random())}, "state": {"S": state}})
            else:
                daemon.dynamodb("DeleteItem", TableName="Orders", Key={"id": {"S": item}})
            before = states.pop(item, None)
            if state:
                states[item] = state
            if before != (state or None):
                expected[f"transition#{before or '(created)'}#{state or '(removed)'}"] += 1

        def wanted():
            return {**{f"state#{state}": number for state, number in collections.Counter(states.values()).items()}, **expected}

        template = self.count_template()
        without = json.loads(template.read_text())
        del without["Resources"]["Seen"]
        (self.place / "without.json").write_text(json.dumps(without))
        daemon = self.reader(self.place / "without.json").start()
        for number in range(150):
            move(daemon, f"i-{number}", draw.choice("ABC"))
        self.end(daemon)
        for life in range(4):
            daemon = self.reader(template).start()
            for _ in range(80):
                move(daemon, f"i-{draw.randrange(170)}", draw.choice(["A", "B", "C", "D", ""]))
            if life < 3:
                # In the middle of its work.
                self.wait_for(daemon, lambda: sum(self.counted(daemon).values()) >= 10 * (life + 1))
                daemon.kill()
        self.wait_for(daemon, lambda: self.counted(daemon) == wanted())
        # The lives share a log. A kill may come before the line of the first one.
        self.assertLessEqual(daemon.log_path.read_text().count("COUNT_TABLE"), 1)

    def test_what_no_mapping_of_an_engine_has_is_refused(self):
        with Function() as function:
            self.check(self.reader(function.template(self.place, TumblingWindowInSeconds=10)), "tumbling windows are not served on an engine")

    def check(self, daemon, text):
        with self.assertRaises(RuntimeError) as ended:
            daemon.start()
        self.assertIn(text, str(ended.exception))

    def test_the_command_of_the_page(self):
        self.run_command_of("docs/engines.md", "engines")

    def test_the_command_of_the_layout(self):
        def work(daemon):
            name = daemon.call("GET", "/queues")["queues"][0]
            queue = f"/queues/{name}"
            daemon.call("POST", queue + "/tasks", {"tasks": [{"taskId": f"t{number}"} for number in range(20)]})
            taken = daemon.call("POST", queue + "/take", {"max": 20})["tasks"]
            self.assertEqual([task["taskId"] for task in taken], [f"t{number}" for number in reversed(range(20))])
            self.assertEqual({task["taskPlace"] for task in taken}, {"TAKEN"})
            daemon.call("POST", queue + "/settle",
                        {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"} for task in taken]})
            listed = daemon.call("GET", queue + "/tasks?state=SUCCESS&limit=20")
            self.assertEqual(len(listed["tasks"]), 20)
            self.assertNotIn("taskPlace", listed["tasks"][0])
            names = {index["IndexName"] for index in daemon.dynamodb("DescribeTable", TableName=name)["Table"]["GlobalSecondaryIndexes"]}
            self.assertIn("freshet-place-index", names)
            self.assertNotIn("task-status-created-index", names)

        self.run_command_of("docs/lifecycle.md", "layout", work)

    def run_command_of(self, page, folder, work=lambda daemon: None):
        page = (ROOT / page).read_text()
        line, = [line for line in page.splitlines() if line.startswith("    freshet serve ")]
        words = line.replace("http://127.0.0.1:8000", self.url).split()[1:]
        ready = self.place / f"{folder}-ready"
        process = subprocess.Popen([BINARY, *words, "--data", self.place / folder, "--listen", "127.0.0.1:0", "--ready-file", ready],
                                   env={**os.environ, **KEYS}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            page = []
            for said in process.stdout:
                page.append(said)
                if ready.exists():
                    break
            self.assertTrue(ready.exists(), page)
            self.assertNotIn("TEMPLATE_WARNING", "".join(page), "nobody asked for a stream")
            daemon = self.daemon(folder)
            daemon.port = int(ready.read_text().strip().rpartition(":")[2])
            work(daemon)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()
        self.assertEqual(process.returncode, 0)

    def test_options_that_contradict(self):
        for words, text in (
                (("--store", "dynamodb"), "--store dynamodb needs --endpoint http[s]://HOST[:PORT]"),
                (("--endpoint", self.url), "--endpoint needs --store dynamodb"),
                (("--create-tables",), "--create-tables needs --store dynamodb"),
                (("--store", "dynamodb", "--endpoint", self.url + "/path"), "without a path"),
                (("--store", "dynamodb", "--endpoint", "ftp://127.0.0.1"), "--endpoint: "),
                (("--store", "redis"), "--store")):
            done = freshet("run", "--data", ":memory:", *words)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(text, done.stderr)

    def test_programs_do_not_get_the_access_key(self):
        daemon = self.daemon("secret", "--create-tables").start()
        shown = pathlib.Path(f"/proc/{daemon.process.pid}/environ").read_bytes() if os.geteuid() == 0 else b""
        self.assertNotIn(extenddb.SECRET.encode(), shown)
        self.assertNotIn(extenddb.SECRET, daemon.log_path.read_text())


if __name__ == "__main__":
    EngineDaemon.name = sys.argv.pop(1)
    {"extenddb": extenddb.need, "dynamodb_local": dynamodb_local.need}.get(EngineDaemon.name, lambda: None)()
    unittest.main()
