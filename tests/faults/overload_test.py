#!/usr/bin/env python3
"""More work than is wanted, through the real binary: MAX_WAITING over HTTP and on the command line, policies that are
changed while a handler works, what is said of a task, and redrives of some at a rate."""
import collections
import http.client
import http.server
import json
import os
import re
import subprocess
import threading
import time

from daemon import QUEUE, ROOT, Daemon, check_books, main

TEMPLATE = ROOT / "config/lifo.yaml"


def post(daemon, path, document):
    """Status, header and body, whatever they are."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=30)
    body = document if isinstance(document, str) else json.dumps(document)
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    return response.status, response.getheader("Retry-After"), body


def complete(daemon, taken):
    """So that the daemon's end does not wait for who holds them."""
    daemon.call("POST", QUEUE + "/settle", {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"}
                                                       for task in taken]})


def knows_thousands_of_groups(binary, folder):
    """Each has its turn; the bound of 200,000 is tested beside the queue."""
    daemon = Daemon(binary, folder).start()
    try:
        for thousand in range(3):
            tasks = [{"group": f"g{1000 * thousand + n}"} for n in range(1000)]
            status, _, body = post(daemon, QUEUE + "/tasks", {"tasks": tasks})
            assert status == 200 and all(result.get("created") for result in body["results"]), (status, body["results"][:3])
        taken = daemon.call("POST", QUEUE + "/take", {"max": 1000})["tasks"]
        assert len({task["group"] for task in taken}) == 1000, len(taken)
        complete(daemon, taken)
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


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
        assert 'freshet_queue_refused_total{queue="QueueTable",reason="max-waiting"} 5' in page, page

        taken = daemon.call("POST", QUEUE + "/take", {"max": 3})["tasks"]
        assert len(taken) == 3, taken
        status, _, body = post(daemon, QUEUE + "/tasks", {"taskId": "e"})
        assert status == 200 and body["created"], body
        complete(daemon, taken)
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
            ["ORDER=adaptive", "RATE_LIMIT=100000"], ["CONCURRENCY=adaptive", "MAX_WAITING_BYTES=100000000", "REFUSE_LATE=on"], []]


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


def run(binary, daemon, *words, status=0):
    done = subprocess.run([str(binary), *words], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "FRESHET_URL": f"http://127.0.0.1:{daemon.port}"})
    assert done.returncode == status, (words, done)
    return done


def explains(binary, folder):
    daemon = Daemon(binary, folder, "--set", "ProcessTasksFunction.MAX_WAITING=3",
                    "--set", "ProcessTasksFunction.RESERVED_SHARE=0").start()
    try:
        soon = int(time.time() * 1000) + 200
        # In one batch: however slow the machine is, the late one still waits when the last one is looked at.
        names = [{"taskId": "old"}, {"taskId": "late", "deadline": soon}, {"taskId": "new"}, {"taskId": "beyond"}]
        _, _, body = post(daemon, QUEUE + "/tasks", {"tasks": names})
        assert body["results"][3]["error"]["code"] == "TooManyRequestsException", body
        while daemon.call("GET", QUEUE + "/tasks/late")["taskStatus"] != "SHED":
            time.sleep(0.01)
        said = daemon.call("GET", QUEUE + "/tasks/late/explain")
        while not said["log"]:  # It is written down after the task was shed.
            time.sleep(0.01)
            said = daemon.call("GET", QUEUE + "/tasks/late/explain")
        assert said["why"] == ["it was shed: it had not started by its deadline"] and said["deadlineInMs"] < 0 and said["task"]["taskId"] == "late", said
        line = said["log"][0]
        assert (line["what"], line["policy"], line["reason"], line["by"]) == ("shed", "deadline", "deadline", "timer"), line
        old = daemon.call("GET", QUEUE + "/tasks/old/explain")
        assert old["depth"] == 2 and old["policy"]["MAX_WAITING"] == "3" and old["log"] == [], old
        assert any("the newest task is taken first" in why for why in old["why"]), old

        refused = run(binary, daemon, "explain", "beyond").stdout
        assert "beyond: not there" in refused and "the queue was full (MAX_WAITING=3)" in " ".join(refused.split()), refused
        text = run(binary, daemon, "explain", "old").stdout
        assert text.startswith("old: PENDING, ") and "MAX_WAITING=3" in text, text
        told = text.splitlines()
        assert re.search(r", removed by TTL in [0-9.]+ (min|h)$", told[0]), text  # DEFAULT_TTL_S is an hour.
        assert all(len(line) <= 80 for line in told[told.index("its settings:"):]), text
        assert told[1].endswith("  created") and told[2] == "why it is not started now:" and told[3].startswith("  - "), text
        document = json.loads(run(binary, daemon, "explain", "old", "--json").stdout)
        assert document["taskId"] == "old" and document["life"][0]["code"] == "created", document
        assert [reason["message"] for reason in document["reasons"]] == document["why"], document
        assert {reason["code"] for reason in document["reasons"]} == {"order", "no-worker"}, document
        assert "nobody" in run(binary, daemon, "explain", "nobody", status=3).stderr
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


