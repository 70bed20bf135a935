#!/usr/bin/env python3
"""SIGTERM through the real binary.

A task whose handler hangs, and one that a pull worker holds, are still in work when the drain deadline passes: they go
back with their attempt. Before that, pull workers may settle what they hold. Requests that have arrived only in part, and
a processor that waits for its rate, do not hold the daemon up to its deadline.
"""
import http.server
import pathlib
import socket
import threading
import time

from daemon import QUEUE, Daemon, Refused, check_books, main


class Handler(http.server.BaseHTTPRequestHandler):
    called, go_on = threading.Semaphore(0), threading.Event()

    def do_POST(self):
        Handler.called.release()
        Handler.go_on.wait()
        self.close_connection = True

    def log_message(self, *_):
        pass


def expect_waiting(daemon, task_id):
    task = daemon.call("GET", f"{QUEUE}/tasks/{task_id}")
    assert task["taskStatus"] == "PENDING" and task["attempt"] == 0 and "error" not in task, task


def past_the_deadline(binary, folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    runner = f"http://127.0.0.1:{server.server_port}/"
    daemon = Daemon(binary, folder / "deadline", "--drain-ms", "300", "--set", "ProcessTasksFunction.CONCURRENCY=1",
                    runner=runner).start()
    try:
        daemon.call("POST", QUEUE + "/tasks", {"taskId": "hangs"})
        assert Handler.called.acquire(timeout=30), "the handler was not called"
        daemon.call("POST", QUEUE + "/tasks", {"taskId": "pulled"})
        taken = daemon.call("POST", QUEUE + "/take", {"leaseMs": 60_000})["tasks"]
        assert [t["taskId"] for t in taken] == ["pulled"], taken
        assert daemon.stop() == 0, daemon.log_tail()
        Handler.go_on.set()
        daemon.runner = "none"
        daemon.start()
        expect_waiting(daemon, "hangs")
        expect_waiting(daemon, "pulled")
        check_books(daemon.stats())
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        Handler.go_on.set()
        daemon.kill()
        server.shutdown()


def pull_workers(binary, folder):
    # A worker may settle the tasks that it holds when the stop begins; it gets no more.
    daemon = Daemon(binary, folder / "pull", "--drain-ms", "3600000").start()
    try:
        daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": "left"}, {"taskId": "fetching"}, {"taskId": "held"}]})
        task, other = daemon.call("POST", QUEUE + "/take", {"max": 2, "leaseMs": 3_600_000})["tasks"]
        daemon.process.terminate()
        while '"STOPPING"' not in daemon.log_tail():
            time.sleep(0.01)
        try:
            daemon.call("POST", QUEUE + "/take", {"waitMs": 60_000})
            raise AssertionError("a task was given out, or the worker told that there is none")
        except Refused as refused:
            assert refused.status == 503, refused
        # Finish and fetch: what is finished is finished, and the worker hears why there is nothing to fetch.
        both = daemon.call("POST", QUEUE + "/take", {"settle": [
            {"taskId": other["taskId"], "lease": other["lease"], "outcome": "complete"}]})
        assert both["settled"] == [{"taskId": "fetching", "taskStatus": "SUCCESS"}] and both["tasks"] == [], both
        assert both["error"]["code"] == "ServiceUnavailableException" and "stopping" in both["error"]["message"], both
        try:
            daemon.call("POST", QUEUE + "/take", {"settle": []})
            raise AssertionError("nothing was settled, and the worker told that there is nothing")
        except Refused as refused:
            assert refused.status == 503, refused
        done = daemon.call("POST", QUEUE + "/settle", {"settle": [{"taskId": "held", "lease": task["lease"], "outcome": "complete"}]})
        assert done["settled"][0].get("taskStatus") == "SUCCESS", done
        assert daemon.process.wait(60) == 0, daemon.log_tail()
        assert '"drained":true' in daemon.log_tail(), daemon.log_tail()
        daemon.start()
        assert daemon.call("GET", f"{QUEUE}/tasks/held")["taskStatus"] == "SUCCESS"
        expect_waiting(daemon, "left")
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


def nothing_to_wait_for(binary, folder):
    # The deadline is far behind the test's own patience: a stop that waits for it fails.
    daemon = Daemon(binary, folder / "waits", "--drain-ms", "3600000", "--set", "ProcessTasksFunction.RATE_LIMIT=0.001",
                    "--set", "ProcessTasksFunction.FAKE_MS=0", "--set", "ProcessTasksFunction.MAX_ACTIVE_MS=3600000",
                    runner="fake").start()
    try:
        daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": f"t{i}"} for i in range(3)]})
        while daemon.stats()["depth"]["SUCCESS"] < 1:
            time.sleep(0.01)
        half = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(2)]
        half[0].sendall(b"GET /queues HTT")
        half[1].sendall(b"POST /queues/QueueTable/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{}")
        daemon.stats()  # Served after them.
        assert daemon.stop() == 0, daemon.log_tail()
        for one in half:
            one.settimeout(10)
            assert b" 503 " in one.recv(4096)
    finally:
        daemon.kill()


def says_what_is_kept(binary, folder):
    """A store in memory ends with the daemon: nothing of it is durable."""
    for store, durable in ((folder / "kept" / "store", "true"), (":memory:", "false")):
        daemon = Daemon(binary, folder / f"durable-{durable}")
        daemon.store = store
        daemon.start()
        try:
            assert daemon.stop() == 0, daemon.log_tail()
            assert f'"durable":{durable}' in daemon.log_tail(), daemon.log_tail()
        finally:
            daemon.kill()


if __name__ == "__main__":
    main(__doc__, "stopped in time; what was in work went back with its attempt",
         past_the_deadline, pull_workers, nothing_to_wait_for, says_what_is_kept)
