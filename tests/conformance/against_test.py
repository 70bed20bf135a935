#!/usr/bin/env python3
"""The suite against endpoints that lack most of it (against.py): what it says, and that it comes to its end."""
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import unittest

AGAINST = pathlib.Path(__file__).parent / "against.py"
SECONDS = 120
TABLE = {"TableName": "t", "TableStatus": "ACTIVE"}


class Little(http.server.BaseHTTPRequestHandler):
    """Knows the operations of `answers`, as unknown ones all others."""
    protocol_version = "HTTP/1.1"
    answers = {}

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.close_connection = "Content-Length" not in self.headers  # It does not read chunks.
        operation = self.headers["X-Amz-Target"].split(".")[1]
        document = self.answers.get(operation, {"__type": "com.amazon.coral.service#UnknownOperationException"})
        body = json.dumps(document).encode()
        self.send_response(400 if "__type" in document else 200)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def against(answers, *suites):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Some", (Little,), {"answers": answers}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        return subprocess.run([sys.executable, AGAINST, f"http://127.0.0.1:{server.server_port}", *suites],
                              capture_output=True, text=True, timeout=SECONDS)
    finally:
        server.shutdown()
        server.server_close()


class Against(unittest.TestCase):
    def test_what_is_not_known_there_is_left_out(self):
        done = against({}, "backups", "statement")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("left out backups_test.Backups.test_list: this endpoint has no CreateTable", done.stdout)
        self.assertIn(" 0 differences; left out: 15\n", done.stdout)

    def test_what_is_known_but_another_is_a_difference(self):
        tables = {"CreateTable": {"TableDescription": TABLE}, "DescribeTable": {"Table": TABLE},
                  "DeleteTable": {"TableDescription": TABLE}, "PutItem": {}, "GetItem": {"Item": {}}}
        done = against(tables, "protocol", "backups", "streams")
        self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
        self.assertIn("differs  protocol_test.Protocol.test_both_versions_of_the_content_type: AssertionError", done.stdout)
        self.assertIn("left out backups_test.Backups.test_list: this endpoint has no CreateBackup", done.stdout)
        self.assertIn("left out streams_test.Streams.test_every_view: this endpoint has no streams", done.stdout)

    def test_an_endpoint_that_is_not_there(self):
        done = subprocess.run([sys.executable, AGAINST, "http://127.0.0.1:1"], capture_output=True, text=True,
                              timeout=SECONDS)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("does not answer", done.stdout)


if __name__ == "__main__":
    unittest.main()
