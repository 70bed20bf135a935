#!/usr/bin/env python3
"""Priority queues through the real binary: the routes, the commands, the console, and a restart."""
import argparse
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile

from command_test import Commands
from daemon import ROOT, Daemon, Refused

PATH = "/priority/Shipment"


def refused(daemon, method, path, document=None):
    try:
        daemon.call(method, path, document)
    except Refused as error:
        return error
    raise AssertionError(f"{method} {path} was not refused")


def routes(daemon):
    assert daemon.call("GET", "/priority") == {"queues": ["Express", "Shipment"]}
    put = daemon.call("POST", PATH + "/put", {"id": "A", "data": {"n": 1}, "status": "READY_TO_SHIP"})
    assert list(put)[:7] == ["errorMessage", "successful", "id", "return_value", "status", "last_updated_timestamp", "version"]
    assert put["item"]["data"] == {"n": 1} and put["version"] == 1, put
    assert daemon.call("POST", PATH + "/enqueue", {"id": "A", "priority": 3})["place"] == "ready"
    answer = daemon.call("POST", PATH + "/peek", {"max": 5, "visibilityMs": 60_000})
    (record,) = answer["records"]
    assert record["peeked_id"] == "A" and record["timestamp_milliseconds_utc"] > 2**40 and record["receipt"], record
    stats = daemon.call("GET", PATH + "/stats")
    assert stats["in_flight"] == 1 and stats["exact_counters"] and stats["total_records_in_queue"] == 1, stats
    error = refused(daemon, "POST", PATH + "/remove", {"id": "A", "receipt": "1-2"})
    assert error.status == 409, error
    empty = daemon.call("POST", PATH + "/peek", {})["records"][0]
    assert empty["return_value"] == "FAILED_EMPTY_QUEUE" and empty["peeked_id"] == "NOT FOUND", empty
    assert daemon.call("POST", PATH + "/extend", {"id": "A", "receipt": record["receipt"], "visibilityMs": 90_000})["successful"]
    assert daemon.call("POST", PATH + "/dlq", {"id": "A", "receipt": record["receipt"]})["status"] == "IN_DLQ"
    daemon.shows(PATH + "/dlq", {"first_100_IDs_in_queue": ["A"], "total_records_in_DLQ": 1})
    moved = daemon.call("POST", PATH + "/redrive", {"filter": "#d.n = :n", "names": {"#d": "data"}, "values": {":n": 1}})
    assert moved == {"moved": 1, "going_on": False, "refused": []}, moved
    assert daemon.call("POST", PATH + "/dequeue")["dequeue_id"] == "A"
    assert daemon.call("GET", PATH + "/records") == {"records": [{"id": "A", "status": "PROCESSING_SHIPMENT"}]}
    for path, document, status in (("/enqueue", {"id": "x"}, 404), ("/enqueue", {"id": ""}, 400),
                                   ("/enqueue", {"id": 1}, 400), ("/peek", {"max": 0}, 400), ("/nothing", {}, 404),
                                   ("/remove", {"id": "A", "colour": 1}, 400), ("/priority", {"id": "A"}, 400),
                                   ("/redrive", {"ids": {"a": "A"}}, 400), ("/redrive", {"ids": []}, 400),
                                   ("/redrive", {"filter": "#d = :n", "names": {"#d": 1}, "values": {":n": 1}}, 400),
                                   ("/redrive", {"names": "x"}, 400), ("/redrive", {"values": [1]}, 400)):
        assert refused(daemon, "POST", PATH + path, document).status == status, path
    assert refused(daemon, "POST", "/priority/Nobody/peek", {}).status == 404
    assert daemon.call("POST", PATH + "/delete", {"id": "A"})["successful"]


