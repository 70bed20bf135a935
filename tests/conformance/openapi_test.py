#!/usr/bin/env python3
"""The daemon does what /openapi.json says of it: each call is there, other methods are refused, and schemathesis (PyPI; ./test.sh
installs it) finds no request that is answered otherwise. Without schemathesis that part is skipped, by name.

Answers may gain members, so the description leaves them open. Here they are closed: a member that it does not name fails.
Not checked is that each request which fits the schemas succeeds: ids, cursors, deadlines and expressions are good or bad by what the
store holds, which no schema says.
"""
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402
import pins  # noqa: E402

CONFIG = endpoint.ROOT / "config"
QUEUES = {"/queues/": "QueueTable", "/priority/": "Shipment", "/filtered/": "CallCenter", "/ordered/": "Ratings"}
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
          "response_schema_conformance", "negative_data_rejection", "missing_required_header", "unsupported_method",
          "allow_header_conformance")
LONG_POLLS = ("logs", "record")  # They answer in lines, and wait.
SEED = int(os.environ.get("FRESHET_SEED", "1"))
SECONDS = 240
SERVER = endpoint.Endpoint(str(CONFIG / "lifo.yaml"), "--priority-queue", str(CONFIG / "priority-queue.json"),
                           "--filtered-queue", str(CONFIG / "filtered-queue.json"),
                           "--ordered-writes", str(CONFIG / "ordered-writes.json"))


def setUpModule():
    global document
    SERVER.__enter__()
    status, headers, body = send("GET", "/openapi.json")
    assert (status, headers["Content-Type"]) == (200, "application/json"), (status, headers)
    document = json.loads(body)


def tearDownModule():
    SERVER.__exit__()


def send(method, path, body=None):
    request = urllib.request.Request(SERVER.url + path, body, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=endpoint.RAW_SECONDS) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def served():
    """The routes of a daemon that is in no fleet. engine_fleet_test.py calls the others."""
    return {path: methods for path, methods in document["paths"].items() if not path.startswith("/fleet")}


def calls():
    return [(path, method, call) for path, methods in served().items() for method, call in methods.items()]


def queue_of(path):
    return next((name for root, name in QUEUES.items() if path.startswith(root)), "")


def place_of(path):
    """The path with a queue that is there, and an id that is not."""
    for name in ("{queue}", "{table}"):
        path = path.replace(name, queue_of(path))
    return path.replace("{job}", "1").replace("{taskId}", "none").replace("{id}", "none")


class Description(unittest.TestCase):
    def test_every_call_is_served(self):
        self.assertGreater(len(calls()), 70)
        for path, method, _ in calls():
            status, _, body = send(method.upper(), place_of(path), b"{}" if method == "post" else None)
            with self.subTest(call=f"{method} {path}", body=body):
                self.assertLess(status, 500)
                self.assertNotIn("is not part of", body)
                self.assertNotIn("is served", body)
                self.assertNotEqual(status, 405)

    def test_the_command_of_the_page(self):
        page = (endpoint.ROOT / "docs" / "http.md").read_text()
        command = re.search("```bash\n(curl .*)\n```", page)[1].replace("http://127.0.0.1:7070", SERVER.url)
        with tempfile.TemporaryDirectory(prefix="freshet-openapi-") as folder:
            subprocess.run(command, shell=True, cwd=folder, check=True, timeout=endpoint.RAW_SECONDS)
            self.assertEqual(document, json.loads((pathlib.Path(folder) / "openapi.json").read_text()))

    def test_other_methods_are_refused_and_the_answer_says_which_there_are(self):
        for path, methods in served().items():
            status, headers, _ = send("PATCH", place_of(path), b"{}")
            with self.subTest(path=path):
                self.assertEqual(status, 405)
                allowed = {method.strip() for method in headers["Allow"].split(",")} - {"HEAD"}
                self.assertEqual(allowed, {method.upper() for method in methods})

    def test_every_call_names_a_role(self):
        roles = {call["x-freshet-role"] for _, _, call in calls()}
        self.assertEqual(roles, {"read", "work", "operate", "admin"})


def closed(schema):
    """An answer's schema that lets no member through that it does not name."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: closed(one) for name, one in schema.items()}
    if schema.get("properties") and "additionalProperties" not in schema:
        schema["additionalProperties"] = False
    return schema


def strict(document):
    """The description for this daemon: its queues by name, answers closed, no wait for tasks."""
    document = copy.deepcopy(document)
    document["paths"] = copy.deepcopy(served())
    for path, methods in document["paths"].items():
        for call in methods.values():
            for parameter in call.get("parameters", []):
                if parameter["name"] in ("queue", "table") and parameter["in"] == "path":
                    parameter["schema"] = {"enum": [queue_of(path)]}
    schemas = document["components"]["schemas"]
    open_answers = {"Error", "ErrorBody", "Task", "ShedLine"}  # They hold attributes of items, or more than an error.
    for name in schemas.keys() - open_answers:
        schemas[name] = closed(schemas[name])
    del schemas["Take"]["properties"]["waitMs"]  # It would wait for a minute at a time.
    return document


@unittest.skipUnless(pins.installed("pypi", "openapi"), "SKIPPED: schemathesis is not installed (./test.sh installs it if it can be had)")
class Schemathesis(unittest.TestCase):
    def test_nothing_is_found(self):
        with tempfile.TemporaryDirectory(prefix="freshet-openapi-") as folder:
            file = pathlib.Path(folder) / "openapi.json"
            file.write_text(json.dumps(strict(document)))
            left_out = [word for call in LONG_POLLS for word in ("--exclude-operation-id", call)]
            environment = os.environ | {"PYTHONPATH": str(pins.folder("pypi", "openapi") / "lib"), "NO_COLOR": "1"}
            done = subprocess.run(
                ["/usr/bin/python3", "-m", "schemathesis.cli", "run", str(file), "--url", SERVER.url, "--phases", "coverage,fuzzing",
                 "--max-examples", "10", "--seed", str(SEED), "--checks", ",".join(CHECKS), "--output-sanitize", "false",
                 "--request-timeout", "30", *left_out],
                cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
        print(f"schemathesis, seed {SEED}: " + " ".join(
            line.strip() for line in done.stdout.splitlines() if "generated, " in line), file=sys.stderr)
        self.assertEqual(done.returncode, 0, done.stdout[-20000:] + done.stderr[-4000:])
        self.assertIn("generated", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
