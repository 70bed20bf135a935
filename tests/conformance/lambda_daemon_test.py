#!/usr/bin/env python3
"""Functions of the Lambda API across the life of a daemon: what is there after a restart, after `kill -9` and in a folder that
was moved; and a daemon that lets nobody change them. Started like conformance_test.py.
"""
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

from botocore.exceptions import BotoCoreError, ClientError

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from endpoint import ROOT, START_SECONDS, Endpoint, client  # noqa: E402
from lambda_code import ROLE, answering  # noqa: E402

BINARY = os.environ.get("FRESHET_BINARY", str(ROOT / "build" / "release" / "freshet"))


class ReadOnly(unittest.TestCase):
    def test_nothing_is_changed_by_requests(self):
        with tempfile.TemporaryDirectory(prefix="freshet-lambda-") as folder:
            code = pathlib.Path(folder) / "code"
            code.mkdir()
            (code / "app.py").write_text("def handler(event, context):\n    return 'deployed'\n")
            template = pathlib.Path(folder) / "template.yaml"
            template.write_text("Resources:\n  Fixed:\n    Type: AWS::Lambda::Function\n    Properties: {Runtime: python3.11, "
                                "Handler: app.handler, Code: code/, Timeout: 20, Environment: {Variables: {PASSWORD: opensesame}}}\n")
            with Endpoint(str(template), "--read-only-functions") as server:
                functions = client(server.url, "lambda")
                self.addCleanup(functions.close)
                mapping = {"EventSourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/T/stream/x", "FunctionName": "Fixed"}
                for call, more in (
                        (functions.create_function, {"FunctionName": "New", "Role": ROLE, "Runtime": "python3.11",
                                                     "Handler": "app.handler", "Code": {"ZipFile": answering("x")}}),
                        (functions.update_function_code, {"FunctionName": "Fixed", "ZipFile": answering("x")}),
                        (functions.update_function_configuration, {"FunctionName": "Fixed", "Timeout": 1}),
                        (functions.put_function_concurrency, {"FunctionName": "Fixed", "ReservedConcurrentExecutions": 0}),
                        (functions.delete_function_concurrency, {"FunctionName": "Fixed"}),
                        (functions.put_function_event_invoke_config, {"FunctionName": "Fixed", "MaximumRetryAttempts": 0}),
                        (functions.create_event_source_mapping, {**mapping, "StartingPosition": "LATEST"}),
                        (functions.delete_event_source_mapping, {"UUID": "any"}),
                        (functions.delete_function, {"FunctionName": "Fixed"})):
                    with self.subTest(call.__name__), self.assertRaises(ClientError) as refused:
                        call(**more)
                    self.assertEqual(refused.exception.response["Error"]["Code"], "AccessDeniedException")
                self.assertEqual([one["FunctionName"] for one in functions.list_functions()["Functions"]], ["Fixed"])
                self.assertEqual(functions.get_function_configuration(FunctionName="Fixed")["Timeout"], 20)
                for shown in (functions.get_function_configuration(FunctionName="Fixed"), functions.list_functions(),
                              functions.get_function(FunctionName="Fixed")):
                    self.assertNotIn("opensesame", str(shown))
                    self.assertIn("AccessDeniedException", str(shown))
                self.assertEqual(functions.list_event_source_mappings()["EventSourceMappings"], [])
                self.assertEqual(json.loads(functions.invoke(FunctionName="Fixed")["Payload"].read()), "deployed")
                deploy = lambda *words: subprocess.run([BINARY, "deploy", str(template), "--url", server.url, *words],
                                                       capture_output=True, text=True, check=False)
                tried = deploy("--dry-run")
                self.assertEqual(tried.returncode, 0)
                self.assertNotIn("opensesame", tried.stdout + tried.stderr)
                refused = deploy()
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("--read-only-functions", refused.stderr)