def commands(freshet, daemon):
    freshet("priority", "put", "B", '{"id": "B"}', "--status", "READY_TO_SHIP")
    assert json.loads(freshet("priority", "enqueue", "B", "--json").stdout)["version"] == 2
    peeked = json.loads(freshet("priority", "peek", "--json").stdout)["records"][0]
    empty = freshet("priority", "peek", "--json", status=3)
    assert json.loads(empty.stdout)["records"][0]["successful"] is False
    assert empty.stderr == "freshet: nothing in 'Shipment' can be peeked\n", empty
    stale = freshet("priority", "remove", "B", "--receipt", "1-2", "--json", status=4)
    assert "not held under this receipt" in stale.stderr and json.loads(stale.stdout)["return_value"] == "FAILED_ON_CONDITION"
    freshet("priority", "restore", "B", "--receipt", peeked["receipt"], "--released")
    freshet("priority", "get", "nobody", status=3)
    assert json.loads(freshet("priority", "stats", "--json").stdout)["ready"] == 1
    # Changes of an item by an SDK count too.
    daemon.dynamodb("DeleteItem", TableName="Shipment", Key={"id": {"S": "B"}})
    assert json.loads(freshet("priority", "stats", "--json").stdout)["ready"] == 0


def sample_commands(freshet, daemon):
    """The console's commands, each as a command of its own."""
    def asked(*words, status=0):
        return json.loads(freshet("priority", *words, "--json", status=status).stdout)

    tests = ["A-101", "A-202", "A-303", "A-404"]
    assert asked("create-test") == {"created": tests} == asked("ct")
    assert [one["id"] for one in asked("ls")["records"]] and asked("sys", "A-101")["status"] == "UNDER_CONSTRUCTION"
    assert asked("data", "A-101")["data_element_1"] == "Data 1" and list(asked("info", "A-101")) == ["id", "data", "system_info"]
    assert asked("id", "A-101") == asked("info", "A-101") and asked("system", "A-101") == asked("sys", "A-101")
    assert asked("enqueue", "A-101", status=4)["return_value"] == "FAILED_RECORD_NOT_CONSTRUCTED"
    assert asked("update", "A-101", "READY_TO_SHIP")["version"] == 2
    assert asked("ready", "A-202")["item"]["data"]["items"][0] == {"SKU": "Item-1", "is_packed": True}
    for record in ("A-101", "A-202"):
        asked("enqueue", record)
    assert asked("qstat")["first_100_IDs_in_queue"] == ["A-101", "A-202"] and asked("qstats")["total_records_in_queue"] == 2
    receipt = asked("peek")["records"][0]["receipt"]
    assert asked("fail", "A-101", "--receipt", receipt)["status"] == "READY_TO_SHIP"
    stale = asked("done", "A-101", "--receipt", receipt, status=4)
    assert stale["return_value"] == "FAILED_ON_CONDITION" and asked("sys", "A-101")["status"] == "READY_TO_SHIP", stale
    assert asked("invalid", "A-101")["status"] == "IN_DLQ" and asked("dlq")["total_records_in_DLQ"] == 1
    receipt = asked("peek")["records"][0]["receipt"]
    assert asked("done", "A-202", "--receipt", receipt)["status"] == "COMPLETED" and asked("qstat")["total_records_in_queue"] == 0
    assert asked("fail", "A-202", status=4)["return_value"] == "FAILED_ILLEGAL_STATE"
    assert asked("reset", "A-202")["status"] == "UNDER_CONSTRUCTION"
    for command in (("info", "nobody"), ("sys", "nobody"), ("ready", "nobody"), ("done", "nobody"), ("update", "nobody", "X")):
        run = freshet("priority", *command, status=3)
        assert "has no item with the id 'nobody'" in run.stderr, run
    for command in (("info", ""), ("done", ""), ("get", ""), ("done", "A-101", "--receipt", ""), ("redrive", "--filter", ""), ("redrive", "")):
        assert "must not be empty" in freshet("priority", *command, status=2).stderr, command
    assert set(tests) <= set(asked("purge")["removed"]) and asked("ls") == {"records": []}
    freshet("priority", "put", "D", '{"n": 0.12345678901234567890123}', "--attributes", '{"weight": 2}', "--status", "READY_TO_SHIP")
    assert asked("get", "D")["item"]["weight"] == 2
    assert '"n": 0.12345678901234567890123' in freshet("priority", "get", "D").stdout
    for record in ("D", "E", "F"):
        asked("put", record, '{"n": 1}', "--status", "READY_TO_SHIP")
        asked("enqueue", record)
        asked("send-to-dlq", record)
    words = ("redrive", "--filter", "#d.n = :n", "--names", '{"#d": "data"}', "--values", '{":n": 1}')
    assert [asked(*words, "--limit", 2)["moved"], asked(*words)["moved"]] == [2, 1]
    pages, cursor = [], ()
    while cursor is not None:
        page = asked("list", "--limit", 2, *cursor)
        pages.append([one["id"] for one in page["records"]])
        cursor = ("--cursor", page["cursor"]) if "cursor" in page else None
    assert sorted(sum(pages, [])) == ["D", "E", "F"] and len(pages) >= 2, pages
    # A status or a place that does not exist is a mistake, and the answer names the right ones.
    for words in (("put", "D", "--status", "NOPE"), ("upsert", "D", "--status", "NOPE"), ("set-status", "D", "NOPE")):
        run = freshet("priority", *words, status=4)
        assert "'NOPE' is no status of queue 'Shipment': there are UNDER_CONSTRUCTION, READY_TO_SHIP, " in run.stderr, run
    assert asked("get", "D")["status"] == "READY_TO_SHIP"
    assert "'cursor' is none that a page of this list ended with" in freshet("priority", "list", "--cursor", "bad", status=2).stderr
    asked("purge")


