#!/usr/bin/env python3
"""Ordered writes through the real binary: the routes, the commands, parallel writers, a restart, and what the post's own
condition gets."""
import http.server
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time

from command_test import Commands
from daemon import ROOT, Daemon, Refused
from daemon import main as run_tests

PATH = "/ordered/Ratings"
KEY = {"PK": "User#1", "SK": "Movie#A"}


def now_ms():
    return time.time_ns() // 10**6


def started(binary, folder):
    return Daemon(binary, folder / "data", "--ordered-writes", ROOT / "config/ordered-writes.json", template=None).start()


def refused(daemon, path, document):
    try:
        daemon.call("POST", path, document)
    except Refused as error:
        return error
    raise AssertionError(f"{path} {document} was not refused")


def said(error):
    return str(error).replace("\\'", "'")


def routes(binary, folder):
    daemon = started(binary, folder)
    try:
        calls(daemon)
    finally:
        daemon.kill()


def calls(daemon):
    assert daemon.call("GET", "/ordered") == {"tables": ["Devices", "Ratings"]}
    at = now_ms()
    put = daemon.call("POST", PATH + "/put", {"item": {**KEY, "Rating": 5}, "timestamp": at})
    assert put == {"applied": True, "outcome": "APPLIED", "timestamp": at}, put
    late = daemon.call("POST", PATH + "/put", {"item": {**KEY, "Rating": 1}, "timestamp": at - 1})
    assert late["outcome"] == "OLDER" and late["found"]["Rating"] == 5 and "Movie#A" in late["detail"], late
    assert daemon.call("POST", PATH + "/get", {"key": KEY}) == {"item": {**KEY, "Rating": 5, "Timestamp": at}}
    typed_key = {"PK": {"S": "User#1"}, "SK": {"S": "Movie#A"}}
    typed = daemon.call("POST", PATH + "/get", {"key": typed_key, "typed": True})
    assert typed["item"]["Rating"] == {"N": "5"}, typed
    other = {"PK": "User#1", "SK": "Movie#B"}
    assert daemon.call("POST", PATH + "/put", {"item": {**other, "Rating": 3}})["timestamp"] >= at
    assert daemon.call("POST", PATH + "/delete", {"key": KEY, "timestamp": at + 1})["applied"]
    tombstone = {**KEY, "Timestamp": at + 1, "Deleted": True, "TTL": -(-(at + 1) // 1000) + 7 * 86400}
    assert daemon.call("POST", PATH + "/get", {"key": KEY}) == {"item": None}
    assert daemon.call("POST", PATH + "/get", {"key": KEY, "tombstones": True}) == {"item": tombstone}
    batch = daemon.call("POST", PATH + "/batch-get", {"keys": [KEY, other]})["items"]
    assert batch[0] is None and batch[1]["Rating"] == 3, batch
    assert daemon.call("POST", PATH + "/query", {"partition": "User#1"})["count"] == 1
    assert daemon.call("POST", PATH + "/query", {"partition": "User#1", "tombstones": True})["count"] == 2
    page = daemon.call("POST", PATH + "/query", {"keyCondition": "PK = :p", "values": {":p": "User#1"}, "limit": 1})
    assert page["items"] == [] and page["scanned"] == 1 and page["cursor"], page
    page = daemon.call("POST", PATH + "/query", {"partition": "User#1", "cursor": page["cursor"]})
    assert [item["SK"] for item in page["items"]] == ["Movie#B"], page
    scan = daemon.call("POST", PATH + "/scan", {"filter": "#r = :r", "names": {"#r": "Rating"}, "values": {":r": 3}})
    assert scan["count"] == 1 and scan["items"][0]["SK"] == "Movie#B", scan
    assert daemon.call("POST", "/ordered/Devices/put", {"item": {"device": "d", "reading": {"at": at}}})["timestamp"] == at
    assert daemon.call("POST", "/ordered/Devices/update", {"key": {"device": "d"}, "set": {"label": "x"}, "timestamp": at})["applied"]
    the_rows_of_the_post(daemon)
    bad_input(daemon, at)


def the_rows_of_the_post(daemon):
    # Years old; the shipped definition takes them.
    for pk, sk, rating, at in (("User#1", "Movie#A", 3, 1721769060000), ("User#1", "Movie#B", 4, 1721768150000),
                               ("User#2", "Movie#A", 1, 1721767220000), ("User#2", "Movie#Z", 5, 1721757100000)):
        row = {"PK": "post " + pk, "SK": sk, "Rating": rating, "Timestamp": at}
        assert daemon.call("POST", PATH + "/put", {"item": row})["applied"], row
    newer = {"PK": "post User#1", "SK": "Movie#A", "Rating": 5, "Timestamp": 1721770090000}
    assert daemon.call("POST", PATH + "/put", {"item": newer})["applied"]
    older = daemon.call("POST", PATH + "/put", {"item": {**newer, "Rating": 1, "Timestamp": 1721769060000}})
    assert older["outcome"] == "OLDER", older
    gone = {"PK": "post User#2", "SK": "Movie#Z"}
    assert daemon.call("POST", PATH + "/delete", {"key": gone, "timestamp": 1721757900000})["applied"]
    late = daemon.call("POST", PATH + "/put", {"item": {**gone, "Rating": 5, "Timestamp": 1721757100000}})
    assert late["outcome"] == "OLDER", late
    error = refused(daemon, "/ordered/Devices/put", {"item": {"device": "d", "reading": {"at": 1721757100000}}})
    assert "'outcome': 'TOO_OLD'" in said(error) and "old_timestamps" in said(error), error


def bad_input(daemon, at):
    item = {**KEY, "Rating": 2}
    for path, document, code in (
            ("/put", {"item": item, "timestamp": at // 1000}, "TOO_OLD"), ("/put", {"item": item, "timestamp": at * 1000}, "TOO_FAR_AHEAD"),
            ("/put", {"item": item, "timestamp": "soon"}, "INVALID"), ("/put", {"item": {**item, "Deleted": True}}, "INVALID"),
            ("/put", {"item": {"PK": "x"}}, "INVALID"), ("/put", {"item": {**KEY, "SK": 1}}, "INVALID"),
            ("/delete", {"key": {"PK": "x"}}, "INVALID"), ("/delete", {"key": item}, "INVALID"),
            ("/update", {"key": KEY, "set": {"Rating": 1}}, "INVALID")):
        error = refused(daemon, PATH + path, document)
        assert error.status == 400 and f"'outcome': '{code}'" in said(error), (path, document, error)
    assert "it looks like seconds" in said(refused(daemon, PATH + "/put", {"item": item, "timestamp": at // 1000}))
    error = refused(daemon, "/ordered/Devices/put", {"item": {"device": "d", "reading": {}}})
    assert "'reading.at'" in said(error), error
    error = refused(daemon, "/ordered/Devices/update", {"key": {"device": "d"}, "set": {}, "timestamp": at})
    assert "'label'" in said(error), error
    daemon.dynamodb("PutItem", TableName="Ratings", Item={"PK": {"S": "odd"}, "SK": {"S": "odd"}, "Timestamp": {"S": "x"}})
    error = refused(daemon, PATH + "/put", {"item": {"PK": "odd", "SK": "odd"}})
    assert error.status == 409 and "'Timestamp' is of type S" in said(error), error
    for path, document, status in (("/put", {}, 400), ("/put", {"item": 1}, 400), ("/put", {"item": item, "colour": 1}, 400),
                                   ("/put", {"item": item, "typed": True}, 400), ("/nothing", {}, 404), ("/get", {"key": []}, 400),
                                   ("/batch-get", {"keys": []}, 400), ("/batch-get", {"keys": [KEY] * 101}, 400),
                                   ("/query", {}, 400), ("/query", {"partition": "x", "keyCondition": "PK = :p"}, 400),
                                   ("/query", {"partition": "x", "cursor": "x"}, 400), ("/scan", {"limit": 0}, 400),
                                   ("/scan", {"filter": "Timestamp > :t", "values": {":t": 1}}, 400),
                                   ("/scan", {"names": []}, 400), ("/update", {"key": KEY, "remove": "x"}, 400)):
        error = refused(daemon, PATH + path, document)
        assert error.status == status, (path, document, error)
    assert refused(daemon, "/ordered/Nobody/get", {"key": KEY}).status == 404
    assert daemon.call("POST", PATH + "/get", {"key": KEY}) == {"item": None}, "nothing was changed"


def commands(binary, folder):
    daemon = started(binary, folder)
    try:
        freshet = Commands(binary, daemon, folder)
        item, key = json.dumps({**KEY, "Rating": 5}), json.dumps(KEY)
        at = json.loads(freshet("ordered", "put", item, "--json").stdout)["timestamp"]
        older = freshet("ordered", "put", item, "--timestamp", at - 1, status=4)
        assert json.loads(older.stdout)["outcome"] == "OLDER" and "newer" in older.stderr, older
        freshet("ordered", "put", item, "--timestamp", "yesterday", status=2)
        freshet("ordered", "put", "{PK", status=2)
        assert "--timestamp: must not be empty" in freshet("ordered", "put", item, "--timestamp", "", status=2).stderr
        number = "12345678901234567890.123456789"
        freshet("ordered", "put", '{"PK": "digits", "SK": "s", "n": %s, "more": [{"m": -%s}]}' % (number, number))
        digits = ("ordered", "get", '{"PK": "digits", "SK": "s"}')
        assert f'    "n": {number}\n' in freshet(*digits).stdout and f'"m":-{number}' in freshet(*digits, "--json").stdout
        assert json.loads(freshet("ordered", "query", "digits", "--filter", "n = :n", "--values", '{":n": %s}' % number).stdout)["count"] == 1
        assert "is not JSON in UTF-8" in freshet("ordered", "put", '{"PK": "\udcff"}', status=2).stderr
        freshet("ordered", "put", item, "--timestamp", at // 1000, status=4)
        assert json.loads(freshet("ordered", "get", key).stdout)["item"]["Rating"] == 5
        assert json.loads(freshet("ordered", "scan", "--filter", "Rating = :r", "--values", '{":r": 5}').stdout)["count"] == 1
        assert json.loads(freshet("ordered", "scan", "--projection", "Rating, #n", "--names", '{"#n": "n"}', "--json").stdout)["items"]
        counted = json.loads(freshet("ordered", "query", "User#1", "--count", "--json").stdout)
        assert counted["count"] == 1 and not counted.get("items"), counted
        freshet("ordered", "delete", key, "--timestamp", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60)))
        freshet("ordered", "get", key, status=3)
        assert json.loads(freshet("ordered", "batch-get", key, key, "--json").stdout) == {"items": [None, None]}
        assert json.loads(freshet("ordered", "query", "User#1", "--tombstones").stdout)["count"] == 1
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        freshet("ordered", "put", "--table", "Devices", json.dumps({"device": "d1", "reading": {"at": stamp}}))
        freshet("ordered", "update", "--table", "Devices", '{"device": "d1"}', '{"label": "cellar"}', "--timestamp", now_ms())
        seen = json.loads(freshet("ordered", "get", "--table", "Devices", '{"device": "d1"}').stdout)["item"]
        assert seen["label"] == "cellar", seen
        freshet("ordered", "update", "--table", "Devices", '{"device": "d1"}', "--remove", "label", "--timestamp", now_ms() + 1)
        freshet("ordered", "get", "--table", "Nobody", key, status=3)
        replays(freshet, folder)
    finally:
        daemon.kill()


def page(binary, folder):
    daemon = started(binary, folder)
    try:
        Commands(binary, daemon, folder).page("ordered-writes.md", {"- 60000": 4})
    finally:
        daemon.kill()


def replays(freshet, folder):
    fixtures = "streams/fixtures/ordered-ratings"
    shipped = ("ordered", "replay", f"{fixtures}.jsonl", "--definition", f"{fixtures}.json")
    freshet(*shipped, "--expect", f"{fixtures}.expected.jsonl")
    lines = freshet(*shipped, "--interleavings", 20, "--seed", 7, "--writers", 16).stdout.splitlines()
    last = json.loads(lines[-1])
    assert last["same"] == last["interleavings"] == 20 and last["outcomes"]["TOO_OLD"] > 0, last
    other = folder / "other.jsonl"
    other.write_text(lines[0] + "\n")
    assert "differs" in freshet(*shipped, "--expect", other, status=7).stderr
    freshet("ordered", "replay", folder / "nothing", status=2)


def the_posts_condition(binary, folder):
    """TIMESTAMP and TTL are reserved words: docs/compatibility.md has both forms."""
    daemon = started(binary, folder)
    try:
        put = {"TableName": "Ratings", "Item": {"PK": {"S": "User#1"}, "SK": {"S": "Movie#A"}, "Timestamp": {"N": "1721770090000"}},
               "ExpressionAttributeValues": {":ts": {"N": "1721770090000"}}}
        for word in ("Timestamp", "TTL"):
            try:
                daemon.dynamodb("PutItem", **put, ConditionExpression=f"attribute_not_exists({word}) OR :ts >= {word}")
                raise AssertionError("the reserved word was taken")
            except Refused as error:
                assert "Attribute name is a reserved keyword; reserved keyword: " + word in str(error), error
        works = {**put, "ConditionExpression": "attribute_not_exists(#ts) OR :ts >= #ts", "ExpressionAttributeNames": {"#ts": "Timestamp"}}
        daemon.dynamodb("PutItem", **works)
        works["ExpressionAttributeValues"] = {":ts": {"N": "1721770089999"}}
        try:
            daemon.dynamodb("PutItem", **works)
            raise AssertionError("an older one was taken")
        except Refused as error:
            assert "ConditionalCheckFailed" in str(error), error
    finally:
        daemon.kill()


def parallel_writers_and_a_restart(binary, folder):
    seed = int(os.environ.get("FRESHET_SEED", random.SystemRandom().randrange(2**32)))
    print(f"FRESHET_SEED={seed}", flush=True)
    rng = random.Random(seed)
    at = now_ms() - 60_000
    records = [(f"k{rng.randrange(12)}", at + i, rng.random() < 0.3, i) for i in range(400)]
    expected = {}
    for key, stamp, deleted, value in records:
        item = {"PK": key, "SK": "s", "Timestamp": stamp}
        expected[key] = {**item, "Deleted": True, "TTL": -(-stamp // 1000) + 7 * 86400} if deleted else {**item, "Rating": value}
    work = records + rng.sample(records, 200)
    rng.shuffle(work)
    daemon = started(binary, folder)

    def write(part):
        for key, stamp, deleted, value in part:
            if deleted:
                daemon.call("POST", PATH + "/delete", {"key": {"PK": key, "SK": "s"}, "timestamp": stamp})
            else:
                daemon.call("POST", PATH + "/put", {"item": {"PK": key, "SK": "s", "Rating": value}, "timestamp": stamp})

    def there():
        return {item["PK"]: item for item in daemon.call("POST", PATH + "/scan", {"tombstones": True})["items"]}

    try:
        writers = [threading.Thread(target=write, args=(work[i::8],)) for i in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert there() == expected, (there(), expected)
        daemon.kill()
        daemon.start()
        assert there() == expected
        write(work[:50])
        assert there() == expected
    finally:
        daemon.kill()


class SlowDaemon(http.server.ThreadingHTTPServer):
    """Answers ordered writes; of an item "slow" the first attempt only after the second has come, of "busy" the third."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), SlowHandler)
        self.seen, self.again = {}, threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class SlowHandler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = body.get("item", body.get("key"))["PK"]
        with self.server.again:
            attempts = self.server.seen.setdefault((self.path, name), [])
            attempts.append(body.get("timestamp"))
            number = len(attempts)
            self.server.again.notify_all()
            if name == "slow" and number == 1:
                self.server.again.wait_for(lambda: len(attempts) > 1)
        answer = {"outcome": "APPLIED", "attempt": number, "item": {"attempt": number}}
        refused = name == "busy" and number < 3 or name == "wrong"
        text = json.dumps({"error": {"message": "not now"}} if refused else answer).encode()
        self.send_response(400 if name == "wrong" else 503 if refused else 200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


def the_client_that_hedges(binary, folder):
    sys.path.insert(0, str(ROOT / "config/demo"))
    import ordered_client

    server = SlowDaemon()
    times = itertools.count(1)
    client = ordered_client.HedgedClient(f"http://127.0.0.1:{server.server_port}", "T", stamp=lambda: next(times), backoff=0.001)
    for i in range(20):
        assert client.put({"PK": f"w{i}"})["attempt"] == 1 and client.get({"PK": f"r{i}"}) == {"attempt": 1}
    assert client.writes.p95() is not None
    # A late read is sent a second time; both attempts of a write have the timestamp of the first.
    assert client.put({"PK": "slow"})["outcome"] == "APPLIED" and client.get({"PK": "slow"})["attempt"] in (1, 2)
    assert server.seen["/ordered/T/put", "slow"] == [21, 21] and client.writes.hedges >= 1 and client.reads.hedges >= 1
    # So are all attempts of one that is refused for now.
    assert client.delete({"PK": "busy"})["attempt"] >= 3 and client.writes.retries >= 1
    assert set(server.seen["/ordered/T/delete", "busy"]) == {22}
    try:
        client.put({"PK": "wrong"})
        raise AssertionError("a wrong call was answered")
    except ValueError as error:
        assert "not now" in str(error), error
    records = ordered_client.HedgedClient(f"http://127.0.0.1:{server.server_port}", "T", stamp=None)
    records.put({"PK": "own"})
    assert server.seen["/ordered/T/put", "own"] == [None], "its record says when it was"
    server.shutdown()
    server.server_close()
    daemon = started(binary, folder)
    try:
        run = subprocess.run([sys.executable, str(ROOT / "config/demo/ordered_client.py"), "--url", f"http://127.0.0.1:{daemon.port}",
                              "--count", "200"], capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run
        writes, reads, outcomes = map(json.loads, run.stdout.splitlines())
        assert writes["writes"] >= 200 <= reads["reads"] and sum(outcomes.values()) == 200, run
        assert set(outcomes) <= {"APPLIED", "OLDER"}, outcomes
        assert daemon.call("POST", PATH + "/scan", {})["count"] == 100
    finally:
        daemon.kill()


def wrong_definition(binary, folder):
    file = folder / "wrong.json"
    file.write_text('{"table": "Ratings", "unit": "days"}')
    run = subprocess.run([str(binary), "run", "--data", str(folder / "none"), "--listen", "127.0.0.1:0", "--ordered-writes", str(file)],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "'unit' must be seconds, milliseconds" in run.stderr, run
    assert not (folder / "none").exists()


if __name__ == "__main__":
    run_tests(__doc__, "ordered writes: routes, commands, parallel writers, restart", wrong_definition, page, routes, commands,
              the_posts_condition, parallel_writers_and_a_restart, the_client_that_hedges)
