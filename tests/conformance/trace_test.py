#!/usr/bin/env python3
"""One trace from a task's creation through stream, trigger and topic to the task's handler; segments of X-Ray's SDKs;
all of it at an OTLP endpoint and in files. Started like conformance_test.py."""
import http.server
import json
import pathlib
import socket
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from endpoint import ROOT, Endpoint  # noqa: E402

TRACE = "5759e988bd862e3fe1be46a994272793"
HEADER = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
SEGMENT = {"trace_id": "1-5759e988-bd862e3fe1be46a994272793", "id": "00000000000000aa", "parent_id": "53995c3f42cd8ad8",
           "type": "subsegment", "name": "work", "start_time": 1700000000.5, "end_time": 1700000001.25}


class Handler(http.server.BaseHTTPRequestHandler):
    """Does tasks, and takes spans."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            if self.path == "/v1/traces":
                self.server.spans += [span for one in body["resourceSpans"] for scope in one["scopeSpans"]
                                      for span in scope["spans"]]
            else:
                self.server.tasks.append(self.headers["X-Amzn-Trace-Id"])
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *unused):
        pass


class Traces(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.lock, self.server.spans, self.server.tasks = threading.Lock(), [], []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.own = f"http://127.0.0.1:{self.server.server_port}"
        self.folder = tempfile.TemporaryDirectory(prefix="freshet-traces-")
        self.file = pathlib.Path(self.folder.name) / "traces.jsonl"
        self.chrome = pathlib.Path(self.folder.name) / "trace.json"

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()

    def span(self, name):
        """Waits for one of that name."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with self.server.lock:
                for span in self.server.spans:
                    if span["name"] == name:
                        return span
            time.sleep(0.02)
        self.fail(f"no span {name}: {self.server.spans}")

    def xray_port(self, endpoint):
        lines = pathlib.Path(endpoint.log.name).read_text().splitlines()
        return next(json.loads(line)["port"] for line in lines if '"XRAY_PORT"' in line)

    def test_a_task_is_one_trace_from_its_creation_to_its_handler(self):
        options = [str(ROOT / "config" / "lifo.yaml"), "--parameter", f"TaskRunner={self.own}/task", "--trace-file",
                   str(self.file), "--chrome-trace", str(self.chrome), "--trace-endpoint", f"{self.own}/v1/traces",
                   "--xray-port", "0"]
        with Endpoint(*options) as endpoint:
            request = urllib.request.Request(endpoint.url + "/queues/QueueTable/tasks", b'{"payload": 1}',
                                             {"Content-Type": "application/json", "X-Amzn-Trace-Id": HEADER})
            with urllib.request.urlopen(request, timeout=30) as answer:
                self.assertEqual(answer.status // 100, 2)
            task = self.span(f"POST {self.own}/task")
            process, trigger = self.span("ProcessTasksFunction"), self.span("TriggerFunction")
            attempt = self.span("QueueTable attempt")
            self.assertEqual({one["traceId"] for one in (task, attempt, process, trigger)}, {TRACE})
            self.assertEqual(trigger["parentSpanId"], "53995c3f42cd8ad8")
            self.assertEqual(process["parentSpanId"], trigger["spanId"])
            self.assertEqual(attempt["parentSpanId"], process["spanId"])
            self.assertEqual(task["parentSpanId"], attempt["spanId"])
            self.assertIn(f"Parent={task['spanId']}", self.server.tasks[0])
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for datagram in (b"nonsense", b'{"format":"json","version":1}\n' + json.dumps(SEGMENT).encode()):
                    sender.sendto(datagram, ("127.0.0.1", self.xray_port(endpoint)))
            segment = self.span("work")
            self.assertEqual((segment["traceId"], segment["spanId"]), (TRACE, "00000000000000aa"))
            self.assertEqual(segment["endTimeUnixNano"], "1700000001250000000")
        names = set()
        for line in self.file.read_text().splitlines():
            names |= {span["name"] for span in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]}
        self.assertLessEqual({"TriggerFunction", "ProcessTasksFunction", "work"}, names)
        events = json.loads(self.chrome.read_text().rstrip().rstrip(",") + "]")
        self.assertLessEqual(names, {event["name"] for event in events if event["ph"] == "X"})
        self.assertIn((process["spanId"], "f"), {(event.get("id"), event["ph"]) for event in events})

    def test_the_last_spans_are_sent_when_the_daemon_stops(self):
        with Endpoint(str(ROOT / "config" / "lifo.yaml"), "--parameter", f"TaskRunner={self.own}/task", "--trace-endpoint",
                      f"{self.own}/v1/traces", "--xray-port", "0") as endpoint:
            invoke = urllib.request.Request(endpoint.url + "/2015-03-31/functions/TriggerFunction/invocations", b"{}")
            with urllib.request.urlopen(invoke, timeout=30) as answer:
                answer.read()
        self.assertIn("TriggerFunction", {span["name"] for span in self.server.spans})


if __name__ == "__main__":
    unittest.main(verbosity=2)