# The sample's own words and JSON, with its indentation.
CONSOLE = [
    ("ls", "     Shipment table is empty!\n"),
    ("sys", "     ERROR: `system` or `sys` command can be only used in the CLI's App mode. Call first `id <record-id>`\n"),
    ("nonsense", " ... unrecognized command!\n"),
    ("create-test", "      >> Creating shipment with ID : A-101\n      >> Creating shipment with ID : A-202\n"),
    ("id A-101", "     Shipment's [A-101] record dump\n{\n  \"id\" : \"A-101\",\n  \"data\" : {\n    \"id\" : \"A-101\",\n"
                 "    \"items\" : [ {\n      \"SKU\" : \"Item-1\",\n      \"is_packed\" : true\n    }, {\n"),
    ("enqueue", "     Queue stats\n{\n  \"first_100_IDs_in_queue\" : [ \"A-101\" ],\n  \"total_records_in_queue\" : 1,\n"),
    ("update DONE", "     Status change [DONE] is not applied!\n"),
    ("peek", "     Peek was successful ... record peeked is: [A-101]\n{\n  \"id\" : \"A-101\",\n"),
    ("peek", "     peek() has failed!\n Error message:\n{\n  \"errorMessage\" : \"Cannot proceed, queue is empty!\",\n"
             "  \"successful\" : false,\n"),
    ("invalid", "     Processing for ID [A-101] has failed .. invalid data! Send record to DLQ!\n     Queue status\n"),
    ("dlq", "     DLQ status\n{\n  \"first_100_IDs_in_queue\" : [ \"A-101\" ],\n  \"total_records_in_DLQ\" : 1\n}"),
    ("fail", "     Processing for ID [A-101] has failed! Put the record back to the queue!\n"),
    ("PEEK", "record peeked is: [A-101]"),
    ("done", "     Processing for ID [A-101] is completed successfully! Remove from the queue!\n"),
    ("sys", "  \"status\" : \"COMPLETED\",\n"),
    ("ready", "     Reseted system info:\n{\n  \"id\" : \"A-101\",\n"),
    ("id", "     Going back to standard CLI mode!\n"),
    ("purge", "     List of removed IDs:\n"),
]


