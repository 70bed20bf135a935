#!/usr/bin/env python3
"""Running a queue with the binary: pauses, changes of many tasks, the policy, the logs, across restarts and kill -9."""
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import threading
import time

from daemon import QUEUE, ROOT, Daemon, Refused, check_books, main
from harm import until

ROUNDS = int(os.environ.get("FRESHET_KILLS", "20"))


class Commands:
    """freshet, told of the daemon by its environment."""

    def __init__(self, daemon):
        self.daemon = daemon

    def environment(self):
        return {**os.environ, "FRESHET_URL": f"http://127.0.0.1:{self.daemon.port}"}

    def __call__(self, *words, status=0, stdin=""):
        run = subprocess.run([self.daemon.binary, *map(str, words)], input=stdin, capture_output=True, text=True,
                             timeout=120, env=self.environment())
        assert run.returncode == status, (words, run)
        return run


def put(daemon, names, **members):
    daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": name, **members} for name in names]})


def take(daemon, most=1, wait=0):
    return [task["taskId"] for task in daemon.call("POST", QUEUE + "/take", {"max": most, "waitMs": wait})["tasks"]]


def refusal(call):
    try:
        call()
    except Refused as refused:
        return refused
    raise AssertionError("it was not refused")


def lines(daemon):
    return daemon.call("GET", "/audit?limit=1000")["lines"]


def pauses(binary, folder):
    daemon = Daemon(binary, folder).start()
    try:
        freshet = Commands(daemon)
        put(daemon, ["a"])
        said = freshet("pause", "QueueTable", "--reason", "the database is being moved").stdout
        assert "queue 'QueueTable' is paused, also across restarts, until you call freshet resume QueueTable:" in said, said
        assert take(daemon) == []
        put(daemon, ["b"], group="acme")
        daemon.kill()
        daemon.start()
        assert take(daemon) == [], "a restart has ended the pause"
        stats = daemon.stats()
        assert stats["state"] == "paused" and stats["pauses"][0]["reason"] == "the database is being moved", stats
        why = daemon.call("GET", QUEUE + "/tasks/a/explain")["why"]
        assert any("the queue is paused since" in line and "by local: the database" in line for line in why), why
        shown = freshet("queues").stdout
        assert "paused" in shown and "QueueTable: all of it is paused for" in shown, shown
        row = json.loads(freshet("queues", "--json").stdout)["queues"][0]
        assert row["state"] == "paused" and row["pending"] == 2 and row["kind"] == "tasks", row
        # A worker that waits gets a task as soon as the queue goes on.
        got = []
        worker = threading.Thread(target=lambda: got.extend(take(daemon, 2, 30_000)))
        worker.start()
        freshet("pause", "QueueTable", "--group", "acme", "--for", "10m")
        freshet("resume", "QueueTable")
        worker.join(60)
        assert got == ["a"], got
        daemon.stop()  # Gives "a" back.
        daemon.start()
        assert take(daemon, 9) == ["a"], "the group is not paused any more"
        freshet("resume", "QueueTable", "--group", "acme")
        assert take(daemon) == ["b"]
        said = [f"{line['who']} {line['what']} {line.get('queue', '')}" for line in reversed(lines(daemon))]
        assert said[-4:] == ["local pause QueueTable"] * 2 + ["local resume QueueTable"] * 2, said
        assert all(line["from"].startswith("127.0.0.1:") for line in lines(daemon)[:4]), lines(daemon)

        wrong = freshet("resume", "QueueTable", status=4).stderr
        assert "queue 'QueueTable' is not paused" in wrong, wrong
        wrong = freshet("pause", "Other", status=3).stderr
        assert "there is no queue 'Other'; this daemon has QueueTable; the first argument chooses another" in wrong, wrong
        wrong = freshet("pause", "QueueTable", "--group", "a", "--key", "b", status=2).stderr
        assert "'key' and 'group' are both there: pause one after the other" in wrong, wrong
        wrong = freshet("pause", "QueueTable", "--for", "10", status=2).stderr
        assert "10" in wrong and "unit" in wrong, wrong
        assert "unit" in freshet("purge", "QueueTable", "--state", "DEAD", "--older-than", "7", status=2).stderr
    finally:
        daemon.stop()


