#!/usr/bin/env python3
"""The commands through the real binary: what scripts rely on."""
import argparse
import http.server
import json
import os
import pathlib
import pty
import re
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

from daemon import QUEUE, ROOT, Daemon, Refused

FIXTURE = ROOT / "streams/fixtures/burst.jsonl"


class Commands:
    def __init__(self, binary, daemon, folder):
        self.binary, self.folder, self.environment = binary, folder, dict(os.environ)
        self.environment["FRESHET_URL"] = f"http://127.0.0.1:{daemon.port}"

    def __call__(self, *words, status=0, stdin=None):
        run = subprocess.run([str(self.binary), *map(str, words)], input=stdin, capture_output=True, text=True, timeout=120,
                             env=self.environment, cwd=ROOT)
        assert run.returncode == status, (words, run)
        return run

    def page(self, page, others=()):
        """The commands that a page of docs/ shows, in their order; each ends with status 0, but for those `others`, which are
        named by a part of theirs, with their status. The daemon is there already."""
        url, others = self.environment["FRESHET_URL"], dict(others)
        shown = [line.strip() for line in (ROOT / "docs" / page).read_text().splitlines() if line.startswith("    ")]
        lines = [line for line in shown if re.match(r"(receipt=\$\()?build/release/freshet (?!run )|curl |python3 config/", line)]
        script = "\n".join(line.replace("build/release/freshet", str(self.binary)).replace("http://127.0.0.1:7070", url) + "; echo $? >&3"
                           for line in lines)
        with tempfile.TemporaryFile("w+") as statuses:
            # Descriptor 3 is free in a new shell, whatever number this process has for the file.
            run = subprocess.run(["bash", "-c", f"exec 3>&{statuses.fileno()}\n" + script], pass_fds=[statuses.fileno()], capture_output=True,
                                 text=True, timeout=300, env=self.environment, cwd=ROOT)
            statuses.seek(0)
            ended = [int(line) for line in statuses]
        expected = [next((status for part, status in others.items() if part in line), 0) for line in lines]
        assert lines and ended == expected, (list(zip(lines, ended)), run)

    def on_terminal(self, *words):
        """Standard error, as a terminal gets it."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([str(self.binary), *map(str, words)], stdout=subprocess.DEVNULL, stderr=theirs,
                                   env=self.environment, cwd=ROOT)
        os.close(theirs)
        said = b""
        try:
            while more := os.read(ours, 4096):
                said += more
        except OSError:  # Linux: nobody has the other end open any more.
            pass
        os.close(ours)
        assert process.wait(60) == 0, said
        return said.decode()


def put(freshet, daemon):
    answer = json.loads(freshet("put", "{}", "--deadline", 4102444800000, "--max-attempts", 7, "--json").stdout)
    task = daemon.call("GET", f"{QUEUE}/tasks/{answer['taskId']}")
    assert task["deadline"] == 4102444800000 and task["maxAttempts"] == 7, task

    sent = time.time() * 1000
    answer = json.loads(freshet("put", "{}", "--deadline", "5m", "--json").stdout)
    task = daemon.call("GET", f"{QUEUE}/tasks/{answer['taskId']}")
    assert sent + 299_000 < task["deadline"] < time.time() * 1000 + 301_000, task
    answer = json.loads(freshet("put", "{}", "--deadline", "2099-12-01T10:00Z", "--json").stdout)
    assert daemon.call("GET", f"{QUEUE}/tasks/{answer['taskId']}")["deadline"] == 4099802400000
    assert "5s for seconds from now" in freshet("put", "{}", "--deadline", "5", status=2).stderr
    assert "has no zone" in freshet("put", "{}", "--deadline", "2099-12-01T10:00", status=2).stderr
    past = freshet("put", "{}", "--deadline", "2020-12-01T10:00Z", status=2).stderr
    assert "the task would be too late: its deadline, 1606816800000" in past and " days ago;" in past, past
    never = freshet("put", "{}", "--deadline", "5s", "--delay", 5, status=2).stderr
    assert "it could never start" in never, never

    refused = freshet("put", '{"event": "delivered", parcel: FR1}', status=2)
    assert "begins like JSON" in refused.stderr, refused

    assert "the payload is empty" in freshet("put", "", status=2).stderr
    assert "one of them" in freshet("put", "{}", "--file", "-", status=2, stdin="").stderr
    assert freshet("put", stdin="").stdout == "0 created\n"  # A filter may well leave nothing.
    assert "cannot read '/': Is a directory" in freshet("put", "--file", "/", status=2).stderr
    (freshet.folder / "empty").write_text("")
    assert freshet("put", "--file", freshet.folder / "empty").stdout == "0 created\n"
    assert "--rate is for many tasks" in freshet("put", "{}", "--rate", "5", status=2).stderr
    for words in (["--ttl", "10m"], ["--ttl", "60"], ["--delay", "1h"], ["--delay", "0.5"]):
        freshet("put", "{}", "--id", "in" + words[1], *words)
    task = json.loads(freshet("get", "in1h", "--json").stdout)
    assert task["notBefore"] - task["taskCreated"] == 3_600_000, task
    assert "nor a duration like 500ms, 60s or 10m" in freshet("put", "{}", "--ttl", "10x", status=2).stderr
    assert "'400d' is out of range: it must be at most 366d" in freshet("put", "{}", "--delay", "400d", status=2).stderr
    assert freshet("put", "-", stdin='{"taskId": "dash"}\n').stdout == "1 created\n"
    assert "--id is a single task's" in freshet("put", "--id", "x", status=2, stdin='{"payload": 1}\n').stderr
    assert "; this daemon has QueueTable; --queue chooses another" in freshet("put", "{}", "--queue", "Other", status=3).stderr

    # A request of many lines that is refused: by the line, and what is lost with it.
    lines = ['{"taskId": "ok"}', "", '{"taskId": "bad", "prio": 1}', '{"taskId": "after"}']
    run = freshet("put", "--file", "-", stdin="\n".join(lines), status=2)
    assert "freshet: line 3: 'prio' is not known" in run.stderr and "/queues/" not in run.stderr, run.stderr
    assert "freshet: of lines 1 to 4 nothing was created" in run.stderr and "tasks[" not in run.stderr, run.stderr
    # Lines behind a refused request are not read.
    run = freshet("put", "--file", "-", "--batch", 2, stdin="\n".join(lines), status=2)
    assert "of lines 1 to 3 nothing was created" in run.stderr and "the lines behind line 3 were not read" in run.stderr, run.stderr
    run = freshet("put", "--file", "-", stdin='{"taskId": "fine"}\nno JSON\n{"taskId": "behind"}\n', status=2)
    assert "the lines behind line 2 were not read" in run.stderr and run.stdout == "1 created\n", run
    # One task of a request that is carried out.
    big = json.dumps({"taskId": "big", "payload": "x" * 500_000})
    run = freshet("put", "--file", "-", "--json", stdin="\n" + big + '\n{"taskId": "small"}\n', status=2)
    refused, made = map(json.loads, run.stdout.splitlines())
    assert refused["line"] == 2 and refused["error"]["code"] and made == {"taskId": "small", "created": True}, run.stdout
    assert "freshet: line 2: " in freshet("put", "--file", "-", stdin="\n" + big, status=2).stderr


def redrive(freshet, daemon):
    ids = [f"r{i}" for i in range(1200)]
    for some in (ids[:600], ids[600:]):
        daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": i} for i in some]})
        daemon.call("POST", QUEUE + "/cancel", {"taskIds": some})
    said = freshet.on_terminal("redrive", "--state", "CANCELLED", "--limit", 1100)
    assert "1000 back to PENDING" in said, said
    assert daemon.stats()["depth"]["CANCELLED"] == 100
    run = freshet("redrive", "--state", "CANCELLED", "--limit", 5000, "--json")
    assert json.loads(run.stdout) == {"redriven": 100} and run.stderr == "", run


def done_is_not_redriven(freshet, daemon):
    daemon.call("POST", QUEUE + "/tasks", {"taskId": "done"})
    took, = daemon.call("POST", QUEUE + "/take", {"max": 1})["tasks"]  # The newest.
    daemon.call("POST", QUEUE + "/settle", {"settle": [{"taskId": "done", "lease": took["lease"], "outcome": "complete"}]})
    for name in ("redrive", "cancel"):
        assert freshet(name, "done", status=4).stderr.startswith("freshet: "), name


def many_ids(freshet, daemon):
    ids = [f"m{i}" for i in range(2300)]
    for some in (ids[:1000], ids[1000:2000], ids[2000:]):
        daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": i} for i in some]})
    run = freshet("cancel", *ids)
    assert run.stdout.splitlines() == [f"{i} CANCELLED" for i in ids], run
    run = freshet("cancel", *ids[:1000], "not-there", status=3)
    assert len(run.stdout.splitlines()) == 1000 and "not-there" in run.stderr, run
    run = freshet("redrive", "--state", "CANCELLED", "--limit", 5000, "--json", *ids[:2100])
    assert json.loads(run.stdout) == {"redriven": 2100}, run
    run = freshet("redrive", "--state", "CANCELLED", "--limit", 50, *ids[1000:], status=4)
    assert "50 back to PENDING" in run.stdout and daemon.stats()["depth"]["CANCELLED"] >= 150, run
    assert "1100 of 1150 are not CANCELLED, and stay as they are (--state names another state)\n" in run.stderr, run
    assert "--limit 50: left are the ids from 'm2150' on (150 of 1300)" in run.stderr, run
    freshet("cancel", *ids)
    # All that are named, however many, unless --limit is given.
    # One that is named twice is one task.
    run = freshet("redrive", "--state", "CANCELLED", *ids, *ids[:1])
    assert run.stdout == "2300 back to PENDING\n" and daemon.stats()["depth"]["CANCELLED"] == 0, run
    assert run.stderr == "", run
    run = freshet("redrive", "--state", "CANCELLED", ids[0], ids[0], status=4)
    assert run.stderr == "freshet: 1 of 1 are not CANCELLED, and stay as they are (--state names another state)\n", run
    run = freshet("cancel", ids[0], ids[0])
    assert run.stdout == f"{ids[0]} CANCELLED\n", run
    # Tasks that --where does not choose stay, as it says.
    run = freshet("redrive", "--state", "CANCELLED", ids[0], "--where", "group=none")
    assert run.stdout == "0 back to PENDING\n" and "1 of 1 are not CANCELLED or not as --where says" in run.stderr, run
    freshet("cancel", *ids)
    # An id that is not there ends it: what is left is said.
    run = freshet("redrive", "--state", "CANCELLED", *ids[:1000], "not-there", *ids[1000:], status=3)
    assert "1000 had gone back to PENDING before that" in run.stderr, run
    assert "not all was redriven: left are the ids from 'not-there' on (1301 of 2301)" in run.stderr, run
    freshet("cancel", *ids)


def full_disk(freshet, daemon):
    """Output that cannot be written is a failure, and no loop continues behind it. A closed pipe ends a command by
    SIGPIPE."""
    daemon.call("POST", QUEUE + "/tasks", {"taskId": "full"})
    for words in (["get", "full"], ["list"], ["stats"], ["stats", "--watch", "0.01"], ["stats", "--json", "--watch", "0.01"],
                  ["explain", "full"], ["put", "{}"], ["put", "{}", "--json"], ["cancel", "full"], ["redrive"], ["replay", FIXTURE],
                  ["record", "--seconds", "0.01"], ["watch", "--json"], ["logs", "--all"], ["logs", "--all", "-f"], ["--help"],
                  ["put", "--help"], ["--version"], ["deploy", "config/lifo.yaml", "--dry-run", "--json"]):
        with open("/dev/full", "w") as full:
            process = subprocess.Popen([freshet.binary, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True,
                                       env=freshet.environment, cwd=ROOT)
            if words[0] == "watch":
                assert process.stderr.readline().startswith("watching ")
                daemon.call("POST", QUEUE + "/tasks", {"taskId": "moves"})
            said = process.communicate(timeout=60)[1]
        assert process.returncode == 1 and "cannot write" in said, (words, process.returncode, said)
    closed = subprocess.run(["bash", "-c", '"$0" list --json >&-', freshet.binary], capture_output=True, text=True, env=freshet.environment)
    assert closed.returncode == 1 and "cannot write to standard output" in closed.stderr, closed
    # A command that fails for another reason keeps its status.
    with open("/dev/full", "w") as full:
        run = subprocess.run([freshet.binary, "filtered", "recount", "--queue", "none"], stdout=full, stderr=subprocess.PIPE,
                             env=freshet.environment)
    assert run.returncode == 3, run
    daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": f"long{i}", "payload": "x" * 1000} for i in range(500)]})
    piped = subprocess.run(["bash", "-c", '"$0" list --limit 1000 --json | true; echo ${PIPESTATUS[0]}', freshet.binary],
                           capture_output=True, text=True, env=freshet.environment)
    assert piped.stdout == "141\n", piped


def wrong_words(freshet):
    for words, said in ((["lst"], "'lst' is no command; did you mean 'list'?\nThere are serve, put, get, "),
                        (["frobnicate"], "'frobnicate' is no command\nThere are serve, put, "),
                        (["help"], "freshet: 'help' is no command; did you mean '--help'?\nThere are serve, put, "),
                        (["run", "--allowed-host", "https://queue.example"], "'https://queue.example' is no host name: write it without http:// and path, "
                         "like queue.example.com\n"),
                        (["run", "--allowed-host", "queue.example:443"], "'queue.example:443' names a port: write the host name alone\n"),
                        (["version"], "freshet: 'version' is no command; did you mean '--version'?\n"),
                        (["run", "emails"], "freshet: the template: cannot read 'emails': No such file or directory; freshet serve emails runs a queue without "
                                            "a template\n"),
                        (["-v"], "freshet: there is no option -v; freshet --help lists them\n"),
                        (["bench", "overlod"], "freshet bench: 'overlod' is no command; did you mean 'overload'?\nThere is overload; "),
                        (["stats", "--url", "http://127.0.0.1:70700"], "the port must be a number from 0 to 65535 (like http://127.0.0.1:7070)\n"),
                        (["stats", "--url", "http://none.invalid:7070"], "Is the name of the host right? --url (or FRESHET_URL) is the daemon's address\n"),
                        (["stats", "--ca", "/nowhere"], "cannot use the certificates of '/nowhere': No such file or directory\n"),
                        (["put", "--file", "/nowhere"], "freshet: cannot read '/nowhere': No such file or directory\n"),
                        (["invoke", "Greet", "--event", "{}"], "freshet: --event: cannot read '{}': No such file or directory; --event takes a "
                         "file, and the event itself stands without --event, as in freshet invoke Greet '{\"name\": \"Ada\"}'\n"),
                        (["ordered", "query"], "freshet: which items? Name the key of a partition, as in freshet ordered query User#1, or give "
                         "--key-condition\n"),
                        (["priority", "enqueue", "A", "--delay-ms", "5s"], "freshet priority enqueue: --delay-ms: '5s' is not a number of "
                         "milliseconds (like 5000, without a unit)\nfreshet priority enqueue --help explains the options.\n"),
                        (["run", "--config", "/nowhere"], "freshet run: --config: cannot read '/nowhere': No such file or directory\n"),
                        (["run", "--max-data-bytes", "2GBB"], "--max-data-bytes: '2GBB' is not a size, like 4096, 64KiB or 2GB\n"),
                        (["run", "config/lifo.yaml", "--parameter", "A"], "--parameter 'A' must be NAME=VALUE\n"),
                        (["run", "--durability", "x"], "--durability 'x' must be sync, interval:MS (1 to 60000) or none\n"),
                        (["logs", "--where", "a"], "freshet logs: --where: 'a' must be NAME=VALUE\n"),
                        (["priority", "peekk"], "freshet priority: 'peekk' is no command; did you mean 'peek'?\nThere are put, "),
                        (["filtered"], "freshet filtered: a command is missing\nThere are "),
                        ([], "a command is missing\nThere are serve, put, "),
                        (["put", "x", "--priorty", 3], "freshet put: there is no option --priorty (did you mean '--priority'?); freshet put --help"),
                        (["priority", "peek", "--queu=A"], "freshet priority peek: there is no option --queu (did you mean '--queue'?)"),
                        (["serve", "x", "--pull", "--tls-certificate", "c"], "there is no option --tls-certificate (did you mean '--tls-cert'?); "),
                        (["serve", "x", "--pull", "--tls", "c"], "there is no option --tls (did you mean '--tls-cert' or '--tls-key'?); "),
                        (["put", "x", "--nothing-like-it", 3], "freshet put: there is no option --nothing-like-it; freshet put --help"),
                        (["put", "x", "y", "z"], "freshet put: 'y' is one argument too many; freshet put --help"),
                        (["run", "--data", "a", "--data", "b"], "freshet run: --data is given twice; it takes one value\nfreshet run --help"),
                        (["put", "x", "--rate"], "freshet put: --rate needs a value\n"),
                        (["get"], "freshet get: id is missing (Task id)\n"),
                        (["get", "a", "--json=x"], "freshet get: --json takes no value\n"),
                        (["bench", "overload", "--durability", "none"], "freshet bench overload: --durability works only with --real\n"),
                        (["bench", "overload", "--load", "2,,3"], "--load: '2,,3' has an empty member: write it like A,B\n"),
                        (["bench", "overload", "--load", "x"], "--load: 'x' is not a number\n"),
                        (["bench", "overload", "--real", "--record", "/nowhere"], "--record: there is no folder '/nowhere'\n"),
                        (["simulate", FIXTURE, "--set", "RATE_LIMIT"], "--set 'RATE_LIMIT' must be NAME=VALUE, like --set RATE_LIMIT=19"),
                        (["simulate", FIXTURE, "--downstream", "bucket 3"], "has the unknown limiter 'bucket': write none, or"),
                        (["simulate", "x", "--policy", "fifo,"], "--policy: 'fifo,' has an empty member: write it like A,B\n"),
                        (["list", "--state", "PENDNG"], "is none of PENDING, TAKEN, DELAYED, SUCCESS, FAILURE, DEAD, CANCELLED, SHED (did you mean 'PENDING'?)"),
                        (["redrive", "--state", "succes"], "'succes' is none of DEAD, FAILURE, CANCELLED, SHED\n"),
                        (["run", "--listen", "0.0.0.0:7070"], "'0.0.0.0:7070': an address beyond loopback needs --credentials FILE"),
                        (["stats", "--url", "http://127.0.0.1:1"], "Is the daemon running? freshet serve NAME or freshet run TEMPLATE starts one; --url"),
                        (["run", "config/lifo.yaml", "--set", "ProcessTasksFunction.TASK_RUNER=fake"],
                         "config/lifo.yaml: --set ProcessTasksFunction.TASK_RUNER: the built-in function does not read 'TASK_RUNER' "
                         "(did you mean 'TASK_RUNNER'?)\n"),
                        (["redrive", "--limit", 0], "--limit: '0' is not a whole number from 1 to 4294967295"),
                        (["get", ""], "id: must not be empty"), (["explain", ""], "id: must not be empty"),
                        (["cancel", "a", ""], "ids: must not be empty"), (["redrive", ""], "ids: must not be empty"),
                        (["invoke", "", "{}"], "function: must not be empty"), (["put", "{}", "--id", ""], "--id: must not be empty"),
                        (["put", "{}", "--key", ""], "--key: must not be empty"),
                        (["list", "--limit", -1], "--limit: '-1' is not a whole number from 1 to"),
                        (["put", "x", "--ttl", 0], "--ttl: '0' is not a number above 0"),
                        (["put", "x", "--ttl", "1e999"], "--ttl: '1e999' is not a number above 0"),
                        (["run", "--segment-bytes", 5], "--segment-bytes: '5' is not a whole number from 1048576 to 4294967296"),
                        (["run", "--max-memory-bytes", -1], "--max-memory-bytes: '-1' is not a size, like 4096, 64KiB or 2GB"),
                        (["run", "--max-data-bytes", "99999999999999999999"], "--max-data-bytes: '99999999999999999999' is not a size"),
                        (["simulate", "x", "--seed", -1], "--seed: '-1' is not a whole number from 0 to 2^64 - 1"),
                        (["replay", FIXTURE, "--seed", "1.5"], "--seed: '1.5' is not a whole number from 0 to 2^64 - 1"),
                        (["ordered", "replay", "--seed", "x"], "--seed: 'x' is not a whole number from 0 to 2^64 - 1"),
                        (["bench", "overload", "--first-seed", "18446744073709551616"],
                         "--first-seed: '18446744073709551616' is not a whole number from 0 to 2^64 - 1"),
                        (["run", "--io-threads", "many"], "--io-threads: 'many' is not a whole number from 1 to 64")):
        run = freshet(*words, status=6 if words[1:2] == ["--url"] and "70700" not in words[2] else 2)
        assert said in run.stderr, (words, run)
    # The existence of the table is known only when the store is open.
    run = freshet("run", "--data", ":memory:", "--listen", "127.0.0.1:0", "--queue", "None", status=1)
    assert "freshet: --queue None: there is no table 'None', neither in the template nor in the data folder\n" in run.stderr, run


def other_server(freshet):
    """A server that is no Freshet, and answers everything with 200."""
    with socketserver.TCPServer(("127.0.0.1", 0), Greeter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for words in (["stats"], ["put", "{}"], ["list"], ["logs"], ["logs", "-f"], ["watch"], ["record"]):
            run = freshet(*words, "--url", f"http://127.0.0.1:{server.server_address[1]}", status=1)
            assert "not as Freshet does" in run.stderr, run
        server.shutdown()
    odd = (b"[]", b'{}', b'"x"', b'{"error": "x"}', b'{"error": {"code": 5}}', b'{"__type": 5}', b'{"tasks": 5, "results": 5, "depth": 5}')
    for Greeter.status, Greeter.said in ((status, said) for status in (200, 404) for said in odd):
        with socketserver.TCPServer(("127.0.0.1", 0), Greeter) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            for words in (["stats"], ["list"], ["cancel", "x"], ["deploy", "config/lifo.yaml"], ["bench", "--seconds", "1"]):
                run = subprocess.run([freshet.binary, *words, "--url", f"http://127.0.0.1:{server.server_address[1]}"], capture_output=True,
                                     timeout=60, cwd=ROOT)
                said = b"not as Freshet does", b"gave 404", Greeter.said  # Our own words, or the other server's.
                told = run.returncode == 1 and any(one in run.stderr for one in said)
                assert told, (words, Greeter.status, Greeter.said, run)
            server.shutdown()


def wrong_files_and_tables(freshet):
    """Mistakes of the first hour, each with what would be right."""
    for words in (["run", "config/freshet.conf", "--data", ":memory:"], ["deploy", "config/freshet.conf"]):
        run = freshet(*words, status=2)
        assert run.stderr.count("\n") == 1 and "goes to --config" in run.stderr, run
    for words in (["watch", "--queue", "Nowhere"], ["record", "--table", "Nowhere"]):
        assert "there is no table 'Nowhere'; of this daemon's queues there " in freshet(*words, status=3).stderr
    assert "cannot write '/nowhere/x': No such file or directory" in freshet("record", "--out", "/nowhere/x", status=2).stderr
    assert "single ones around all of it" in freshet("ordered", "get", "x", status=2).stderr


def answers_without_body(freshet):
    """As proxies give them: the status and what to do about it are named."""
    for status, told in ((302, "not one that redirects"), (401, "--credentials FILE"), (404, "without a path"),
                         (502, "cannot answer now; try again")):
        Greeter.status, Greeter.said = status, b""
        with socketserver.TCPServer(("127.0.0.1", 0), Greeter) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            run = freshet("stats", "--url", f"http://127.0.0.1:{server.server_address[1]}", status=1)
            assert f"the answer has status {status} and no body" in run.stderr and told in run.stderr, run
            server.shutdown()


def queues_of_another_kind(binary, folder):
    """A name of another kind of queue, from an option or from the variable that all kinds read."""
    daemon = Daemon(binary, folder / "kinds", "--priority-queue", ROOT / "config/priority-queue.json", "--filtered-queue",
                    ROOT / "config/filtered-queue.json", "--ordered-writes", ROOT / "config/ordered-writes.json")
    try:
        freshet = Commands(binary, daemon.start(), folder)
        for queue, words, is_a, use, wanted in (
                ("Shipment", ["stats"], "a priority queue", "freshet priority", "a queue of tasks"),
                ("QueueTable", ["priority", "stats"], "a queue of tasks", "freshet stats", "a priority queue"),
                ("CallCenter", ["put", "{}"], "a filtered queue", "freshet filtered", "a queue of tasks"),
                ("Shipment", ["filtered", "stats"], "a priority queue", "freshet priority", "a filtered queue")):
            said = freshet(*words, "--queue", queue, status=3).stderr
            assert f"'{queue}' is {is_a}: use " in said and use in said and f"or name {wanted} with --queue (there " in said, said
            freshet.environment["FRESHET_QUEUE"] = queue
            said = freshet(*words, status=3).stderr
            assert f"FRESHET_QUEUE names '{queue}', which is {is_a}: use " in said, said
            assert f"or name {wanted} with --queue, or change FRESHET_QUEUE (there " in said, said
            del freshet.environment["FRESHET_QUEUE"]
        freshet.environment["FRESHET_ORDERED_TABLE"] = "QueueTable"
        said = freshet("ordered", "scan", status=3).stderr
        assert "FRESHET_ORDERED_TABLE names 'QueueTable', which is a queue of tasks: use " in said, said
        assert "a table with ordered writes with --table, or change FRESHET_ORDERED_TABLE (there are Devices, Ratings)" in said, said
    finally:
        daemon.kill()
    # Where there is none of the kind that the command is for, too.
    daemon = Daemon(binary, folder / "tasks")
    try:
        freshet = Commands(binary, daemon.start(), folder)
        freshet.environment["FRESHET_QUEUE"] = "QueueTable"
        for kind in ("priority", "filtered"):
            said = freshet(kind, "stats", status=3).stderr
            assert "FRESHET_QUEUE names 'QueueTable', which is a queue of tasks: use " in said, said
            assert f"(there is none yet: freshet run --{kind}-queue FILE defines some)" in said, said
        del freshet.environment["FRESHET_QUEUE"]
        said = freshet("priority", "stats", status=3).stderr
        assert "there is no priority queue 'Shipment'; define one with --priority-queue FILE\n" in said, said
    finally:
        daemon.kill()


def folders_that_cannot_be_made(freshet):
    for folder in ("/proc/x", "/etc/passwd"):
        run = freshet("run", "--data", folder, "--listen", "127.0.0.1:0", status=1)
        assert f"(--data {folder}: it takes a folder" in run.stderr, run


class Greeter(http.server.BaseHTTPRequestHandler):
    status, said = 200, b"hello"

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.said)))
        self.end_headers()
        self.wfile.write(self.said)

    do_POST = do_GET

    def log_message(self, *_):
        pass


def documented_session(binary, folder):
    """docs/task-api.md shows a session: its commands are run, and answer what it says (but for times, leases and
    sizes: a time that ends with zeros takes fewer bytes)."""
    lines = (ROOT / "docs/task-api.md").read_text().split("```bash\n")[1].split("```")[0].splitlines()
    daemon = Daemon(binary, folder / "session").start()
    try:
        script = "\n".join(line.replace("127.0.0.1:7070", f"127.0.0.1:{daemon.port}") + ("; echo" if line.startswith("curl") else "")
                           for line in lines)
        run = subprocess.run(["bash", "-e", "-c", script], capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run
        plain = lambda text: re.sub(r'"lease":"[^"]*"|\d{10,}|"bytes":\{[^}]*\}', "*", text)
        said = [line for line in run.stdout.splitlines() if line]
        assert [plain(line) for line in said] == [plain(line[2:]) for line in lines if line.startswith("# ")], run.stdout
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


def fixtures(freshet):
    plain = freshet("replay", FIXTURE)
    assert freshet("replay", FIXTURE, "--json").stdout == plain.stdout and plain.stderr == "", plain.stderr
    for line in plain.stdout.splitlines():
        json.loads(line)
    said = freshet.on_terminal("replay", FIXTURE)
    assert " of " in said and "records" in said, said
    assert "freshet: there is no table 'Other'; " in freshet("record", "--table", "Other", status=3).stderr
    recorded = freshet("record", "--json", "--seconds", "0.01").stdout
    assert all(json.loads(line) for line in recorded.splitlines()), recorded
    # Both images of the table are kept meanwhile: that is a change, and its line says of what and from where.
    noted = json.loads(freshet("audit", "--limit", 1, "--json").stdout)
    assert (noted["what"], noted["queue"]) == ("record", "QueueTable") and noted["from"].startswith("127.0.0.1:"), noted
    freshet("record", "--seconds", "1.2", "--out", freshet.folder / "recorded")  # Asks at least twice.
    later = [json.loads(line) for line in freshet("audit", "--limit", 2, "--json").stdout.splitlines()]
    assert later[1] == noted, ("one line for a recording, however often it asks", later)


def bench_leaves_handlers_alone(binary, folder):
    """Its tasks mean nothing to a handler, and its figures are those of its own workers."""
    daemon = Daemon(binary, folder / "with-a-runner", runner="fake")
    try:
        freshet = Commands(binary, daemon.start(), folder)
        refused = freshet("bench", "--seconds", "1", status=2)
        assert "queue 'QueueTable' has a task runner of its own (fake)" in refused.stderr and "--pull" in refused.stderr, refused
        assert daemon.stats()["depth"]["PENDING"] == 0 and not daemon.stats()["flow"], daemon.stats()
        daemon.stop()
    finally:
        daemon.kill()


def help_texts(freshet):
    for command in ("run", "put", "get", "explain", "list", "stats", "cancel", "redrive", "record", "replay", "bench"):
        text = freshet(command, "--help").stdout
        assert "--json" in text, command
        assert f"  freshet {command} " in text, f"{command} --help has no example"
    assert "SHED" in freshet("list", "--help").stdout


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--binary", required=True)
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="freshet-command-") as folder:
        daemon = Daemon(options.binary, folder)
        try:
            freshet = Commands(options.binary, daemon.start(), pathlib.Path(folder))
            help_texts(freshet)
            put(freshet, daemon)
            redrive(freshet, daemon)
            done_is_not_redriven(freshet, daemon)
            many_ids(freshet, daemon)
            full_disk(freshet, daemon)
            wrong_words(freshet)
            other_server(freshet)
            answers_without_body(freshet)
            wrong_files_and_tables(freshet)
            queues_of_another_kind(options.binary, pathlib.Path(folder))
            folders_that_cannot_be_made(freshet)
            bench_leaves_handlers_alone(options.binary, pathlib.Path(folder))
            text = freshet("replay", "--help").stdout.split("\n\nThe same fixture")[0]
            assert all(line.lower().count("with --into") < 2 for line in re.split(r"\n +--", text)), text
            assert "no function has logged anything (--all" in freshet("logs").stderr
            assert "there is no function 'None'; there are " in freshet("logs", "None", status=3).stderr
            fixtures(freshet)
            documented_session(options.binary, pathlib.Path(folder))
            assert daemon.stop() == 0, daemon.log_tail()
        except (AssertionError, OSError, Refused, RuntimeError) as error:
            print(f"FAILED: {error!r}")
            sys.exit(1)
        finally:
            daemon.kill()
    print("the commands say what they did")


if __name__ == "__main__":
    main()
