#!/usr/bin/env python3
"""HTTP as clients see it: errors of one shape, ids of requests, methods, limits, compression. Needs the daemon's binary
(FRESHET_BINARY)."""
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import boto3
import botocore.config
from botocore.exceptions import ClientError

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402

DIRECTORY = tempfile.TemporaryDirectory(prefix="freshet-http-")
CREDENTIALS = pathlib.Path(DIRECTORY.name) / "credentials"
DEFINITIONS = endpoint.ROOT / "config"
QUEUE, JSON10 = "/queues/QueueTable", "application/x-amz-json-1.0"
SERVER = endpoint.Endpoint(
    str(DEFINITIONS / "lifo.yaml"), "--set", "ProcessTasksFunction.TASK_RUNNER=none",
    "--priority-queue", str(DEFINITIONS / "priority-queue.json"), "--filtered-queue", str(DEFINITIONS / "filtered-queue.json"),
    "--ordered-writes", str(DEFINITIONS / "ordered-writes.json"))
GUARDED = endpoint.Endpoint("--credentials", str(CREDENTIALS))
OWN_ID = re.compile(r"[0-9a-f]{16}\Z")
AWS_ID = re.compile(r"[A-Z0-9]{52}\Z")


def setUpModule():
    CREDENTIALS.touch(mode=0o600)
    CREDENTIALS.write_text("[default]\naws_access_key_id = AKIDHTTP\naws_secret_access_key = secret\n")
    SERVER.__enter__()
    GUARDED.__enter__()


def tearDownModule():
    SERVER.__exit__()
    GUARDED.__exit__()
    DIRECTORY.cleanup()


