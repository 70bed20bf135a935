#!/usr/bin/env python3
"""Filtered queues through the real binary: the routes, the commands, the shipped definition, and a restart."""
import json
import pathlib
import subprocess
import sys
import threading

import daemon as harness
from command_test import Commands
from daemon import ROOT, Daemon, Refused

PATH = "/filtered/CallCenter"
ELLEN = {"AgentName": "Ellen", "Gender": "F", "Languages": ["English", "French", "Spanish"]}
BILLY = {"AgentName": "Billy", "Gender": "M", "Languages": ["English"]}


def refused(daemon, method, path, document=None):
    try:
        daemon.call(method, path, document)
    except Refused as error:
        return error
    raise AssertionError(f"{method} {path} was not refused")


def routes(daemon):
    assert daemon.call("GET", "/filtered") == {"queues": ["CallCenter"]}
    put = daemon.call("POST", PATH + "/put", {"id": "a1", "attributes": ELLEN})
    assert (put["member"], put["status"], put["item"]["Languages"]) == ("a1", "available", ELLEN["Languages"]), put
    queued = daemon.call("POST", PATH + "/enqueue", {"id": "a1"})
    assert queued["queues"] == ["Q#English#F", "Q#French#F", "Q#Spanish#F"], queued
    given = daemon.call("POST", PATH + "/assign", {"match": [{"Languages": "Spanish", "Gender": ["M", "T"]}, "Q#French#F"]})
    assert (given["outcome"], given["member"], given["queue"]) == ("assigned", "a1", "Q#French#F"), given
    assert given["entry"]["AgentName"] == "Ellen", given
    assert daemon.call("POST", PATH + "/assign", {}) == {"outcome": "no-match"}
    waits = daemon.call("POST", PATH + "/assign", {"match": {"Languages": "French"}, "request": "r 1", "wait": True})
    assert waits == {"outcome": "waiting", "request": "r 1"}, waits
    assert daemon.call("GET", PATH + "/requests/r%201")["queues"] == ["Q#French#F", "Q#French#M", "Q#French#T"]
    error = refused(daemon, "POST", PATH + "/release", {"id": "a1", "assignment": "another"})
    assert (error.status, error.code) == (409, "ConflictException"), error
    again = daemon.call("POST", PATH + "/release", {"id": "a1", "assignment": given["assignment"], "enqueue": True})
    assert (again["status"], again["request"]) == ("attendingCall", "r 1"), again
    assert daemon.call("GET", PATH + "/requests")["requests"][0]["member"] == "a1"
    assert daemon.call("POST", PATH + "/release", {"id": "a1", "enqueue": True})["status"] == "queued"
    assert daemon.call("GET", PATH + "/members?status=queued&limit=1000")["members"][0]["queuedAt"]
    stats = {one["queue"]: one for one in daemon.call("GET", PATH + "/stats")["queues"]}
    assert len(stats) == 9 and stats["Q#French#F"] == {"queue": "Q#French#F", "values": {"Languages": "French", "Gender": "F"},
                                                       "version": 3, "depth": 1, "requests": 0}, stats
    assert daemon.call("POST", PATH + "/withdraw", {"id": "a1"})["status"] == "available"
    assert daemon.call("GET", PATH + "/recount") == {"right": True, "queues": 9, "entries": 0, "waiting": 0, "wrong": 0,
                                                     "differences": []}
    for path, document, status in (("/enqueue", {"id": "nobody"}, 404), ("/enqueue", {}, 400), ("/enqueue", {"id": 1}, 400),
                                   ("/put", {"id": "x", "attributes": [1]}, 400), ("/put", {"id": "x"}, 400),
                                   ("/put", {"id": "x", "attributes": dict(ELLEN, Gender="X")}, 400),
                                   ("/assign", {"match": 1}, 400), ("/assign", {"match": [[]]}, 400),
                                   ("/assign", {"match": ""}, 400), ("/assign", {"match": {"Gender": 1}}, 400),
                                   ("/assign", {"match": {"Colour": "red"}}, 400), ("/assign", {"wait": True}, 400),
                                   ("/assign", {"colour": 1}, 400), ("/cancel", {"id": "r 1"}, 404),
                                   ("/withdraw", {"id": "a1"}, 409), ("/nothing", {}, 404)):
        error = refused(daemon, "POST", PATH + path, document)
        assert error.status == status, (path, document, error)
    assert refused(daemon, "GET", PATH + "/members?colour=1").status == 400
    assert refused(daemon, "GET", PATH + "/requests?status=waiting").status == 400
    assert refused(daemon, "POST", "/filtered/Nobody/assign", {}).status == 404
    assert daemon.call("POST", PATH + "/delete", {"id": "a1"})["member"] == "a1"


