#!/usr/bin/env python3
"""freshet doctor and freshet copy against a real engine:

  tests/conformance/engine_commands_test.py freshet|extenddb|dynamodb_local

Everything is started on free ports and stopped. An engine that is not installed is skipped by name."""
import http.client
import http.server
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(ROOT / "tests" / "faults"))
import dynamodb_local  # noqa: E402
import engines_test  # noqa: E402
import extenddb  # noqa: E402
from daemon import Daemon  # noqa: E402

BINARY = os.environ.get("FRESHET_BINARY", str(ROOT / "build/release/freshet"))
SECONDS = 300
TASKS = 2500
KILLED_AT = (1, 3, 20, 900)  # Requests of a copy, of some 2,500 that it sends.


def freshet(*words, secret=extenddb.SECRET, key=extenddb.KEY, start_only=False):
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_EC2_METADATA_DISABLED": "true",
                   "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
    command = [BINARY, *map(str, words)]
    if start_only:
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)


class Between:
    """Passes requests on to an engine for the time of a `with`, and calls `reached` once at the n-th of them. While `silent` is set, it
    answers none."""

    def __init__(self, engine, number, reached):
        self.engine, self.left, self.reached = urllib.parse.urlsplit(engine).netloc, number, reached
        self.lock, self.silent, self.over = threading.Lock(), threading.Event(), threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.handle_error = lambda *unused: None  # The client was killed.
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def _handler(self):
        between = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                between.count()
                if between.silent.is_set():
                    between.over.wait()
                    self.close_connection = True
                    return
                other = http.client.HTTPConnection(between.engine)
                try:
                    other.request("POST", self.path, body, dict(self.headers))
                    answer = other.getresponse()
                    text = answer.read()
                    self.send_response(answer.status)
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:
                    self.close_connection = True  # The client was killed.
                finally:
                    other.close()

            def log_message(self, *unused):
                pass

        return Handler

    def count(self):
        with self.lock:
            self.left -= 1
            if self.left == 0:
                self.reached()

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


