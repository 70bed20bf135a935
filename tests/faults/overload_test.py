#!/usr/bin/env python3
"""More work than is wanted, through the real binary: MAX_WAITING over HTTP and on the command line, and policies that are
changed while a handler works."""
import collections
import http.client
import http.server
import json
import os
import subprocess
import threading
import time

from daemon import QUEUE, ROOT, Daemon, check_books, main

TEMPLATE = ROOT / "config/lifo.yaml"


def post(daemon, path, document):
    """Status, header and body, whatever they are."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=30)
    connection.request("POST", path, json.dumps(document), {"Content-Type": "application/json"})
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    return response.status, response.getheader("Retry-After"), body


def refuses_beyond_the_bound(binary, folder):
    daemon = Daemon(binary, folder, "--set", "ProcessTasksFunction.MAX_WAITING=4",
                    "--set", "ProcessTasksFunction.RESERVED_SHARE=0.25").start()
    try:
        tasks = [{"taskId": name} for name in "abcd"]
        tasks.insert(1, {"taskId": "urgent", "priority": 50})
        status, header, body = post(daemon, QUEUE + "/tasks", {"tasks": tasks})
        assert status == 200 and header is None, (status, header)  # A batch is answered task by task.
        assert [r.get("created") for r in body["results"]] == [True, True, True, None, None], body
        for result in body["results"][3:]:
            assert set(result) == {"error"}, result
            assert result["error"]["code"] == "TooManyRequestsException", result
            assert 100 <= result["error"]["retryAfterMs"] <= 60_000, result
            assert "MAX_WAITING is 4" in result["error"]["message"], result

        status, header, body = post(daemon, QUEUE + "/tasks", {"taskId": "e"})
        assert status == 429, (status, body)
        assert body["error"]["code"] == "TooManyRequestsException", body
        # Whole seconds, and never less than what the body says.
        assert int(header) * 1000 >= body["error"]["retryAfterMs"] > (int(header) - 1) * 1000, (header, body)

        status, _, body = post(daemon, QUEUE + "/tasks", {"taskId": "critical", "priority": 100})
        assert status == 200 and body["created"], body
        status, _, body = post(daemon, QUEUE + "/tasks", {"taskId": "critical2", "priority": 100})
        assert status == 429, (status, body)
        # There already: it takes no room.
        status, _, body = post(daemon, QUEUE + "/tasks", {"taskId": "a"})
        assert status == 200 and body == {"taskId": "a", "created": False}, (status, body)

        put = subprocess.run([str(binary), "put", "--id", "f", "{}"], capture_output=True, text=True, timeout=60, check=False,
                             env={**os.environ, "FRESHET_URL": f"http://127.0.0.1:{daemon.port}"})
        assert put.returncode != 0 and "MAX_WAITING" in put.stderr, put

        # SDK clients write the table itself.
        daemon.dynamodb("PutItem", TableName="QueueTable",
                        Item={"taskId": {"S": "sdk"}, "taskStatus": {"S": "PENDING"}, "taskCreated": {"N": "1"}})
        metrics = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=30)
        metrics.request("GET", "/metrics")
        page = metrics.getresponse().read().decode()
        assert 'freshet_queue_refused_total{queue="QueueTable"} 5' in page, page

        assert len(daemon.call("POST", QUEUE + "/take", {"max": 3})["tasks"]) == 3
        status, _, body = post(daemon, QUEUE + "/tasks", {"taskId": "e"})
        assert status == 200 and body["created"], body
        check_books(daemon.stats())
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    started, lock = collections.Counter(), threading.Lock()

    def do_POST(self):
        task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with Handler.lock:
            Handler.started[task["taskId"]] += 1
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


POLICIES = [["ORDER=fifo"], ["ORDER=adaptive", "DEADLINE_MARGIN=yield"], ["DEADLINE_MARGIN=p90", "MAX_WAITING=1000000"],
            ["ORDER=adaptive", "RATE_LIMIT=100000"], []]


def changes_policies_under_load(binary, folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    runner = f"http://127.0.0.1:{server.server_port}/"
    daemon = Daemon(binary, folder, runner=runner).start()
    deployed, created = threading.Event(), []

    def clients():
        while not deployed.is_set():
            if len(created) - len(Handler.started) > 200:  # Always some waiting, never more than can be done soon.
                time.sleep(0.005)
                continue
            names = [f"t{len(created) + i}" for i in range(20)]
            soon = int(time.time() * 1000) + 3_600_000
            daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": name, "deadline": soon} for name in names]})
            created.extend(names)

    load = threading.Thread(target=clients)
    load.start()
    try:
        for policy in POLICIES:
            settings = ["TASK_RUNNER=" + runner, *policy]
            words = [word for setting in settings for word in ("--set", "ProcessTasksFunction." + setting)]
            subprocess.run([str(binary), "deploy", str(TEMPLATE), *words], timeout=60, check=True, capture_output=True,
                           env={**os.environ, "FRESHET_URL": f"http://127.0.0.1:{daemon.port}"})
        deployed.set()
        load.join()
        while daemon.stats()["depth"].get("SUCCESS", 0) < len(created):
            time.sleep(0.02)
        assert Handler.started == collections.Counter(created), "each is started once"
        check_books(daemon.stats())
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        deployed.set()
        load.join()
        daemon.kill()
        server.shutdown()


if __name__ == "__main__":
    main(__doc__, "what is too much is refused, policies change under load", refuses_beyond_the_bound,
         changes_policies_under_load)