def bulk(binary, folder):
    daemon = Daemon(binary, folder).start()
    try:
        freshet = Commands(daemon)
        put(daemon, [f"eu-{i}" for i in range(600)], group="eu", priority=5)
        put(daemon, [f"us-{i}" for i in range(100)], group="us")
        time.sleep(0.01)  # A job is for what was created before it.
        dry = freshet("purge", "QueueTable", "--state", "PENDING", "--where", "group=eu", "--dry-run").stdout
        assert dry.startswith("600 tasks would be purged (--dry-run: nothing was changed)\nfor example {"), dry
        some = freshet("purge", "QueueTable", "--state", "PENDING", "--where", "group=eu", "--limit", 50, "--dry-run").stdout
        assert some.startswith("50 tasks would be purged (--dry-run: nothing was changed)\nthat is as many as --limit allows; more may match\n"), some
        # It is not asked for by accident.
        assert "confirm it with --yes" in freshet("purge", "QueueTable", "--state", "PENDING", status=2).stderr
        said = freshet("purge", "QueueTable", "--state", "PENDING", "--where", "group=eu", "--where", "priority=5", "--yes").stdout
        assert said == "600 purged\n", said
        stats = daemon.stats()
        assert stats["depth"]["PENDING"] == 100 and stats["flow"]["PENDING->"] == 600, stats
        check_books(stats)
        # Cancelled, put back, and purged once they are dead.
        assert freshet("cancel", "--where", "group=us").stdout == "100 cancelled\n"
        assert freshet("redrive", "--state", "CANCELLED", "--where", "group=us", "--limit", 40).stdout == "40 back to PENDING\n"
        assert freshet("purge", "QueueTable", "--state", "CANCELLED", "--yes").stdout == "60 purged\n"
        check_books(daemon.stats())
        job = json.loads(freshet("cancel", "--where", "group=us", "--json").stdout)
        assert job["phase"] == "done" and job["changed"] == 40 and job["by"] == "local", job

        never = freshet("purge", "QueueTable", "--state", "DEAD", "--where", "priority=high", "--yes", status=2).stderr
        assert "'where' 'priority=high' never matches: 'priority' is a whole number" in never, never
        assert "names 'group' twice" in freshet("cancel", "--where", "group=a", "--where", "group=b", status=2).stderr
        assert "which tasks?" in freshet("cancel", status=2).stderr
        assert "--dry-run does not go with ids" in freshet("redrive", "eu-1", "--dry-run", status=2).stderr
        refused = refusal(lambda: daemon.call("POST", QUEUE + "/jobs", {"do": "purge", "states": ["TAKEN"]}))
        assert refused.status == 400 and "cancel those that are in work" in str(refused), refused
        refused = refusal(lambda: daemon.call("DELETE", QUEUE + "/jobs/1"))
        assert refused.status == 404 and "has no job 1" in str(refused), refused
    finally:
        daemon.stop()


def look_at_job(daemon, number):
    return daemon.call("GET", f"{QUEUE}/jobs/{number}")


def copies(binary, folder):
    """Jobs that running-queues.md prints: delayed tasks run now, and ended ones are copied."""
    daemon = Daemon(binary, folder).start()
    try:
        put(daemon, [f"later-{i}" for i in range(3)], group="acme", delayMs=600_000)
        put(daemon, ["other"], delayMs=600_000)
        put(daemon, ["dead-0"], payload={"n": 1}, key="order-17")
        put(daemon, [f"dead-{i}" for i in range(1, 12)])
        printed = (ROOT / "docs/running-queues.md").read_text()
        run, duplicate = (json.loads(body) for body in re.findall(r"curl -s -d '(\{.*\})' http://127.0.0.1:7070/queues/jobs/jobs", printed))

        def job(body):
            begun = daemon.call("POST", QUEUE + "/jobs", body)
            assert until(lambda: look_at_job(daemon, begun["id"])["phase"] not in ("counting", "changing")), begun
            return look_at_job(daemon, begun["id"])

        assert job(run)["changed"] == 3
        assert daemon.stats()["depth"]["PENDING"] == 15, daemon.stats()
        for task in daemon.call("POST", QUEUE + "/take", {"max": 20})["tasks"]:
            daemon.call("POST", QUEUE + "/settle", {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "fail", "final": True}]})
        assert job({"do": "redrive", "states": ["FAILURE"], "taskIds": ["later-0", "later-2"]})["changed"] == 2
        duplicate["states"] = ["FAILURE"]
        done = job(duplicate)
        assert done["changed"] == 13 and done["set"] == ["group"] and done["batch"] == "again", done
        copy = daemon.call("GET", f"{QUEUE}/tasks/dead-0-copy-again")
        assert copy["group"] == "retry" and copy["payload"] == {"n": 1} and "key" not in copy, copy
        check_books(daemon.stats())
    finally:
        daemon.stop()


