#!/usr/bin/env python3
"""Limits that RATE_LIMIT=adaptive and KEY_RATE_LIMIT=adaptive have learnt survive kill -9, through the real
binary."""
import http.server
import re
import threading
import time

from daemon import QUEUE, Daemon, main

LIMIT = 40  # Calls a second.
FIRST = 5  # The first limit of a learner without any knowledge.


class Limited(http.server.ThreadingHTTPServer):
    """A handler behind a token bucket: what is too much is answered with 429."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.tokens, self.at, self.refused = threading.Lock(), 1.0, time.monotonic(), 0

    def take(self):
        with self.lock:
            now = time.monotonic()
            self.tokens, self.at = min(2.0, self.tokens + LIMIT * (now - self.at)), now
            may = self.tokens >= 1
            self.tokens -= may
            self.refused += not may
            return may


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        try:
            self.send_response(200 if self.server.take() else 429)
            self.send_header("Content-Length", "0")
            self.end_headers()
        except OSError:
            self.close_connection = True  # The daemon was killed.

    def log_message(self, *_):
        pass


def until(what, daemon, condition):
    for _ in range(600):
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within 600 looks: {what}\n{daemon.log_tail()}")


def learnt(daemon):
    limit = daemon.stats()["rateLimit"]
    assert limit["learnt"], limit
    return limit["perSecond"]


def test_kill(binary, folder):
    handler = Limited()
    threading.Thread(target=handler.serve_forever, daemon=True).start()
    runner = f"http://127.0.0.1:{handler.server_address[1]}/"
    daemon = Daemon(binary, folder, "--set", "ProcessTasksFunction.RATE_LIMIT=adaptive", "--set",
                    "ProcessTasksFunction.CONCURRENCY=8", runner=runner).start()
    try:
        assert learnt(daemon) == FIRST
        for first in range(0, 300, 100):
            daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": f"t{first + i}"} for i in range(100)]})
        until("all tasks are done", daemon, lambda: daemon.stats()["depth"].get("SUCCESS", 0) == 300)
        assert handler.refused > 0, "nothing was learnt"
        last = learnt(daemon)
        assert last > 3 * FIRST, last
        # The limit is looked at every five seconds. This task starts after that, and what it writes comes later in the log.
        daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": "last", "delayMs": 6000}]})
        until("the last task is done", daemon, lambda: daemon.stats()["depth"].get("SUCCESS", 0) == 301)
        last = learnt(daemon)
        daemon.kill()
        daemon.start()
        again = learnt(daemon)
        # A limit that moved by less than a twentieth is not written again.
        assert abs(again - last) <= 0.06 * last, f"{last} was learnt, and {again} is known after kill -9\n{daemon.log_tail()}"
    finally:
        daemon.stop()
        handler.shutdown()


def learnt_of_group(daemon):
    """As the first task that waits for its group is told; none, if none does at the moment."""
    for number in range(400):
        said = daemon.call("GET", QUEUE + f"/tasks/g{number}/explain")
        found = re.search(r"which has learnt ([0-9.]+)/s", str(said))
        if found:
            return float(found.group(1))
    return None


def test_kill_groups(binary, folder):
    handler = Limited()
    threading.Thread(target=handler.serve_forever, daemon=True).start()
    runner = f"http://127.0.0.1:{handler.server_address[1]}/"
    daemon = Daemon(binary, folder, "--set", "ProcessTasksFunction.KEY_RATE_LIMIT=adaptive", "--set",
                    "ProcessTasksFunction.CONCURRENCY=8", runner=runner).start()
    try:
        for first in range(0, 400, 100):
            tasks = [{"taskId": f"g{first + i}", "group": "loud"} for i in range(100)]
            daemon.call("POST", QUEUE + "/tasks", {"tasks": tasks})
        # The limit that is read every five seconds is the current one by then.
        until("300 tasks are done", daemon, lambda: daemon.stats()["depth"].get("SUCCESS", 0) >= 300)
        last = until("a task waits for its group", daemon, lambda: learnt_of_group(daemon))
        assert last > 3 * FIRST, last
        daemon.kill()
        daemon.start()
        again = until("a task waits for its group", daemon, lambda: learnt_of_group(daemon))
        assert again > 0.6 * last, f"{last} was learnt, and {again} is known after kill -9\n{daemon.log_tail()}"
    finally:
        daemon.stop()
        handler.shutdown()


if __name__ == "__main__":
    main(__doc__, "The learnt limits survive kill -9.", test_kill, test_kill_groups)