class Commands(unittest.TestCase):
    name = ""

    @classmethod
    def setUpClass(cls):
        cls.engine = engines_test.engine(cls.name)
        cls.url = cls.engine.__enter__().url
        cls.folder = tempfile.TemporaryDirectory(prefix="freshet-copy-")
        cls.place = pathlib.Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()
        cls.engine.__exit__(None, None, None)

    def tasks(self, name):
        """A data folder with tasks in several states; its store."""
        daemon = Daemon(BINARY, self.place / name).start()
        try:
            for first in range(0, TASKS, 100):
                daemon.call("POST", "/queues/QueueTable/tasks",
                            {"tasks": [{"taskId": f"t-{i}", "payload": {"n": i, "text": "ä\n\"" * (i % 9)}} for i in range(first, first + 100)]})
            taken = daemon.call("POST", "/queues/QueueTable/take", {"max": 60, "leaseMs": 3600000})["tasks"]
            daemon.call("POST", "/queues/QueueTable/settle",
                        {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"} for task in taken[:40]]})
        finally:
            daemon.kill()  # A stop would wait for those that are in work.
            daemon.local.connection.close()
        return daemon.store

    def states(self, line):
        return dict((state, int(items)) for state, items in re.findall(r"([A-Z]+) (\d+)", line[line.rindex("("):]))

    def test_tasks_go_there_and_back(self):
        store = self.tasks("there")
        counted = freshet("copy", store, "http://127.0.0.1:9", "--dry-run")
        self.assertEqual((counted.returncode, counted.stderr), (0, ""), counted)
        expected = self.states(counted.stdout)
        self.assertEqual(sum(expected.values()), TASKS)
        self.assertEqual(expected["SUCCESS"], 40)
        # The next copy goes on where one was killed.
        for number in KILLED_AT:
            self.kill_at(number, store)
        copied = freshet("copy", store, self.url)
        self.assertEqual(copied.returncode, 0, copied.stderr)
        self.assertIn("both sides are equal", copied.stdout)
        self.assertEqual(self.states(copied.stdout), expected)
        again = freshet("copy", store, self.url)
        self.assertIn(f"0 items copied, {TASKS} were there already; both sides are equal", again.stdout)
        back = self.place / "back"
        (back / "made").mkdir(parents=True)
        returned = freshet("copy", self.url, back / "store", "--table", "QueueTable")
        self.assertEqual(returned.returncode, 0, returned.stderr)
        self.assertEqual(self.states(returned.stdout), expected)
        daemon = Daemon(BINARY, back).start()
        try:
            # The lease of one that was in work has ended with its daemon.
            depth = daemon.stats()["depth"]
            self.assertEqual(depth["SUCCESS"], 40)
            self.assertEqual(sum(depth.values()), TASKS)
        finally:
            daemon.stop()

    def kill_at(self, number, store):
        started = threading.Event()

        def kill():
            started.wait()
            process.kill()

        with Between(self.url, number, kill) as between:
            process = freshet("copy", store, between.url, start_only=True)
            started.set()
            process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL, number)

    def test_refusals_say_why(self):
        store = self.tasks("refused")
        running = Daemon(BINARY, self.place / "refused").start()
        try:
            self.check(freshet("copy", store, self.url), 4, "is locked by another process")
        finally:
            running.stop()
        self.check(freshet("copy", store, self.url + "/path"), 2, "an endpoint is http[s]://HOST[:PORT], without a path")
        self.check(freshet("copy", store, "http://127.0.0.1:9"), 6, "cannot connect: Connection refused")
        self.check(freshet("copy", self.place / "nothing", self.url), 3, "there is no data folder")
        self.check(freshet("copy", store, self.url, "--table", "No"), 3, "there is no table 'No'")
        self.check(freshet("copy", store, "127.0.0.1:8000"), 2, "an endpoint begins with http:// or https://")
        self.check(freshet("copy", store, self.url, key=""), 6, "no access key: neither AWS_ACCESS_KEY_ID")
        if self.name == "extenddb":
            self.check(freshet("copy", store, self.url, secret="wrong"), 6, "InvalidSignatureException")

    def check(self, done, status, text):
        self.assertEqual(done.returncode, status, done)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_the_doctor_finds_what_is_there(self):
        done = freshet("doctor", "--endpoint", self.url, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        findings = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
        for what in ("endpoint", "access key", "tables", "conditional writes", "the item in a refusal", "transactions", "indexes",
                     "change streams", "reading a stream", "ttl", "speed"):
            self.assertEqual(findings[what]["state"], "ok", findings[what])
        # It leaves nothing behind.
        left = freshet("copy", self.url, self.place / "left", "--dry-run")
        self.assertEqual(left.returncode, 0, left)
        self.assertNotIn("freshet-doctor", left.stdout)

    def test_the_doctor_compares_a_template(self):
        words = ("doctor", "--endpoint", self.url, "--template", ROOT / "config/stream-functions.yaml", "--no-writes")
        done = freshet(*words)
        # The other tests may have copied its first table, without a stream.
        self.assertIn(done.returncode, (0, 7), done)
        self.assertIn("lacks  table 'QueueMetrics': it is not there yet; its key: ", done.stdout)
        self.assertNotIn("freshet-fleet", done.stdout)
        self.assertIn("lacks  table 'freshet-fleet': it is not there yet; its key: id (S)\n", freshet(*words, "--fleet").stdout)
        self.assertNotIn("speed", done.stdout)

    def test_the_doctor_knows_what_is_no_engine(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
        server.RequestHandlerClass.log_message = lambda *unused: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            done = freshet("doctor", "--endpoint", f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            server.server_close()
        self.assertEqual(done.returncode, 6, done)
        self.assertRegex(done.stdout, r"bad +endpoint: the endpoint answered 501 without an error of the DynamoDB protocol")

    def test_the_commands_of_the_page(self):
        if self.name != "extenddb":
            self.skipTest("once is enough")
        page = (ROOT / "docs/engines.md").read_text()
        commands = [line.strip() for line in page.splitlines() if line.startswith("    freshet ") and " serve " not in line]
        self.assertGreaterEqual(len(commands), 4, commands)
        self.tasks("page")
        for command in commands:
            words = [word.replace("http://127.0.0.1:8000", self.url).replace("./data", str(self.place / "page/store"))
                     .replace("./back", str(self.place / "page-back")) for word in shlex.split(command)[1:]]
            done = freshet(*words)
            self.assertIn(done.returncode, (0, 4), (command, done))


if __name__ == "__main__":
    Commands.name = sys.argv.pop(1)
    {"extenddb": extenddb.need, "dynamodb_local": dynamodb_local.need}.get(Commands.name, lambda: None)()
    unittest.main()
