#!/usr/bin/env python3
"""A fixture played into a live daemon (`freshet replay --into`): a queue's creations, a table's changes, and what is said of
calls that are refused, that get no answer, or that nobody wants any more."""
import http.server
import json
import os
import pathlib
import signal
import subprocess
import threading

from daemon import QUEUE, ROOT, Daemon, main

START = 1_767_225_600


def header(table, key):
    return {"freshet": "fixture", "version": 1, "table": table, "partitionKey": {"name": key, "type": "S"}, "start": "2026-01-01T00:00:00.000Z"}


def change(kind, seconds, image):
    return {"eventName": kind, "dynamodb": {"ApproximateCreationDateTime": START + seconds, "OldImage" if kind == "REMOVE" else "NewImage": image}}


def task(name, status="PENDING", **more):
    return {"taskId": {"S": name}, "taskStatus": {"S": status}, "taskCreated": {"N": str(START * 1000)}, **more}


def written(folder, *lines):
    path = folder / "fixture.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def play(binary, fixture, url, *options, status=0):
    run = subprocess.run([str(binary), "replay", str(fixture), "--into", url, *map(str, options)], capture_output=True, text=True, timeout=120,
                         env={name: value for name, value in os.environ.items() if not name.startswith("FRESHET_")})
    assert run.returncode == status, run
    return run


def url_of(daemon):
    return f"http://127.0.0.1:{daemon.port}"


def creates_the_tasks_of_a_queue(binary, folder):
    daemon = Daemon(binary, folder / "data").start()
    fixture = written(folder, header("QueueTable", "taskId"), {"snapshot": task("waits")}, {"snapshot": task("over", "DEAD")},
                      change("INSERT", 1, task("a", payload={"M": {"n": {"N": "1"}}}, deadline={"N": str((START + 3601) * 1000)},
                                               group={"S": "eu"}, own={"S": "x"})),
                      change("MODIFY", 2, task("a", "TAKEN")), change("INSERT", 900, task("b")), change("REMOVE", 901, task("b")))
    run = play(binary, fixture, url_of(daemon), "--speed", 1000, "--json")
    assert "payloads" not in run.stderr, run
    report = json.loads(run.stdout)
    assert (report["calls"], report["sent"], report["accepted"], report["refused"], report["unknown"]) == (3, 3, 3, {}, 0), report
    assert report["leftOut"] == {"changed after their creation": 1, "ended before the start": 1, "removed": 1}, report
    assert report["seconds"] >= 0.9, report
    assert sorted(one["taskId"] for one in daemon.tasks("PENDING")) == ["a", "b", "waits"]
    a = daemon.call("GET", QUEUE + "/tasks/a")
    assert (a["payload"], a["group"], a["own"]) == ({"n": 1}, "eu", "x"), a
    assert 3_500_000 < a["deadline"] - a["taskCreated"] <= 3_600_000, a
    # Existing items stay as they are.
    said = play(binary, fixture, url_of(daemon), "--speed", 1e6).stdout
    assert "accepted  3, 3 of them there already\n" in said and "refused   0\n" in said, said
    daemon.stop()


def says_what_was_refused(binary, folder):
    daemon = Daemon(binary, folder / "data", "--set", "ProcessTasksFunction.MAX_WAITING=2").start()
    fixture = written(folder, header("QueueTable", "taskId"), *(change("INSERT", 1, task(f"t{i}")) for i in range(5)))
    run = play(binary, fixture, url_of(daemon), "--speed", 1e6, "--connections", 1, status=5)
    said = run.stdout
    assert "the fixture holds no payloads" in run.stderr, run
    assert "accepted  2\n" in said and "refused   3: TooManyRequestsException 3\n" in said, said
    assert f"the first: {fixture}:4: " in said, said

    bad = written(folder, header("QueueTable", "taskId"), change("INSERT", 1, task("x", "Pending")))
    run = play(binary, bad, url_of(daemon), status=2)
    assert f"{bad}:2: taskStatus 'Pending' is no state (did you mean 'PENDING'?)" in run.stderr, run
    absent = written(folder, header("Nowhere", "id"))
    run = play(binary, absent, url_of(daemon), status=3)
    assert run.stderr == ("freshet: the daemon has no queue and no table 'Nowhere', which is the fixture's; --table NAME plays into another one; "
                          "of queues there is QueueTable\n"), run
    daemon.stop()
    run = play(binary, absent, url_of(daemon), status=6)
    assert "Is the daemon running?" in run.stderr and "--into names another address" in run.stderr and "--url" not in run.stderr, run