def commands(freshet, daemon):
    freshet("filtered", "put", "a1", json.dumps(ELLEN))
    freshet("filtered", "put", "a2", json.dumps(BILLY))
    lines = freshet("filtered", "enqueue", "--all").stdout.splitlines()
    assert [json.loads(line)["member"] for line in lines] == ["a1", "a2"], lines
    words = ("Languages=Spanish", "Gender=M", "else", "Languages=English", "--request", "call-1", "--json")
    first = json.loads(freshet("filtered", "assign", *words).stdout)
    assert first["member"] == "a1", first
    assert json.loads(freshet("filtered", "assign", *words).stdout)["assignment"] == first["assignment"]
    assert json.loads(freshet("filtered", "assign", "Gender=T,M", "--json").stdout)["member"] == "a2"
    assert json.loads(freshet("filtered", "assign", "Q#French#F", "--json", status=3).stdout)["outcome"] == "no-match"
    freshet("filtered", "assign", "--request", "call-3", "--wait")
    assert json.loads(freshet("filtered", "release", "a1", "--enqueue", "--json").stdout)["request"] == "call-3"
    assert json.loads(freshet("filtered", "request", "call-3", "--json").stdout)["status"] == "assigned"
    assert "release it" in freshet("filtered", "cancel", "call-3", status=4).stderr
    assert len(freshet("filtered", "release", "--all").stdout.splitlines()) == 2
    run = freshet("filtered", "release", "--all")
    assert run.stdout == "" and run.stderr == "no member is attendingCall (--status names another status)\n", run
    assert "the id of a member, or --all" in freshet("filtered", "release", status=2).stderr
    for words, said in ((["=Spanish"], "'=Spanish' is neither NAME=VALUE nor the key of a queue"), ([""], "'' is neither"),
                        (["Gender=F", "Gender=M"], "'Gender=M' names 'Gender' again: Gender=A,B takes either"),
                        (["Gender="], "'Gender=' has an empty value: leave 'Gender' out to take any"), (["Gender=F,"], "empty value"),
                        (["else"], "'else' stands between two alternatives"), (["else", "Gender=F"], "'else' stands"),
                        (["Gender=F", "else"], "'else' stands"), (["Gender=F", "else", "else", "Gender=M"], "'else' stands"),
                        (["Q#French#F", "Gender=M"], "'Gender=M' needs an `else` before it"),
                        (["Gender=M", "Q#French#F"], "'Q#French#F' needs an `else` before it"),
                        (["Gender=F", "--request", ""], "--request: must not be empty"),
                        (["Colour=red"], "freshet: 'Colour' is no attribute of this queue; there are Languages, Gender\n"),
                        (["--wait"], "freshet: --wait needs --request ID: you ask for the member with that id later\n")):
        run = freshet("filtered", "assign", *words, status=2)
        assert said in run.stderr and run.stdout == "", (words, run)
    for command in ("get", "delete", "withdraw", "request", "cancel"):
        assert "id: must not be empty" in freshet("filtered", command, "", status=2).stderr, command
    assert "--status: must not be empty" in freshet("filtered", "list", "--status", "", status=2).stderr
    assert "--assignment: must not be empty" in freshet("filtered", "release", "a1", "--assignment", "", status=2).stderr
    assert "'Gender'" in freshet("filtered", "put", "a3", '{"Languages": ["English"]}', status=2).stderr
    number = "12345678901234567890.123456789"
    freshet("filtered", "put", "a4", json.dumps(BILLY)[:-1] + f', "badge": {number}}}')
    assert f'"badge": {number}' in freshet("filtered", "get", "a4").stdout
    freshet("filtered", "delete", "a4")
    assert "not valid UTF-8" in freshet("filtered", "put", "\udcff", json.dumps(BILLY), status=2).stderr
    freshet("filtered", "get", "nobody", status=3)
    for command in ("list", "requests"):
        run = freshet("filtered", command, "--cursor", "bad", status=2)
        assert "'cursor' is none that a page of this list ended with" in run.stderr and run.stdout == "", run
    assert "there are available, queued, attendingCall" in freshet("filtered", "list", "--status", "waiting", status=2).stderr
    run = freshet("filtered", "recount", "--queue", "Nowhere", status=3)
    assert "there is no filtered queue 'Nowhere'; there is CallCenter; --queue chooses another" in run.stderr, run
    freshet("filtered", "recount")
    # The daemon reports items that an SDK has changed.
    daemon.dynamodb("UpdateItem", TableName="AgentQueueFIFO", Key={"pk": {"S": "AllQueues"}, "sk": {"S": "Q#French#M"}},
                    UpdateExpression="ADD QueueDepth :one", ExpressionAttributeValues={":one": {"N": "1"}})
    wrong = json.loads(freshet("filtered", "recount", "--json", status=7).stdout)
    assert wrong["differences"] == ["item 'AllQueues / Q#French#M': QueueDepth is 1, but there are 0 entries"], wrong
    daemon.dynamodb("UpdateItem", TableName="AgentQueueFIFO", Key={"pk": {"S": "AllQueues"}, "sk": {"S": "Q#French#M"}},
                    UpdateExpression="ADD QueueDepth :one", ExpressionAttributeValues={":one": {"N": "-1"}})