def changes_the_policy(binary, folder):
    daemon = Daemon(binary, folder).start()
    try:
        path = QUEUE + "/policy"
        before = daemon.call("GET", path)
        assert before["ORDER"] == "lifo" and before["MAX_WAITING"] == "0", before
        for wrong, said in (({"ORDER": "random"}, "ORDER is 'random'"), ({"LINGER_MS": 4}, "'LINGER_MS' is no setting"),
                            ({"RESERVED_SHARE": "0.5"}, "set one of these, too"), ({}, "no setting to change"),
                            ({"ORDER": ["fifo"]}, "must be a text or a number"), ([], ""), ({"MAX_WAITING": -1}, "'-1'"),
                            ('{"MAX_WAITING": 5, "MAX_WAITING": 6}', "'MAX_WAITING' is there twice"),
                            ({"MAX_WAITING": "00"}, "MAX_WAITING is '00': it must be a whole number from 0 to 1000000000"),
                            ({"MAX_WAITING": ""}, "MAX_WAITING is ''"), ({"RATE_LIMIT": "inf"}, "RATE_LIMIT is 'inf'"),
                            ({"ORDER": "fifo", "LEASE_MS": "soon"}, "LEASE_MS is 'soon'")):
            status, _, body = post(daemon, path, wrong)
            assert status == 400 and said in body["error"]["message"], (wrong, status, body)
        assert daemon.call("GET", path) == before
        after = daemon.call("POST", path, {"ORDER": "fifo", "MAX_WAITING": 2})
        assert after == daemon.call("GET", path) and after["ORDER"] == "fifo" and after["MAX_WAITING"] == "2", after
        daemon.call("POST", QUEUE + "/tasks", {"taskId": "first"})
        daemon.call("POST", QUEUE + "/tasks", {"taskId": "second"})
        assert post(daemon, QUEUE + "/tasks", {"taskId": "third"})[0] == 429
        taken = daemon.call("POST", QUEUE + "/take", {"max": 1})["tasks"]
        assert taken[0]["taskId"] == "first", taken
        complete(daemon, taken)
        # Bytes are bounded in the same way, and a task that can never wait is a wrong request.
        daemon.call("POST", path, {"MAX_WAITING": 0, "MAX_WAITING_BYTES": 4096, "RESERVED_SHARE": 0})
        waiting = daemon.stats()["bytes"]["PENDING"]
        fits = "x" * (4096 - waiting - 300)
        assert post(daemon, QUEUE + "/tasks", {"taskId": "large", "payload": fits})[0] == 200
        assert waiting + len(fits) < daemon.stats()["bytes"]["PENDING"] <= 4096, daemon.stats()
        status, header, body = post(daemon, QUEUE + "/tasks", {"taskId": "beyond", "payload": "x" * 300})
        assert status == 429 and int(header) >= 1 and "MAX_WAITING_BYTES is 4096" in body["error"]["message"], (status, body)
        status, _, body = post(daemon, QUEUE + "/tasks", {"taskId": "never", "payload": "x" * 5000})
        assert status == 400 and "can never wait here" in body["error"]["message"], (status, body)
        # A task past its deadline is refused, without advice to come back later.
        daemon.call("POST", path, {"MAX_WAITING_BYTES": 0, "REFUSE_LATE": "on"})
        status, header, body = post(daemon, QUEUE + "/tasks", {"taskId": "late", "deadline": int(time.time() * 1000) - 1})
        assert status == 400 and not header and "would be too late" in body["error"]["message"], (status, body)
        after = daemon.call("POST", path, {"CONCURRENCY": "adaptive", "CONCURRENCY_MAX": 20})
        assert after["CONCURRENCY_MIN"] == "1" and after["CONCURRENCY_MAX"] == "20", after
        assert "CONCURRENCY_MAX" not in daemon.call("POST", path, {"CONCURRENCY": 4})
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


def redrives_some_at_a_rate(binary, folder):
    daemon = Daemon(binary, folder).start()
    try:
        tasks = [{"taskId": f"t{i}", "group": "eu" if i % 2 else "us"} for i in range(60)]
        daemon.call("POST", QUEUE + "/tasks", {"tasks": tasks})
        daemon.call("POST", QUEUE + "/cancel", {"taskIds": [task["taskId"] for task in tasks]})
        begun = time.monotonic()
        words = ("redrive", "--state", "CANCELLED", "--where", "group=eu", "--json")
        done = json.loads(run(binary, daemon, *words, "--limit", "20", "--rate", "50").stdout)
        assert done == {"redriven": 20}, done
        assert time.monotonic() - begun >= 0.3, "twenty at fifty a second, the last five at once"
        assert json.loads(run(binary, daemon, *words).stdout) == {"redriven": 10}
        assert {task["group"] for task in daemon.tasks("PENDING")} == {"eu"} and len(daemon.tasks("PENDING")) == 30
        assert "NAME=VALUE" in run(binary, daemon, "redrive", "--where", "eu", status=2).stderr
        status, _, body = post(daemon, QUEUE + "/redrive", {"where": {"group": None}})
        assert status == 400 and "must be a text or a number" in body["error"]["message"], body
        # An empty filter does not mean all tasks.
        status, _, body = post(daemon, QUEUE + "/redrive", {"state": "CANCELLED", "where": {}})
        assert status == 400 and "'where' is empty" in body["error"]["message"], body
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


if __name__ == "__main__":
    main(__doc__, "what is too much is refused and explained, policies change under load", refuses_beyond_the_bound,
         knows_thousands_of_groups, changes_policies_under_load, explains, changes_the_policy, redrives_some_at_a_rate)
