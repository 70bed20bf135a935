#!/usr/bin/env python3
"""Shed is one number: every reason is driven through the real binary, and `stats`, the metrics and the shed log say the
same, in total and by reason, while it runs, after a restart and after each of several kill -9."""
import collections
import http.client
import json
import subprocess
import time

from daemon import QUEUE, Daemon, Refused, check_books, main

OPTIONS = ("--set", "ProcessTasksFunction.DEADLINE_MARGIN=p90", "--set", "ProcessTasksFunction.MAX_WAITING=1000")


def now():
    return int(time.time() * 1000)


def metrics(daemon):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=30)
    connection.request("GET", "/metrics")
    page = connection.getresponse().read().decode()
    connection.close()
    return page


def shed_metric(daemon):
    found = {}
    for line in metrics(daemon).splitlines():
        if line.startswith('freshet_queue_shed_total{queue="QueueTable",reason="'):
            found[line.split('reason="')[1].split('"')[0]] = int(line.rsplit(" ", 1)[1])
    return found


def lines(daemon, what="shed"):
    return [line for line in daemon.call("GET", QUEUE + "/sheds?limit=10000")["sheds"] if line["what"] == what]


def without_zeros(counts):
    return {name: count for name, count in counts.items() if count}


def agree(daemon, expected):
    """All that says how many were shed says `expected`, once what the sweep removed has been read in the stream."""
    end = time.monotonic() + 30
    while True:
        stats = daemon.stats()
        log = daemon.call("GET", QUEUE + "/sheds?limit=10000")
        said = {"stats": without_zeros(stats["shed"]), "metrics": without_zeros(shed_metric(daemon)),
                "lines": dict(collections.Counter(line["reason"] for line in log["sheds"] if line["what"] == "shed")),
                "log": without_zeros(log.get("byReason", {})), "totals": {stats.get("shedTotal"), log.get("total")}}
        wanted = {name: expected for name in ("stats", "metrics", "lines", "log")} | {"totals": {sum(expected.values())}}
        if said == wanted:
            break
        assert time.monotonic() < end, f"wanted {expected}, said {said}"
        time.sleep(0.02)
    check_books(stats)
    repeated = [name for name, count in collections.Counter(line["taskId"] for line in lines(daemon)).items() if count > 1]
    assert not repeated, f"two lines each: {repeated}"


def expect(daemon, expected, reason, create, count=1):
    """`create` makes `count` tasks that are shed for that reason."""
    expected[reason] = expected.get(reason, 0) + count
    create(daemon)
    agree(daemon, expected)


def tasks_of(name, count, **members):
    return lambda daemon: daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": f"{name}-{i}", **members} for i in range(count)]})


def put_by_client(name, count, status="PENDING", **numbers):
    """As an SDK does: the task API would refuse a deadline that has passed."""
    def put(daemon):
        for i in range(count):
            item = {"taskId": {"S": f"{name}-{i}"}, "taskStatus": {"S": status}, "taskCreated": {"N": str(now())}}
            daemon.dynamodb("PutItem", TableName="QueueTable", Item=item | {key: {"N": str(value)} for key, value in numbers.items()})
    return put


def slow_work(daemon):
    """From now on tasks take some 100 ms as far as the queue knows."""
    daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": f"work-{i}"} for i in range(12)]})
    taken = daemon.call("POST", QUEUE + "/take", {"max": 12})["tasks"]
    time.sleep(0.1)
    daemon.call("POST", QUEUE + "/settle", {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"}
                                                       for task in taken]})


def replaced_and_refused(daemon):
    """Neither is a shed."""
    for name in ("first", "second"):
        daemon.call("POST", QUEUE + "/tasks", {"taskId": name, "key": "k", "replace": True})
    daemon.call("POST", QUEUE + "/policy", {"MAX_WAITING": 1, "RESERVED_SHARE": 0})
    try:
        daemon.call("POST", QUEUE + "/tasks", {"taskId": "beyond"})
        raise AssertionError("MAX_WAITING did not refuse")
    except Refused as refusal:
        assert refusal.status == 429, refusal
    daemon.call("POST", QUEUE + "/policy", {"MAX_WAITING": 1000})
    assert daemon.call("GET", QUEUE + "/tasks/first")["taskStatus"] == "CANCELLED"
    daemon.call("POST", QUEUE + "/cancel", {"taskIds": ["second"]})


def doomed(daemon):
    """The next create of its key finds that it can never start."""
    daemon.call("POST", QUEUE + "/tasks", {"taskId": "doomed", "key": "d", "delayMs": 60_000, "deadline": now() + 30_000})
    daemon.call("POST", QUEUE + "/tasks", {"taskId": "heir", "key": "d"})
    daemon.call("POST", QUEUE + "/cancel", {"taskIds": ["heir"]})


