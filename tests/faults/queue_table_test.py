#!/usr/bin/env python3
"""Changes of a queue's table by SDK clients, through the real binary: every index that the queue needs is dropped by
UpdateTable, one after the other, and its stream is switched off and on. Each index is there again at once, /readyz and
the log say so, and every task is served.
"""
import http.client
import time

from daemon import QUEUE, Daemon, Refused, check_books, main

INDEXES = ["freshet-delayed-index", "freshet-deadline-index", "freshet-lane-index", "freshet-key-index", "freshet-lane-deadline-index",
           "task-status-created-index"]


def readiness(daemon):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=30)
    connection.request("GET", "/readyz")
    response = connection.getresponse()
    return response.status, response.read().decode()


def until(what, patience=30):
    """Looks until it holds: a daemon that never does is a fault."""
    end = time.monotonic() + patience
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < end, what
        time.sleep(0.002)


def take(daemon):
    """One task; refusals that ask to come back are obeyed."""
    def once():
        try:
            return daemon.call("POST", QUEUE + "/take", {"waitMs": 1000})["tasks"]
        except Refused as refused:
            assert refused.status == 503, refused
            return None
    return until(once)[0]


def complete(daemon, task):
    done = daemon.call("POST", QUEUE + "/settle", {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"}]})
    assert done["settled"][0].get("taskStatus") == "SUCCESS", done


def indexes(daemon):
    return [index["IndexName"] for index in daemon.dynamodb("DescribeTable", TableName="QueueTable")["Table"]["GlobalSecondaryIndexes"]]


def dropped_indexes(daemon):
    for name in INDEXES:
        daemon.call("POST", QUEUE + "/tasks", {"taskId": "for " + name, "delayMs": 300, "key": name})
        daemon.dynamodb("UpdateTable", TableName="QueueTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": name}}])
        status, why = until(lambda: (lambda found: found if found[0] != 200 else None)(readiness(daemon)))
        assert status == 503 and name in why, (status, why)
        until(lambda: readiness(daemon)[0] == 200)
        assert name in indexes(daemon), indexes(daemon)
        task = take(daemon)
        assert task["taskId"] == "for " + name, task
        complete(daemon, task)
    log = daemon.log_path.read_text()
    for event in ("QUEUE_INDEX_LOST", "QUEUE_TABLE_MENDED"):
        assert log.count(event) == len(INDEXES), (event, daemon.log_tail())


def stream_off_and_on(daemon):
    high = daemon.call("POST", QUEUE + "/tasks", {"taskId": "high", "priority": 3})  # From now on every task needs a lane.
    assert high["created"], high
    complete(daemon, take(daemon))
    daemon.dynamodb("UpdateTable", TableName="QueueTable", StreamSpecification={"StreamEnabled": False})
    daemon.dynamodb("PutItem", TableName="QueueTable", Item={"taskId": {"S": "unseen"}, "taskStatus": {"S": "PENDING"}, "taskCreated": {"N": "1"}})
    daemon.dynamodb("UpdateTable", TableName="QueueTable", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    task = take(daemon)
    assert task["taskId"] == "unseen", task
    complete(daemon, task)


def with_daemon(test):
    def run(binary, folder):
        daemon = Daemon(binary, folder / "data").start()
        try:
            test(daemon)
            check_books(daemon.stats())
            assert daemon.stop() == 0, daemon.log_tail()
        finally:
            daemon.kill()
    run.__name__ = test.__name__
    return run


if __name__ == "__main__":
    main(__doc__, "every index was there again at once, and no task was missed", with_daemon(dropped_indexes),
         with_daemon(stream_off_and_on))