class Restart(unittest.TestCase):
    def start(self, data, *options):
        ready = pathlib.Path(data.name) / "ready"
        daemon = subprocess.Popen([BINARY, "run", "--data", data.name + "/data", "--listen", "127.0.0.1:0", "--ready-file",
                                   str(ready), *options], stderr=subprocess.DEVNULL)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            self.assertIsNone(daemon.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        return daemon, ready.read_text().strip()

    def test_a_data_directory_that_was_moved(self):
        data = tempfile.TemporaryDirectory(prefix="freshet-lambda-")
        self.addCleanup(data.cleanup)
        daemon, url = self.start(data)
        client(url, "lambda").create_function(
            FunctionName="Moved", Role=ROLE, Runtime="python3.11", Handler="app.handler", Code={"ZipFile": answering("moved")},
            Environment={"Variables": {"PATH": "/usr/local/bin:/usr/bin:/bin"}}, Timeout=20)
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        elsewhere = tempfile.TemporaryDirectory(prefix="freshet-lambda-")
        self.addCleanup(elsewhere.cleanup)
        (pathlib.Path(data.name) / "data").rename(pathlib.Path(elsewhere.name) / "data")
        _, url = self.start(elsewhere)
        functions = client(url, "lambda")
        answer = functions.invoke(FunctionName="Moved", Payload=b'{"n": 1}')
        self.assertEqual(json.loads(answer["Payload"].read()), ["moved", 2])

    def test_a_large_archive_does_not_hold_up_the_end(self):
        data = tempfile.TemporaryDirectory(prefix="freshet-lambda-")
        self.addCleanup(data.cleanup)
        daemon, url = self.start(data, "--drain-ms", "100")
        large = io.BytesIO()
        with zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as made:
            for number in range(60_000):
                made.writestr(f"file{number}", bytes(2_000))  # Seconds of work for any disk.

        def upload():
            functions = client(url, "lambda")
            try:
                functions.create_function(FunctionName="Large", Role=ROLE, Runtime="python3.11", Handler="app.handler",
                                          Code={"ZipFile": large.getvalue()})
            except BotoCoreError:
                pass  # The daemon ends before it has an answer.

        uploading = threading.Thread(target=upload)
        uploading.start()
        unfinished = pathlib.Path(data.name) / "data" / "code"
        while not (unfinished.exists() and any(unfinished.glob("*.part/file1"))):
            self.assertTrue(uploading.is_alive())
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)
        uploading.join()
        self.assertEqual(list(unfinished.iterdir()), [])  # Given up, not completed.

    def test_all_of_it_is_there_after_kill(self):
        data = tempfile.TemporaryDirectory(prefix="freshet-lambda-")
        self.addCleanup(data.cleanup)
        daemon, url = self.start(data)
        functions = client(url, "lambda")
        create = lambda name, value: functions.create_function(
            FunctionName=name, Role=ROLE, Runtime="python3.11", Handler="app.handler", Code={"ZipFile": answering(value)},
            Environment={"Variables": {"PATH": "/usr/local/bin:/usr/bin:/bin"}}, Timeout=20)
        create("Stays", "old")
        create("Goes", "gone")
        functions.update_function_code(FunctionName="Stays", ZipFile=answering("new"))
        functions.put_function_concurrency(FunctionName="Stays", ReservedConcurrentExecutions=3)
        functions.put_function_event_invoke_config(FunctionName="Stays", MaximumRetryAttempts=2)
        before = functions.get_function_configuration(FunctionName="Stays")
        functions.delete_function(FunctionName="Goes")
        folders = pathlib.Path(data.name) / "data" / "code"
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        (pathlib.Path(data.name) / "ready").unlink()
        _, url = self.start(data)
        functions = client(url, "lambda")
        self.assertEqual([one["FunctionName"] for one in functions.list_functions()["Functions"]], ["Stays"])
        after = functions.get_function_configuration(FunctionName="Stays")
        for name in ("CodeSha256", "RevisionId", "LastModified", "Timeout"):
            self.assertEqual(after[name], before[name])
        self.assertEqual(functions.get_function_concurrency(FunctionName="Stays")["ReservedConcurrentExecutions"], 3)
        self.assertEqual(functions.get_function_event_invoke_config(FunctionName="Stays")["MaximumRetryAttempts"], 2)
        answer = functions.invoke(FunctionName="Stays", Payload=b'{"n": 1}')
        self.assertEqual(json.loads(answer["Payload"].read()), ["new", 2])
        self.assertEqual(len(list(folders.iterdir())), 1)  # Code that no function names is removed.


if __name__ == "__main__":
    unittest.main()