def console(freshet):
    run = freshet("priority", "console", "--sample", stdin="\n".join(word for word, _ in CONSOLE) + "\nquit\n")
    assert run.stdout.startswith("===========================================================\n>> Welcome to Queueing"), run.stdout
    said = run.stdout
    for word, expected in CONSOLE:
        at = said.find(expected)
        assert at >= 0, (word, expected, run.stdout)
        said = said[at + len(expected):]
    assert said.endswith(">> CLI is ending\n\n\n"), said


def published_design(binary, folder):
    """The second definition: the indexes that the post names, and `queued` stays 1 while a record is in flight."""
    daemon = Daemon(binary, folder / "published", "--priority-queue", ROOT / "config/priority-queue-published.json",
                    template=None).start()
    try:
        table = daemon.dynamodb("DescribeTable", TableName="Shipment")["Table"]
        names = {index["IndexName"]: index["KeySchema"][0]["AttributeName"] for index in table["GlobalSecondaryIndexes"]}
        assert names["queued-last_updated_timestamp-index"] == "queued", names
        assert names["DLQ-last_updated_timestamp-index"] == "DLQ", names
        root = "/priority/Shipment"
        for record in ("A-1", "A-2"):
            daemon.call("POST", root + "/put", {"id": record, "status": "READY_TO_SHIP"})
            daemon.call("POST", root + "/enqueue", {"id": record})
        taken = daemon.call("POST", root + "/peek", {})["records"][0]
        assert taken["peeked_id"] == "A-1", taken
        item = daemon.dynamodb("GetItem", TableName="Shipment", Key={"id": {"S": "A-1"}})["Item"]
        assert item["queued"] == {"N": "1"} and item["system_info"]["M"]["queue_selected"] == {"BOOL": True}, item
        found = daemon.dynamodb("Query", TableName="Shipment", IndexName="queued-last_updated_timestamp-index",
                                KeyConditionExpression="queued = :one", ExpressionAttributeValues={":one": {"N": "1"}})
        assert [one["id"]["S"] for one in found["Items"]] == ["A-1", "A-2"], found
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def console_in_own_words(freshet):
    said = freshet("priority", "console", stdin="\n".join((
        "ls", "nonsense", "sys", "stat", "create-test", "id nobody", "id A-101", "update", "enqueue", "peek", "invalid",
        "fail", "peek", "done", "ready", "id", "connect", "help", "purge", "quit")) + "\n").stdout
    assert said.startswith("Freshet: priority queue 'Shipment' at http://127.0.0.1:"), said
    for expected in ("Type `help` for the commands, `quit` to end.", "Connected.", "Shipment> ", "The table has no records.",
                     "There is no such command; `help` lists what there is.", "`sys` needs a current record; `id <id>`",
                     "`stat` needs a current record", "There is no record nobody.", "Record A-101\n{", "Shipment A-101> ",
                     "`update` needs a status: READY_TO_SHIP.", "Record A-101 is in the dead-letter queue.",
                     "Record A-101 is back in the queue.", "Record A-101 is completed and out of the queue.",
                     "System info, begun anew:", "No record is the current one any more.", "> connect ", "Deleted records:"):
        assert expected in said, (expected, said)
    assert said.endswith("Bye.\n"), said
    for word in ("AWS", "Welcome", "CLI"):
        assert word not in said, (word, said)


def console_with_odd_items(freshet, daemon):
    """Items that no queue wrote do not end the console."""
    daemon.dynamodb("PutItem", TableName="Shipment", Item={"id": {"S": "bare"}, "data": {"S": "text"}})
    daemon.dynamodb("PutItem", TableName="Shipment", Item={"id": {"S": "odd"}, "system_info": {"S": "none"}})
    daemon.dynamodb("PutItem", TableName="Shipment", Item={"id": {"S": "numbered"}, "system_info": {"M": {"status": {"N": "1"}}}})
    words = [f"id {record}\n{word}" for record in ("bare", "odd", "numbered") for word in ("sys", "data", "info", "enqueue", "ready")]
    run = freshet("priority", "console", stdin="\n".join(words) + "\nid bare\nenqueue\npeek\ndone\npurge\nquit\n")
    assert "record peeked is: [bare]" in run.stdout and run.stdout.endswith("Bye.\n"), run