def plays_every_change_of_a_table(binary, folder):
    daemon = Daemon(binary, folder / "data", template=None).start()
    daemon.dynamodb("CreateTable", TableName="Copy", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
                    AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
    # Changes of one item keep their order, however many connections there are.
    lines = [header("Items", "id"), {"snapshot": {"id": {"S": "old"}}}]
    wanted = {"old": None}
    for number in range(300):
        name = f"item-{number % 7}"
        if number % 11 == 10:
            lines.append(change("REMOVE", number / 100, {"id": {"S": name}}))
            wanted.pop(name, None)
        else:
            lines.append(change("MODIFY", number / 100, {"id": {"S": name}, "n": {"N": str(number)}}))
            wanted[name] = number
    fixture = written(folder, *lines)
    report = json.loads(play(binary, fixture, url_of(daemon), "--table", "Copy", "--speed", 1e6, "--json").stdout)
    assert report["accepted"] == report["calls"] == 301 and report["leftOut"] == {}, report
    found = {item["id"]["S"]: int(item["n"]["N"]) if "n" in item else None for item in daemon.dynamodb("Scan", TableName="Copy")["Items"]}
    assert found == wanted, (found, wanted)
    other = written(folder, header("Copy", "name"))
    run = play(binary, other, url_of(daemon), status=2)
    assert "table Copy has the key id, and name in the fixture" in run.stderr, run
    daemon.stop()


def runs_the_command_of_the_documentation(binary, folder):
    line = next(line for line in (ROOT / "docs/formats.md").read_text().splitlines() if "freshet replay" in line and "--into" in line)
    daemon = Daemon(binary, folder / "data").start()
    words = line.replace("http://127.0.0.1:7070", url_of(daemon)).split()
    assert words[0] == "build/release/freshet", words
    run = subprocess.run([str(pathlib.Path(binary).resolve()), *words[1:]], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert run.returncode == 0 and "accepted  9\n" in run.stdout, run
    daemon.stop()


class Breaking(http.server.BaseHTTPRequestHandler):
    """A daemon that breaks off instead of answering what changes anything."""
    protocol_version = "HTTP/1.1"
    seen, arrived = [], threading.Event()

    def do_GET(self):
        body = b'{"queues": ["QueueTable"]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.seen.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["taskId"])
        self.arrived.set()
        self.close_connection = True

    def log_message(self, *_):
        pass


def repeats_nothing_and_counts_what_got_no_answer(binary, folder):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Breaking) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        fixture = written(folder, header("QueueTable", "taskId"), change("INSERT", 1, task("a")), change("INSERT", 2, task("b")))
        said = play(binary, fixture, url, "--speed", 1e6, status=6).stdout
        assert "unknown   2\n" in said and f"the first: {fixture}:" in said and sorted(Breaking.seen) == ["a", "b"], (said, Breaking.seen)
        server.shutdown()


def ends_when_nobody_wants_it_any_more(binary, folder):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Breaking) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        fixture = written(folder, header("QueueTable", "taskId"), change("INSERT", 0, task("a")), change("INSERT", 86_400, task("b")))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            Breaking.arrived.clear()
            player = subprocess.Popen([str(binary), "replay", str(fixture), "--into", f"http://127.0.0.1:{server.server_port}"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert Breaking.arrived.wait(60), "nothing was sent"
            player.send_signal(number)
            said = player.communicate(timeout=60)[0]
            assert player.returncode == 6 and said.startswith("sent      1 of 2 calls "), (number, player.returncode, said)
        server.shutdown()


def signs_its_requests(binary, folder):
    key = folder / "credentials"
    key.write_text("[default]\naws_access_key_id = AKEXAMPLE\naws_secret_access_key = a-secret-of-enough-letters\n")
    key.chmod(0o600)
    daemon = Daemon(binary, folder / "data", "--credentials", key, "--region", "eu-west-1").start()
    fixture = written(folder, header("QueueTable", "taskId"), change("INSERT", 1, task("a")))
    run = play(binary, fixture, url_of(daemon), "--speed", 1e6, status=1)
    assert "--credentials" in run.stderr, run
    play(binary, fixture, url_of(daemon), "--speed", 1e6, "--credentials", key)
    # The item store takes signatures for its region only.
    table = written(folder, header("Table", "id"), change("INSERT", 1, {"id": {"S": "a"}}))
    run = play(binary, table, url_of(daemon), "--credentials", key, status=1)
    assert "region" in run.stderr, run
    run = play(binary, table, url_of(daemon), "--credentials", key, "--region", "eu-west-1", status=3)
    assert "no queue and no table 'Table'" in run.stderr, run
    daemon.stop()


def refuses_options_that_mean_nothing(binary, folder):
    fixture = written(folder, header("QueueTable", "taskId"))
    for options, said in ((("--into", "localhost"), "is no address of a daemon"), (("--into", "http://127.0.0.1:1", "--speed", "0"), "--speed"),
                          (("--speed", "10"), "--into")):
        run = subprocess.run([str(binary), "replay", str(fixture), *options], capture_output=True, text=True, timeout=60)
        assert run.returncode == 2 and said in run.stderr, run


if __name__ == "__main__":
    main(__doc__, "what was recorded is played", creates_the_tasks_of_a_queue, says_what_was_refused, plays_every_change_of_a_table,
         runs_the_command_of_the_documentation,
         repeats_nothing_and_counts_what_got_no_answer, ends_when_nobody_wants_it_any_more, signs_its_requests,
         refuses_options_that_mean_nothing)
