#!/usr/bin/env python3
"""Starts on an engine that cannot serve (--store dynamodb): each says why, and soon. The engines are answers that never change."""
import http.server
import json
import pathlib
import socket
import tempfile
import time
import unittest

from engine_daemon_test import BINARY, KEYS, Served
from daemon import SLOWER, Daemon

SOON_S = 5 * SLOWER  # Two seconds for the question, and what a process needs to start.
REPEATED_S = 30 * SLOWER  # A call that may pass is repeated first.


class Engine(Served):
    """Answers every request with this for the time of a `with`."""

    def __init__(self, status, kind, message="why", body=None):
        body = body or json.dumps({"__type": "com.amazonaws.dynamodb.v20120810#" + kind, "message": message}).encode()

        class Answer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST

            def log_message(self, *unused):
                pass

        super().__init__(Answer)


class Starts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="freshet-starts-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)

    def refused(self, url, *options, within=SOON_S):
        daemon = Daemon(BINARY, self.place / "store", "--store", "dynamodb", "--endpoint", url, *options, runner="none")
        daemon.environment = KEYS
        begun = time.monotonic()
        with self.assertRaises(RuntimeError) as ended:
            daemon.start()
        self.addCleanup(daemon.stop)
        self.assertLess(time.monotonic() - begun, within, str(ended.exception))
        return str(ended.exception)

    def test_an_endpoint_that_says_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            for options in ((), ("--fleet",), ("--endpoint", url)):
                self.assertIn(f"--endpoint {url}: ", self.refused(url, *options))

    def test_something_else_that_serves_http(self):
        for status in (404, 501):
            with Engine(status, "", body=b"<html><body>There is nothing here.</body></html>") as engine:
                self.assertIn(f"{status}", self.refused(engine.url))

    def test_an_engine_without_transactions(self):
        with Engine(400, "UnknownOperationException") as engine:
            self.assertIn(f"--endpoint {engine.url}: this engine has no transactions", self.refused(engine.url))

    def test_the_next_endpoint_of_a_list_is_asked(self):
        with Engine(400, "UnknownOperationException") as engine:
            self.assertIn("this engine has no transactions", self.refused(f"http://127.0.0.1:1,{engine.url}"))

    def test_keys_that_are_refused(self):
        for kind, message in (("AccessDeniedException", "User: x is not authorized to perform: dynamodb:DescribeTable"),
                              ("ExpiredTokenException", "The security token included in the request is expired"),
                              ("UnrecognizedClientException", "The security token included in the request is invalid."),
                              ("InvalidSignatureException", "Signature expired: 20260101T000000Z is now earlier than 20260102T000000Z")):
            with Engine(400, kind, message) as engine:
                for options in ((), ("--fleet",)):
                    self.assertIn(message, self.refused(engine.url, *options), kind)

    def test_an_engine_that_throttles_is_not_a_full_disk(self):
        with Engine(400, "ThrottlingException", "Rate exceeded") as engine:
            why = self.refused(engine.url, within=REPEATED_S)
            self.assertIn("Rate exceeded", why)
            self.assertNotIn("disk", why)


if __name__ == "__main__":
    unittest.main()