def console_on_terminal(freshet):
    """History is kept from one time to the next, and a command is completed by the tab key."""
    def talk(*keys):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(str(freshet.binary), [str(freshet.binary), "priority", "console"],
                      dict(freshet.environment, HOME=str(freshet.folder), TERM="xterm"))
        said = b""
        for key, until in keys:
            os.write(terminal, key)
            while until not in said:
                said += os.read(terminal, 4096)
            said = said[said.index(until) + len(until):]
        try:
            while os.read(terminal, 4096):
                pass
        except OSError:  # Linux: nobody has the other end open any more.
            pass
        os.close(terminal)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    talk((b"", b"Shipment> "), (b"create-t\t\n", b"Creating shipment with ID : A-404"), (b"", b"Shipment> "),
         (b"quit\n", b"Bye."))
    assert "create-test" in (freshet.folder / ".freshet_history").read_text()
    # Up twice: over `quit`, to what was completed.
    talk((b"", b"Shipment> "), (b"\x1b[A\x1b[A\n", b"Creating shipment with ID : A-404"), (b"", b"Shipment> "),
         (b"quit\n", b"Bye."))


def producer_and_consumer(daemon):
    def demo(program, *words):
        run = subprocess.run([sys.executable, str(ROOT / "config/demo" / program), "--url", f"http://127.0.0.1:{daemon.port}",
                              *words], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run
        return run.stdout.splitlines()

    assert demo("priority_producer.py", "--count", "3") == ["queued order-1", "queued order-2", "queued order-3"]
    said = demo("priority_consumer.py", "--work-ms", "0")
    assert said == [f"done order-{n} SUCCESS" for n in (1, 2, 3)] + ["Cannot proceed, queue is empty!"], said


def restart(daemon):
    for record in ("C", "D"):
        daemon.call("POST", PATH + "/put", {"id": record, "status": "READY_TO_SHIP"})
        daemon.call("POST", PATH + "/enqueue", {"id": record})
    receipt = daemon.call("POST", PATH + "/peek", {})["records"][0]["receipt"]
    daemon.kill()
    daemon.start()
    stats = daemon.call("GET", PATH + "/stats")
    assert (stats["ready"], stats["in_flight"], stats["exact_counters"]) == (1, 1, True), stats
    assert daemon.call("POST", PATH + "/remove", {"id": "C", "receipt": receipt})["successful"]


def wrong_definition(binary, folder):
    file = folder / "wrong.json"
    file.write_text('{"table": "T", "order": "size"}')
    run = subprocess.run([str(binary), "run", "--data", str(folder / "none"), "--listen", "127.0.0.1:0", "--priority-queue",
                          str(file)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "'order' must be timestamp" in run.stderr, run
    assert not (folder / "none").exists()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/freshet")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wrong_definition(arguments.binary, folder)
        published_design(arguments.binary, folder)
        daemon = Daemon(arguments.binary, folder / "data", "--priority-queue", ROOT / "config/priority-queue.json", template=None)
        daemon.start()
        try:
            freshet = Commands(arguments.binary, daemon, folder)
            freshet.environment["FRESHET_QUEUE"] = "Shipment"
            freshet.page("priority-queue.md")
            freshet("priority", "purge")
            routes(daemon)
            commands(freshet, daemon)
            sample_commands(freshet, daemon)
            console(freshet)
            console_in_own_words(freshet)
            console_with_odd_items(freshet, daemon)
            console_on_terminal(freshet)
            producer_and_consumer(daemon)
            restart(daemon)
        finally:
            daemon.kill()
    print("priority queues: routes, commands, console, restart")


if __name__ == "__main__":
    sys.exit(main())