def ask(method, path, body=None, headers=None, server=None):
    connection = http.client.HTTPConnection((server or SERVER).url.rpartition("/")[2], timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def dynamodb(operation, document, **headers):
    body = document if isinstance(document, (str, bytes)) else json.dumps(document)
    return ask("POST", "/", body, {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": JSON10, **headers})


def log_of(server):
    with open(pathlib.Path(server.directory.name) / "log", "rb") as log:
        return [json.loads(line) for line in log if line.startswith(b"{")]


class Errors(unittest.TestCase):
    def refused(self, status, code, method, path, body=None, headers=None, server=None):
        got, fields, text = ask(method, path, body, headers, server)
        self.assertEqual((got, fields["Content-Type"]), (status, "application/json"), (method, path, text))
        error = json.loads(text)["error"]
        self.assertEqual(error["code"], code, (method, path, error))
        self.assertTrue(error["message"], (method, path))
        self.assertRegex(fields["x-request-id"], OWN_ID)
        return fields, json.loads(text)

    def test_one_shape(self):
        bad, gone = (400, "ValidationException"), (404, "NotFoundException")
        for expected, method, path, body in (
                (gone, "GET", "/nothing", None), (gone, "GET", QUEUE + "/nothing", None), (gone, "GET", "/queues/None/stats", None),
                (gone, "GET", QUEUE + "/tasks/none", None), (bad, "POST", QUEUE + "/tasks", '{"colour": 1}'),
                ((400, "SerializationException"), "POST", QUEUE + "/tasks", "{"), (bad, "GET", QUEUE + "/tasks?limit=x", None),
                (gone, "POST", "/priority/None/peek", "{}"), (gone, "GET", "/priority/Shipment/records/none", None),
                (bad, "POST", "/priority/Shipment/put", '{"colour": 1}'), (bad, "POST", "/priority/Shipment/put", "{}"),
                (gone, "POST", "/filtered/None/assign", "{}"), (bad, "GET", "/filtered/CallCenter/members?x=1", None),
                (gone, "POST", "/ordered/None/get", '{"key": {"PK": "a", "SK": "b"}}'), (bad, "POST", "/ordered/Ratings/put", '{"item": {"PK": "a"}}'),
                (bad, "GET", "/record", None), (bad, "GET", "/logs?from=x", None), (bad, "POST", "/deploy", '{"file": "x"}')):
            self.refused(*expected, method, path, body)

    def test_results_that_are_no_success(self):
        _, record = self.refused(404, "NotFoundException", "POST", "/priority/Shipment/enqueue", '{"id": "none"}')
        self.assertEqual(record["return_value"], "FAILED_ID_NOT_FOUND")
        _, write = self.refused(400, "ValidationException", "POST", "/ordered/Ratings/put",
                                '{"item": {"PK": "a", "SK": "b"}, "timestamp": "x"}')
        self.assertEqual(write["outcome"], "INVALID")
        self.assertEqual(write["error"]["message"], write["detail"])

    def test_before_a_route(self):
        # Members of earlier releases are beside the error.
        for status, code, name, headers in (
                (421, "MisdirectedRequestException", "MisdirectedRequest", {"Host": "evil.example"}),
                (403, "AccessDeniedException", "Forbidden", {"Origin": "http://evil.example"}),
                (415, "UnsupportedMediaTypeException", "UnsupportedMediaType", {"Content-Encoding": "br"}),
                (400, "SerializationException", "SerializationException", {"Content-Encoding": "gzip"}),
                (413, "RequestTooLargeException", "RequestTooLarge", {"Content-Length": str(17 << 20)}),
                (400, "BadRequestException", "BadRequest", {"X": "x" * 17_000})):
            _, document = self.refused(status, code, "POST", QUEUE + "/take", None if "Content-Length" in headers else "{}", headers)
            self.assertEqual((document["__type"], document["message"]), (name, document["error"]["message"]))

    def test_signatures(self):
        _, document = self.refused(403, "MissingAuthenticationTokenException", "GET", "/queues", server=GUARDED)
        self.assertEqual(document["__type"], "com.amazon.coral.service#MissingAuthenticationTokenException")
        status, headers, text = ask("POST", "/", "{}", {"X-Amz-Target": "DynamoDB_20120810.ListTables"}, GUARDED)
        self.assertEqual((status, sorted(json.loads(text))), (400, ["__type", "message"]))
        self.assertRegex(headers["x-amzn-RequestId"], AWS_ID)

    def test_aws_protocols_keep_their_shape(self):
        for headers in ({"Content-Encoding": "br"}, {"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            status, fields, text = dynamodb("ListTables", {}, **headers)
            self.assertEqual(sorted(json.loads(text)), ["__type", "message"], (status, text))
            self.assertRegex(fields["x-amzn-RequestId"], AWS_ID)
            self.assertIsNone(fields["x-request-id"])
        status, fields, text = ask("POST", "/2015-03-31/functions/None/invocations", "{}")
        self.assertEqual((status, fields["x-amzn-ErrorType"], sorted(json.loads(text))),
                         (404, "ResourceNotFoundException", ["Message", "Type"]))
        self.assertTrue(fields["x-amzn-RequestId"])
        self.assertIsNone(fields["x-request-id"])
        sdk = boto3.session.Session().client("dynamodb", endpoint_url=SERVER.url, region_name="us-east-1", aws_access_key_id="x",
                                             aws_secret_access_key="y", config=botocore.config.Config(retries={"max_attempts": 0}))
        with self.assertRaises(ClientError) as caught:
            sdk.describe_table(TableName="None")
        self.assertEqual(caught.exception.response["Error"]["Code"], "ResourceNotFoundException")
        self.assertRegex(caught.exception.response["ResponseMetadata"]["RequestId"], AWS_ID)
        sdk.close()


class Methods(unittest.TestCase):
    def test_405_says_what_is_allowed(self):
        look, change, both = "GET, HEAD", "POST", "GET, HEAD, POST"
        for allow, path in (
                (look, "/healthz"), (look, "/readyz"), (look, "/metrics"), (look, "/daemon"), (look, "/logs"), (look, "/record"), (change, "/deploy"), (both, "/"),
                (look, "/queues"), (both, QUEUE + "/tasks"), (both, QUEUE + "/policy"), (look, QUEUE + "/stats"), (look, QUEUE + "/sheds"),
                (change, QUEUE + "/take"), (change, QUEUE + "/settle"), (change, QUEUE + "/cancel"), (change, QUEUE + "/redrive"),
                (look, QUEUE + "/tasks/x"), (look, QUEUE + "/tasks/x/explain"), (look, "/priority"), (change, "/priority/Shipment/peek"),
                (look, "/priority/Shipment/records/x"), (look, "/priority/Shipment/stats"), (look, "/filtered"),
                (change, "/filtered/CallCenter/assign"), (look, "/filtered/CallCenter/members"), (look, "/ordered"), (change, "/ordered/Ratings/put")):
            for method in {"DELETE", "PUT", "PATCH", "GET", "POST"} - set(allow.split(", ")):
                status, headers, text = ask(method, path)
                self.assertEqual((status, headers["Allow"]), (405, allow), (method, path, text))
                self.assertEqual(json.loads(text)["error"]["code"], "MethodNotAllowedException")
        self.assertEqual(ask("DELETE", "/nothing")[0], 404)

    def test_head_is_a_get(self):
        for path in ("/healthz", "/queues", QUEUE + "/stats", "/metrics"):
            self.assertEqual(ask("HEAD", path)[0], 200, path)


class RequestIds(unittest.TestCase):
    def test_every_answer_has_one(self):
        own = {ask("GET", path)[1]["x-request-id"] for path in ("/healthz", "/queues", "/metrics", "/nothing", QUEUE + "/stats") for _ in range(3)}
        self.assertEqual(len(own), 15)
        for one in own:
            self.assertRegex(one, OWN_ID)
        _, headers, _ = dynamodb("ListTables", {})
        self.assertRegex(headers["x-amzn-RequestId"], AWS_ID)
        self.assertIsNone(headers["x-request-id"])

    def test_a_clients_own_is_taken_over(self):
        for good in ("trace-1", "a" * 128, "Root=1-67891233:x/y+z@w_.", "0"):
            self.assertEqual(ask("GET", "/queues", headers={"X-Request-Id": good})[1]["x-request-id"], good)
        for bad in ("a" * 129, "", "two words", "quote\"", "\u00e4".encode(), "<script>", "semi;colon"):
            self.assertRegex(ask("GET", "/queues", headers={"X-Request-Id": bad})[1]["x-request-id"], OWN_ID, bad)
        _, headers, _ = dynamodb("ListTables", {}, **{"X-Request-Id": "mine"})
        self.assertRegex(headers["x-amzn-RequestId"], AWS_ID)

    def test_the_log_has_what_was_refused(self):
        # A daemon of its own: the others have been asked so much by now that not each request has its line.
        with endpoint.Endpoint(str(DEFINITIONS / "lifo.yaml"), "--set", "ProcessTasksFunction.TASK_RUNNER=none") as server:
            ask("GET", QUEUE + "/tasks/none?x=1", headers={"X-Request-Id": "refused-1"}, server=server)
            _, headers, _ = ask("POST", "/", '{"TableName": "None"}', {"X-Amz-Target": "DynamoDB_20120810.DescribeTable"}, server)
            lines = {line["requestId"]: line for line in log_of(server) if line["event"] == "REQUEST_REFUSED"}
        own = lines["refused-1"]
        self.assertEqual((own["request"], own["status"], own["code"], own["level"]),
                         ("GET " + QUEUE + "/tasks/none", 400, "ValidationException", "info"))
        self.assertIn("'x' in the query", own["message"])
        aws = lines[headers["x-amzn-RequestId"]]
        self.assertEqual((aws["request"], aws["status"], aws["code"]),
                         ("POST / DynamoDB_20120810.DescribeTable", 400, "ResourceNotFoundException"))

    def test_a_false_condition_is_no_fault(self):
        dynamodb("CreateTable", {"TableName": "Ids", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                                 "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}]})
        status, headers, _ = dynamodb("PutItem", {"TableName": "Ids", "Item": {"id": {"S": "a"}}, "ConditionExpression": "attribute_exists(id)"})
        self.assertEqual(status, 400)
        self.assertNotIn(headers["x-amzn-RequestId"], [line.get("requestId") for line in log_of(SERVER)])


class AsTheServiceAnswers(unittest.TestCase):
    def test_server_header(self):
        self.assertEqual(dynamodb("ListTables", {})[1]["Server"], "Server")
        self.assertEqual(ask("GET", "/queues")[1]["Server"], "Freshet")

    def test_long_heads_are_400(self):
        for path, headers, status in (("/healthz", {"X": "x" * 15_000}, 200), ("/healthz", {"X": "x" * 16_500}, 400),
                                      ("/healthz", {f"X-{i}": "x" * 1_000 for i in range(17)}, 400),
                                      ("/healthz?" + "x" * 16_000, {}, 200), ("/healthz?" + "x" * 16_500, {}, 400),
                                      ("/healthz?" + "x" * 12_000, {"X": "x" * 12_000}, 200)):
            got, _, text = ask("GET", path, headers=headers)
            self.assertEqual(got, status, (len(path), text))
            if status == 400:
                self.assertIn("longer than 16384 bytes", json.loads(text)["error"]["message"])

    def test_where_json_cannot_be_parsed(self):
        for body, where in (('{"TableName":', "offset 13 (line 1, column 14)"), ('{\n  "a": 1,\n  "b": tru\n}', "offset 19 (line 3, column 8)"),
                            ("", "offset 0 (line 1, column 1)"), ('{"a":"\u00e4",\n"b":01}', "offset 15 (line 2, column 5)")):
            status, _, text = dynamodb("GetItem", body.encode())
            self.assertEqual((status, json.loads(text)["__type"]), (400, "com.amazon.coral.service#SerializationException"))
            self.assertIn("malformed JSON at " + where, json.loads(text)["Message"])

    def test_compression(self):
        dynamodb("CreateTable", {"TableName": "Packed", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                                 "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}]})
        for name, size in (("small", 4_000), ("large", 4_096)):
            dynamodb("PutItem", {"TableName": "Packed", "Item": {"id": {"S": name}, "x": {"S": "x" * size}}})

        def coding(name, accepted):
            status, headers, body = dynamodb("GetItem", {"TableName": "Packed", "Key": {"id": {"S": name}}}, **{"Accept-Encoding": accepted})
            self.assertEqual(status, 200)
            self.assertEqual(int(headers["Content-Length"]), len(body))
            return headers["Content-Encoding"]

        self.assertIsNone(coding("small", "gzip"))
        for accepted, expected in (("gzip", "gzip"), ("deflate", "deflate"), ("x-gzip", None), ("x-gzip, deflate", "deflate"), ("br", None),
                                   ("deflate, gzip", "deflate"), ("gzip, deflate", "gzip"), ("deflate;q=0.5, gzip;q=0.5", "deflate"),
                                   ("deflate;q=0.5, gzip", "gzip"), ("gzip;q=0.2, deflate;q=0.25", "deflate"), ("gzip;q=0", None),
                                   ("identity, gzip", None), ("identity;q=0.1, gzip", "gzip")):
            self.assertEqual(coding("large", accepted), expected, accepted)


class Hints(unittest.TestCase):
    """The messages of commands when the address, the certificate or the key is wrong."""

    def run_freshet(self, *words):
        binary = os.environ.get("FRESHET_BINARY", str(endpoint.ROOT / "build" / "release" / "freshet"))
        done = subprocess.run([binary, *words], capture_output=True, text=True, timeout=60,
                              env={"PATH": os.environ["PATH"], "HOME": DIRECTORY.name})
        return done.returncode, done.stderr

    def test_credentials_are_named(self):
        folder = pathlib.Path(DIRECTORY.name)
        (folder / "t.yaml").write_text("Resources: {T: {Type: AWS::SNS::Topic}}\n")
        for words in (["stats"], ["list"], ["get", "x"], ["logs"], ["watch"], ["deploy", str(folder / "t.yaml")], ["invoke", "f"],
                      ["record", "--table", "T"], ["priority", "stats"], ["filtered", "stats"], ["ordered", "get", '{"PK": "a"}']):
            status, said = self.run_freshet(*words, "--url", GUARDED.url)
            self.assertIn("--credentials FILE", said, (words, status))

    def test_commands_of_the_page(self):
        """docs/errors.md shows a request with its answer, and how its line of the log is found."""
        if shutil.which("curl") is None:
            self.skipTest("no curl")
        page = (endpoint.ROOT / "docs/errors.md").read_text()
        shown = [line.strip() for line in page.split("    $ ")[1].split("\n\n- ")[0].splitlines()]
        done = subprocess.run(shown[0].replace("http://127.0.0.1:7070", SERVER.url).split(), capture_output=True, text=True, timeout=60)
        said = done.stdout.splitlines()
        own_id = next(line.split(": ")[1] for line in said if line.startswith("x-request-id"))
        expected = [line for line in shown[1:] if line and not line.startswith("x-request-id")]
        self.assertEqual([line for line in said if line in expected], expected)
        logs = next(line.strip() for line in page.splitlines() if line.startswith("    freshet logs"))
        words = logs.split()[1:]
        self.assertRegex(words[-1], "requestId=[0-9a-f]{16}")
        done = self.output("--url", SERVER.url, words=words[:-1] + ["requestId=" + own_id])
        self.assertIn("REQUEST_REFUSED", done)
        self.assertIn("NotFoundException", done)

    def output(self, *more, words):
        binary = os.environ.get("FRESHET_BINARY", str(endpoint.ROOT / "build" / "release" / "freshet"))
        return subprocess.run([binary, *words, *more], capture_output=True, text=True, timeout=60,
                              env={"PATH": os.environ["PATH"], "HOME": DIRECTORY.name}).stdout

    def test_another_server_says_what_it_is(self):
        status, said = self.run_freshet("stats", "--url", SERVER.url.replace("http:", "https:"))
        self.assertIn("does not speak TLS", said)
        self.assertIn("http://", said)

    def test_curl_sees_the_reason(self):
        if shutil.which("curl") is None:
            self.skipTest("no curl")
        done = subprocess.run(["curl", "-s", "-X", "DELETE", SERVER.url + QUEUE], capture_output=True, text=True, timeout=60)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "NotFoundException")
        done = subprocess.run(["curl", "-s", "-X", "PUT", SERVER.url + QUEUE + "/stats"], capture_output=True, text=True, timeout=60)
        self.assertIn("PUT is not served at /queues/QueueTable/stats; use GET, HEAD", done.stdout)


if __name__ == "__main__":
    unittest.main()