def callers_and_a_kill(daemon):
    """Sixteen callers over the wire while the daemon is killed: who was answered has his member, and nobody else has."""
    for i in range(200):
        daemon.call("POST", PATH + "/put", {"id": f"m{i}", "attributes": dict(BILLY, Languages=["English", "Spanish"][: 1 + i % 2])})
        daemon.call("POST", PATH + "/enqueue", {"id": f"m{i}"})
    given, lock, enough = [], threading.Lock(), threading.Event()

    def caller():
        while not enough.is_set():
            try:
                answer = daemon.call("POST", PATH + "/assign", {"match": {"Gender": "M"}})
            except (OSError, Refused):
                return
            with lock:
                given.append(answer["member"])
                if len(given) > 60:
                    enough.set()

    threads = [threading.Thread(target=caller) for _ in range(16)]
    for thread in threads:
        thread.start()
    enough.wait(60)
    daemon.kill()
    for thread in threads:
        thread.join()
    daemon.start()
    assert len(given) == len(set(given)), "given twice"
    busy = {one["member"] for one in daemon.call("GET", PATH + "/members?status=attendingCall&limit=1000")["members"]}
    assert set(given) <= busy and len(busy) <= len(given) + 16, (len(given), len(busy))
    recount = daemon.call("GET", PATH + "/recount")
    assert recount["right"] and recount["entries"] > 0, recount


def wrong_definition(binary, folder):
    file = folder / "wrong.json"
    values = [f"v{i}" for i in range(50)]
    file.write_text(json.dumps({"table": "T", "attributes": [{"name": "A", "set": True, "values": values}]}))
    run = subprocess.run([str(binary), "run", "--data", str(folder / "none"), "--listen", "127.0.0.1:0", "--filtered-queue",
                          str(file)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "2 x 50 + 1 = 101 actions" in run.stderr, run
    assert not (folder / "none").exists()


def page(binary, folder):
    daemon = Daemon(binary, folder / "page", "--filtered-queue", ROOT / "config/filtered-queue.json", template=None).start()
    try:
        Commands(pathlib.Path(binary), daemon, folder).page("filtered-queue.md")
    finally:
        daemon.kill()


def whole(binary, folder):
    wrong_definition(binary, folder)
    page(binary, folder)
    daemon = Daemon(binary, folder / "data", "--filtered-queue", ROOT / "config/filtered-queue.json", template=None)
    daemon.start()
    try:
        freshet = Commands(pathlib.Path(binary), daemon, folder)
        freshet.environment["FRESHET_QUEUE"] = "CallCenter"
        routes(daemon)
        commands(freshet, daemon)
        callers_and_a_kill(daemon)
    finally:
        daemon.kill()


if __name__ == "__main__":
    sys.exit(harness.main(__doc__, "filtered queues: routes, commands, callers and a kill", whole))