def name_typed(binary, folder):
    """On a terminal a purge asks for the queue's name."""
    daemon = Daemon(binary, folder).start()
    try:
        put(daemon, ["a"])
        time.sleep(0.01)
        for typed, left in (("no", 1), ("QueueTable", 0)):
            ours, theirs = pty.openpty()
            process = subprocess.Popen([binary, "purge", "QueueTable", "--state", "PENDING"], stdin=theirs, stderr=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env=Commands(daemon).environment(), text=True)
            os.close(theirs)
            os.write(ours, f"{typed}\n".encode())
            out, said = process.communicate(timeout=60)
            os.close(ours)
            assert process.returncode == (0 if left == 0 else 2) and "Type its name to go on" in said, (out, said)
            assert daemon.stats()["depth"]["PENDING"] == left
    finally:
        daemon.stop()


def interrupted(binary, folder):
    """Ctrl-C leaves a job to the daemon, which can be watched and stopped; one that kill -9 cuts off is told as such."""
    daemon = Daemon(binary, folder).start()
    try:
        freshet = Commands(daemon)
        put(daemon, [f"t-{i}" for i in range(500)])
        time.sleep(0.01)
        words = [binary, "purge", "QueueTable", "--state", "PENDING", "--rate", "5", "--yes"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=freshet.environment(), text=True)
        while not daemon.call("GET", QUEUE + "/jobs")["jobs"]:
            time.sleep(0.01)
        while daemon.call("GET", QUEUE + "/jobs")["jobs"][0]["changed"] == 0:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1 and "goes on in the daemon" in said and "DELETE /queues/QueueTable/jobs/" in said, said
        job = daemon.call("GET", QUEUE + "/jobs")["jobs"][0]
        assert job["phase"] == "changing" and job["matched"] == 500, job
        daemon.call("DELETE", f"{QUEUE}/jobs/{job['id']}")
        while daemon.call("GET", f"{QUEUE}/jobs/{job['id']}")["phase"] == "changing":
            time.sleep(0.01)
        job = daemon.call("GET", f"{QUEUE}/jobs/{job['id']}")
        assert job["phase"] == "stopped" and 0 < job["changed"] < 500, job
        assert daemon.stats()["depth"]["PENDING"] == 500 - job["changed"]

        begun = freshet("purge", "QueueTable", "--state", "PENDING", "--rate", "5", "--yes", "--no-wait").stdout.strip()
        daemon.kill()
        daemon.start()
        job = daemon.call("GET", f"{QUEUE}/jobs/{begun}")
        assert job["phase"] == "cut off" and "start it again for the rest" in job["error"], job
        assert "was cut off by the end of the daemon" in lines(daemon)[0]["detail"], lines(daemon)[0]
        check_books(daemon.stats())
    finally:
        daemon.stop()


def policy(binary, folder):
    daemon = Daemon(binary, folder).start()
    try:
        freshet = Commands(daemon)
        shown = freshet("policy", "QueueTable").stdout
        assert "ORDER" in shown and "lifo" in shown and "newest or oldest first" in shown, shown
        said = freshet("policy", "QueueTable", "ORDER=fifo", "RATE_LIMIT=19", "--dry-run").stdout
        assert "ORDER: lifo -> fifo" in said and "--dry-run: nothing was changed" in said, said
        assert daemon.call("GET", QUEUE + "/policy")["ORDER"] == "lifo"
        said = freshet("policy", "QueueTable", "ORDER=fifo", "RATE_LIMIT=19").stdout
        assert "RATE_LIMIT: 0 -> 19" in said and "write it into the template to keep it" in said, said
        assert daemon.call("GET", QUEUE + "/policy")["ORDER"] == "fifo"
        assert lines(daemon)[0]["what"] == "policy" and lines(daemon)[0]["detail"] == "ORDER=fifo RATE_LIMIT=19", lines(daemon)
        assert json.loads(freshet("queues", "--json").stdout)["queues"][0]["rateLimit"] == "19"
        wrong = freshet("policy", "QueueTable", "ORDER=random", status=2).stderr
        assert "ORDER" in wrong and "lifo" in wrong and "deadline" in wrong, wrong
        assert "must be NAME=VALUE" in freshet("policy", "QueueTable", "ORDER", status=2).stderr
        assert len(lines(daemon)) == len([line for line in lines(daemon) if "random" not in line["detail"]])
        daemon.stop()
        daemon.start()
        assert daemon.call("GET", QUEUE + "/policy")["ORDER"] == "lifo", "as freshet policy says"
        put(daemon, ["late"], deadlineMs=50)
        while daemon.stats()["depth"]["SHED"] == 0:
            time.sleep(0.01)
        assert "late" in freshet("sheds", "QueueTable").stdout and json.loads(freshet("sheds", "QueueTable", "--json").stdout)["reason"] == "deadline"
        assert "policy" in freshet("audit", "--queue", "QueueTable").stdout
        assert "no change of a queue 'Other' is known" in freshet("audit", "--queue", "Other").stdout
    finally:
        daemon.stop()