def says_one_number(binary, folder):
    daemon = Daemon(binary, folder, *OPTIONS).start()
    expected = {}
    try:
        agree(daemon, expected)
        slow_work(daemon)
        expect(daemon, expected, "deadline-margin", tasks_of("hopeless", 2, deadlineMs=50), 2)
        time.sleep(0.06)
        expect(daemon, expected, "deadline", put_by_client("late", 3, deadline=now() - 1), 3)
        expect(daemon, expected, "deadline", put_by_client("due", 2, "DELAYED", notBefore=now() + 200, deadline=now() + 1), 2)
        expect(daemon, expected, "deadline", doomed)
        replaced_and_refused(daemon)
        agree(daemon, expected)
        expect(daemon, expected, "ttl", tasks_of("swept", 5, ttlSeconds=0.01), 5)
        expect(daemon, expected, "ttl", tasks_of("swept-delayed", 3, ttlSeconds=0.01, delayMs=60_000), 3)
        # A client's own SHED is a move of its own: nothing that the queue shed.
        daemon.dynamodb("PutItem", TableName="QueueTable", Item={"taskId": {"S": "foreign"}, "taskStatus": {"S": "SHED"},
                                                                 "taskCreated": {"N": str(now())}})
        agree(daemon, expected)
        # A shed task stays counted as one shed when it is put back.
        assert daemon.call("POST", QUEUE + "/redrive", {"state": "SHED", "taskIds": ["late-0"]}) == {"redriven": 1}
        daemon.call("POST", QUEUE + "/cancel", {"taskIds": ["late-0"]})
        agree(daemon, expected)
        assert daemon.stop() == 0, daemon.log_tail()
        daemon.start()
        agree(daemon, expected)
        for round in range(4):
            deadline = now() - 1
            expect(daemon, expected, "ttl", tasks_of(f"swept-{round}", 3, ttlSeconds=0.01), 3)
            expect(daemon, expected, "deadline", put_by_client(f"late-{round}", 2, deadline=deadline), 2)
            expect(daemon, expected, "ttl", tasks_of(f"swept-again-{round}", 2, ttlSeconds=0.01), 2)
            daemon.kill()
            daemon.start()
            agree(daemon, expected)
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


def prints_one_number(binary, folder):
    """`freshet stats` shows shed as a count of its own, not as a state with nothing in it."""
    daemon = Daemon(binary, folder, *OPTIONS).start()
    try:
        expect(daemon, {}, "ttl", tasks_of("swept", 5, ttlSeconds=0.01), 5)
        text = subprocess.run([str(binary), "stats", "--url", f"http://127.0.0.1:{daemon.port}"], capture_output=True, text=True,
                              timeout=60, check=True).stdout
        words = [line.split() for line in text.splitlines()]
        assert ["SHED", "0"] not in words, text
        assert ["shed"] in words and ["ttl", "5"] in words and ["total", "5"] in words, text
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


def an_outage_is_one_line(binary, folder):
    """A handler that cannot be reached bounces every task again and again: one line counts them."""
    daemon = Daemon(binary, folder, "--set", "ProcessTasksFunction.BOUNCE_DELAY_MS=1", runner="http://127.0.0.1:9/").start()
    try:
        daemon.call("POST", QUEUE + "/tasks", {"taskId": "a"})
        end = time.monotonic() + 60
        while True:
            found = lines(daemon, "bounced")
            if found and found[0].get("count", 1) >= 3:
                break
            assert len(found) < 3, f"a line for each bounce: {len(found)}"
            assert time.monotonic() < end, found
            time.sleep(0.05)
        assert len(found) == 1, found
        line = found[0]
        assert line["taskId"] == "a" and line["until"] > line["at"] and line["untold"] == line["count"] - 1, line
        assert "127.0.0.1:9" in line["reason"], line
        trouble = daemon.stats()["runnerTrouble"]
        assert trouble["runner"] == "http://127.0.0.1:9/" and trouble["bounces"] >= 3 and trouble["message"], trouble
        said = daemon.call("GET", QUEUE + "/tasks/a/explain")
        assert any("http://127.0.0.1:9/" in why and "cannot be reached" in why for why in said["why"]), said
        assert "runner-unreachable" in [reason["code"] for reason in said["reasons"]], said
        assert not any("breaker" in why for why in said["why"]), said
        assert "bounced" in [event["code"] for event in said["life"]], said
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


if __name__ == "__main__":
    main(__doc__, "shed is one number, and an outage is one line", says_one_number, prints_one_number, an_outage_is_one_line)
