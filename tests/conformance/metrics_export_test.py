#!/usr/bin/env python3
"""The daemon's metrics at an OpenTelemetry endpoint: the values of GET /metrics, at the interval and at the end; an endpoint that fails
is named once. Needs the daemon's binary (FRESHET_BINARY)."""
import http.server
import json
import pathlib
import sys
import threading
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from endpoint import ROOT, Endpoint  # noqa: E402

SECONDS = 30


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.came:
            self.server.requests.append((self.path, self.headers["Content-Type"], body))
            status = self.server.status
            self.server.came.notify_all()
        try:
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")
        except BrokenPipeError:
            pass  # A daemon that stops gives up the request under way, and sends its last values instead.

    def log_message(self, *unused):
        pass


def values(body):
    """{name: {labels: value}} of sums and gauges, and the points of histograms."""
    out = {}
    for metric in body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
        kind = next(name for name in ("sum", "gauge", "histogram") if name in metric)
        for point in metric[kind]["dataPoints"]:
            labels = tuple((one["key"], one["value"]["stringValue"]) for one in point["attributes"])
            out.setdefault(metric["name"], {})[labels] = point if kind == "histogram" else point["asDouble"]
    return out


class MetricsExport(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
        self.server.came, self.server.requests, self.server.status = threading.Condition(), [], 200
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/metrics"

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def daemon(self):
        return Endpoint(str(ROOT / "config" / "lifo.yaml"), "--metrics-endpoint", self.url, "--metrics-interval", "100ms")

    def until(self, holds, what):
        with self.server.came:
            self.assertTrue(self.server.came.wait_for(lambda: any(holds(values(body)) for _, _, body in self.server.requests),
                                                      SECONDS), what)

    def test_what_the_page_shows_is_sent(self):
        with self.daemon() as endpoint:
            task = urllib.request.Request(endpoint.url + "/queues/QueueTable/tasks", b'{"taskId": "a"}')
            urllib.request.urlopen(task, timeout=SECONDS).read()
            waiting = (("queue", "QueueTable"), ("state", "PENDING"))
            self.until(lambda sent: sent["freshet_queue_depth"].get(waiting) == 1, "the task is in no request")
            with urllib.request.urlopen(endpoint.url + "/metrics", timeout=SECONDS) as page:
                named = {line.split()[2] for line in page.read().decode().splitlines() if line.startswith("# TYPE ")}
            with self.server.came:
                path, kind, body = self.server.requests[-1]
        self.assertEqual((path, kind), ("/v1/metrics", "application/json"))
        self.assertEqual(set(values(body)), named)
        self.assertGreater(len(named), 50)
        commits = values(body)["freshet_commit_seconds"][()]
        self.assertEqual(int(commits["count"]), sum(map(int, commits["bucketCounts"])))
        self.assertEqual(len(commits["bucketCounts"]), len(commits["explicitBounds"]) + 1)

    def test_the_last_values_are_sent_when_the_daemon_stops(self):
        with self.daemon() as endpoint:
            self.until(lambda sent: True, "nothing came")
            tasks = urllib.request.Request(endpoint.url + "/queues/QueueTable/tasks", b'{"tasks": [{}, {}, {}]}')
            urllib.request.urlopen(tasks, timeout=SECONDS).read()
        last = values(self.server.requests[-1][2])
        self.assertEqual(last["freshet_queue_depth"][(("queue", "QueueTable"), ("state", "PENDING"))], 3)

    def test_an_endpoint_that_fails_is_named_once_and_so_is_its_return(self):
        self.server.status = 500
        with self.daemon() as endpoint:
            self.until(lambda sent: sent["freshet_metrics_export_failures_total"][()] >= 3, "no request follows those that failed")
            with self.server.came:
                self.server.status = 200
            self.until(lambda sent: sent["freshet_metrics_exports_total"][()] >= 2, "no request succeeds")
            with urllib.request.urlopen(endpoint.url + "/logs", timeout=SECONDS) as log:
                events = [json.loads(line) for line in log.read().decode().splitlines()]
        told = [(event["event"], event.get("error")) for event in events if event["event"].startswith("METRICS_EXPORT")]
        self.assertEqual(told, [("METRICS_EXPORT_FAILED", "status 500"), ("METRICS_EXPORT_BACK", None)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