def complete(daemon, count):
    """That many tasks end in time."""
    put(daemon, [f"done-{i}" for i in range(count)])
    taken = daemon.call("POST", QUEUE + "/take", {"max": count})["tasks"]
    assert len(taken) == count, taken
    settle = [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"} for task in taken]
    daemon.call("POST", QUEUE + "/settle", {"settle": settle})


def guarded_policy(binary, folder):
    """A change with a guard goes back by itself when tasks are not done in time any more, and stays when it is kept."""
    daemon = Daemon(binary, folder).start()
    try:
        freshet = Commands(daemon)
        refused = freshet("policy", "QueueTable", "ORDER=fifo", "--guard", "10", status=2).stderr
        assert "only 0 tasks have ended in the last minute" in refused, refused
        assert "at most 100" in freshet("policy", "QueueTable", "ORDER=fifo", "--guard", "200", status=2).stderr
        assert "--guard needs a change" in freshet("policy", "QueueTable", "--guard", "10", status=2).stderr
        assert "--keep stands alone" in freshet("policy", "QueueTable", "ORDER=fifo", "--keep", status=2).stderr
        freshet("policy", "QueueTable", "ORDER=fifo", "--guard", "0", status=2)
        freshet("policy", "QueueTable", "ORDER=fifo", "--guard", "10", "--within", "9s", status=2)
        freshet("policy", "QueueTable", "ORDER=fifo", "--within", "20s", status=2)
        assert "nothing was changed" in freshet("policy", "QueueTable", "--keep").stdout
        complete(daemon, 25)
        said = freshet("policy", "QueueTable", "DEFAULT_DEADLINE_MS=20", "--guard", "10", "--within", "2m").stdout
        assert "goes back by itself if, within 2m" in said and "--keep" in said, said
        assert "it goes back to DEFAULT_DEADLINE_MS=0" in freshet("stats", "--queue", "QueueTable").stdout.replace("\n", " ")
        assert daemon.stats()["policyGuard"]["inTimeBefore"] == 1, daemon.stats()
        assert lines(daemon)[0]["detail"].startswith("DEFAULT_DEADLINE_MS=20 (goes back"), lines(daemon)[0]
        put(daemon, [f"late-{i}" for i in range(30)])
        while daemon.call("GET", QUEUE + "/policy")["DEFAULT_DEADLINE_MS"] != "0":
            time.sleep(0.1)
        while lines(daemon)[0]["who"] != "freshet":  # Its line comes afterwards.
            time.sleep(0.1)
        line = lines(daemon)[0]
        assert line["who"] == "freshet" and line["from"] == "guard", line
        assert line["detail"].startswith("went back: DEFAULT_DEADLINE_MS=0 (done in time: 100.0 % to "), line
        freshet("policy", "QueueTable", "ORDER=fifo", "--guard", "10")
        assert "the policy stays" in freshet("policy", "QueueTable", "--keep").stdout
        assert "policyGuard" not in daemon.stats() and daemon.call("GET", QUEUE + "/policy")["ORDER"] == "fifo"
        assert lines(daemon)[0]["detail"] == "kept, without its guard", lines(daemon)[0]
        newest = lines(daemon)[0]["number"]
        daemon.call("POST", QUEUE + "/policy", {"guard": None})
        assert lines(daemon)[0]["number"] == newest, "there was no guard to end"
        for wrong in ({"points": 0, "withinMs": 20000}, {"points": 10}, {"points": 10, "withinMs": 1}, {"points": "x"}, 5):
            refused = refusal(lambda wrong=wrong: daemon.call("POST", QUEUE + "/policy", {"ORDER": "lifo", "guard": wrong}))
            assert refused.status == 400 and "guard" in str(refused), (wrong, refused)
        assert daemon.call("GET", QUEUE + "/policy")["ORDER"] == "fifo"
    finally:
        daemon.stop()


def recorded_policy(binary, folder):
    """A recording holds each change of the policy, and simulate says them."""
    daemon = Daemon(binary, folder).start()
    out = folder / "load.jsonl"
    recorder = subprocess.Popen([binary, "record", "--out", out], stderr=subprocess.DEVNULL, env=Commands(daemon).environment())

    def seen(text):
        while text not in (out.read_text() if out.exists() else ""):
            assert recorder.poll() is None, recorder
            time.sleep(0.01)

    try:
        freshet = Commands(daemon)
        seen('"freshet":"fixture"')

        def work(name):
            put(daemon, [name], deadlineMs=60000)
            [task] = daemon.call("POST", QUEUE + "/take", {})["tasks"]
            daemon.call("POST", QUEUE + "/settle", {"settle": [{"taskId": name, "lease": task["lease"], "outcome": "complete"}]})

        work("before")
        freshet("policy", "QueueTable", "RATE_LIMIT=19")
        freshet("policy", "QueueTable", "ORDER=fifo")
        work("after")
        seen('"ORDER":"fifo"')
        while out.read_text().count('"SUCCESS"') < 2:
            time.sleep(0.01)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(30) == 0
        changes = [line["policy"] for line in map(json.loads, out.read_text().splitlines()) if "policy" in line and "at" in line]
        assert [(one["ORDER"], one["RATE_LIMIT"]) for one in changes] == [("lifo", "19"), ("fifo", "19")], changes
        said = freshet("simulate", out).stdout
        assert "\nchanged after " in said and " RATE_LIMIT=19\n" in said and " s: ORDER=fifo\n" in said, said
        said = json.loads(freshet("simulate", out, "--set", "ORDER=deadline", "--json").stdout)
        first, second = [change["set"] for change in said["recordedPolicyChanges"]]
        assert first["RATE_LIMIT"] == "19" and "ORDER" not in first and second == {"ORDER": "fifo"}, said
    finally:
        recorder.kill()
        recorder.wait()
        daemon.stop()


def killed(binary, folder):
    """Each change that was acknowledged has its line, however the daemon ends."""
    daemon = Daemon(binary, folder).start()
    acknowledged = []
    try:
        for round_number in range(max(2, ROUNDS // 4)):
            stop = threading.Event()

            def change(group):
                number = 0
                while not stop.is_set():
                    number += 1
                    name = f"{group}-{round_number}-{number}"
                    try:
                        daemon.call("POST", QUEUE + "/pause", {"key": name})
                        acknowledged.append(("pause", name))
                        daemon.call("POST", QUEUE + "/resume", {"key": name})
                        acknowledged.append(("resume", name))
                    except OSError:
                        return

            workers = [threading.Thread(target=change, args=(name,)) for name in "abc"]
            for worker in workers:
                worker.start()
            before = len(acknowledged)
            while len(acknowledged) < before + 30:
                time.sleep(0.001)
            daemon.kill()
            stop.set()
            for worker in workers:
                worker.join()
            daemon.start()
            there = {(line["what"], line["detail"].split("'")[1]) for line in daemon.call("GET", "/audit?limit=10000")["lines"]
                     if line["what"] in ("pause", "resume")}
            missing = [one for one in acknowledged if one not in there]
            assert not missing, f"acknowledged, and no line: {missing[:5]}"
            paused = {pause["name"] for pause in daemon.stats().get("pauses", [])}
            wrong = [name for what, name in acknowledged if (what, name) == ("resume", name) and name in paused]
            assert not wrong, f"resumed, and paused again by the restart: {wrong[:5]}"
    finally:
        daemon.stop()


def audited(binary, folder):
    """Deployments, at the start too, and changes of functions have their lines; with credentials these name the access key."""
    key = folder / "credentials"
    key.write_text("[default]\naws_access_key_id = AKEXAMPLE\naws_secret_access_key = a-secret-of-enough-letters\n")
    key.chmod(0o600)
    daemon = Daemon(binary, folder / "data").start()
    try:
        freshet = Commands(daemon)
        first = lines(daemon)
        assert len(first) == 1 and first[0]["what"] == "deploy" and first[0]["from"] == "start", first
        assert "create table QueueTable" in first[0]["detail"] and first[0]["count"] > 3, first
        daemon.stop()
        daemon.start()
        assert len(lines(daemon)) == 1, "a start that changes nothing has no line"
        freshet("deploy", ROOT / "config/lifo.yaml", "--dry-run")
        assert len(lines(daemon)) == 1
        freshet("deploy", ROOT / "config/lifo.yaml", "--parameter", "Concurrency=3")
        line = lines(daemon)[0]
        assert line["what"] == "deploy" and line["who"] == "local" and "change function" in line["detail"], line
        name = daemon.call("GET", "/2015-03-31/functions/")["Functions"][0]["FunctionName"]
        path = f"/2017-10-31/functions/{name}/concurrency"
        daemon.call("PUT", path, {"ReservedConcurrentExecutions": 1}, {"X-Request-Id": "mine-17"})
        line = lines(daemon)[0]
        assert line["what"] == "function" and line["detail"] == f"PUT {path}" and line["request"] == "mine-17", line
        names = [f"a-task-with-a-long-name-{i}" for i in range(12)]
        put(daemon, names)
        daemon.call("POST", QUEUE + "/cancel", {"taskIds": names})
        line = lines(daemon)[0]
        assert line["what"] == "cancel" and line["count"] == 12 and line["queue"] == "QueueTable", line
        assert line["detail"] == " ".join(names[:10]) + " and 2 more", line
        daemon.call("POST", QUEUE + "/redrive", {"state": "CANCELLED", "taskIds": names[:1]})
        line = lines(daemon)[0]
        assert line["what"] == "redrive" and line["count"] == 1 and line["detail"] == f"from CANCELLED: {names[0]}", line
        daemon.call("POST", QUEUE + "/redrive", {"state": "CANCELLED", "where": {"taskId": names[1]}})
        line = lines(daemon)[0]
        assert line["detail"] == f"from CANCELLED taskId={names[1]}" and "count" not in line, line
        daemon.dynamodb("CreateTable", TableName="Audited", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST")
        assert (lines(daemon)[0]["what"], lines(daemon)[0]["queue"]) == ("CreateTable", "Audited"), lines(daemon)[0]
        daemon.dynamodb("PutItem", TableName="Audited", Item={"id": {"S": "by a program"}})
        assert lines(daemon)[0]["what"] == "CreateTable", "writes of programs have no line"
        daemon.stop()
        daemon.options = ("--credentials", key)
        daemon.start()
        assert "--credentials" in freshet("pause", "QueueTable", status=1).stderr
        freshet("pause", "QueueTable", "--credentials", key)
        line = json.loads(freshet("audit", "--json", "--limit", 1, "--credentials", key).stdout)
        assert line["what"] == "pause" and line["who"] == "AKEXAMPLE", line
    finally:
        daemon.stop()


def all_kinds(binary, folder):
    daemon = Daemon(binary, folder, "--priority-queue", ROOT / "config/priority-queue.json", "--filtered-queue",
                    ROOT / "config/filtered-queue.json").start()
    try:
        freshet = Commands(daemon)
        rows = [(row["kind"], row["name"], row["state"]) for row in json.loads(freshet("queues", "--json").stdout)["queues"]]
        assert rows == [("tasks", "QueueTable", "running"), ("priority", "Express", "running"), ("priority", "Shipment", "running"),
                        ("filtered", "CallCenter", "running")], rows
        shown = freshet("queues").stdout.splitlines()
        assert len(shown) == 4 or shown[0].startswith("QUEUE"), shown
    finally:
        daemon.stop()


def as_printed(binary, folder):
    """The commands of docs/running-queues.md, in their order."""
    page = (ROOT / "docs/running-queues.md").read_text()
    commands = [line.strip() for line in page.splitlines() if line.startswith("    freshet ")]
    assert len(commands) >= 10, commands
    daemon = Daemon(binary, folder).start()
    try:
        freshet = Commands(daemon)
        complete(daemon, 20)  # A guard compares with what has ended.
        put(daemon, [f"t-{i}" for i in range(20)], group="acme")
        time.sleep(0.01)
        for command in commands:
            freshet(*["QueueTable" if word == "jobs" else word for word in shlex.split(command)[1:]])
    finally:
        daemon.stop()


if __name__ == "__main__":
    main(__doc__.splitlines()[0], "queues are run", pauses, bulk, copies, name_typed, interrupted, policy, guarded_policy, recorded_policy, killed, audited, all_kinds,
         as_printed)
