#!/usr/bin/env python3
"""Text from others (names, logs, errors) reaches a terminal without control characters, and cannot fake a line.

Every command that prints for people is run on ids, names, payloads, logs and errors that hold every control character.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys

from daemon import QUEUE, ROOT, Daemon, main

CONTROLS = "".join(map(chr, [*range(1, 0x20), *range(0x7F, 0xA0)]))
EVIL = "a\x1b[2J\x9b1mb\r\nFORGED\x07" + CONTROLS + "z"
WORD = "".join(c for c in EVIL if not c.isspace())  # For a console that splits its lines into words.


class Terminal:
    """Runs commands, and looks at all that they print."""

    def __init__(self, binary, daemon):
        self.binary = str(binary)
        self.environment = dict(os.environ, FRESHET_URL=f"http://127.0.0.1:{daemon.port}")
        self.shown = 0  # Outputs with an escaped text in them.

    def look(self, words, *outputs):
        for said in outputs:
            text = said.decode()
            bad = sorted({c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7F <= ord(c) < 0xA0})
            assert not bad, (words, bad, text)
            assert not any(line.startswith("FORGED") for line in text.splitlines()), (words, text)
            self.shown += "\\x1b" in text or "\\u001b" in text

    def __call__(self, *words, status=0, stdin=b"", shows=True):
        run = subprocess.run([self.binary, *map(str, words)], input=stdin, capture_output=True, timeout=120,
                             env=self.environment, cwd=ROOT)
        assert run.returncode == status, (words, run)
        before = self.shown
        self.look(words, run.stdout, run.stderr)
        assert self.shown > before or not shows, (words, "what should be escaped is not there", run)
        return run.stdout.decode()


def tasks(daemon, show):
    task = {"taskId": {"S": EVIL}, "taskStatus": {"S": "PENDING"}, "taskCreated": {"N": "1700000000000"},
            "payload": {"M": {EVIL: {"S": EVIL}}}, "group": {"S": EVIL}}
    daemon.dynamodb("PutItem", TableName="QueueTable", Item=task)
    show("get", EVIL)
    show("explain", EVIL)
    assert "FORGED" in show("list"), "it is there all the same"
    show("cancel", EVIL)
    show("redrive", "nobody" + EVIL, status=3)
    show("redrive", "--state", EVIL, status=2)
    show("redrive", "--where", EVIL, status=2)
    show("get", "nobody" + EVIL, status=3)
    show("put", "--id", EVIL + "2", "{}")
    show("put", "--file", EVIL, status=2)
    show("put", status=2, stdin=EVIL.encode())
    show("put", status=2, stdin=json.dumps({"taskId": "x", EVIL: 1}).encode())
    show("stats", "--queue", EVIL, status=3)
    show("watch", "--queue", EVIL, status=3, shows=False)
    show("record", "--table", EVIL, status=3, shows=False)
    watch = subprocess.Popen([show.binary, "watch"], env=show.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert watch.stderr.readline().startswith(b"watching ")
    daemon.dynamodb("PutItem", TableName="QueueTable", Item=dict(task, taskId={"S": EVIL + "3"}))
    show.look("watch", watch.stdout.readline())
    watch.send_signal(signal.SIGINT)
    show.look("watch", *watch.communicate(timeout=60))


def wrong_words(show):
    show(EVIL, status=2)
    show("priority", EVIL, status=2)
    show("get", "a", EVIL, status=2)
    show("get", "a", "--" + EVIL, status=2)
    show("list", "--limit", EVIL, status=2)
    show("list", "--state", EVIL, status=2)
    show("stats", "--url", EVIL, status=2)
    show("stats", "--url", "http://" + EVIL, status=6)
    show("stats", "--credentials", EVIL, status=2)
    for command in (("run", EVIL), ("run", "--listen", EVIL), ("run", "--config", EVIL), ("run", "--priority-queue", EVIL),
                    ("deploy", EVIL), ("replay", EVIL), ("simulate", EVIL), ("ordered", "replay", EVIL),
                    ("bench", "overload", "--policy", EVIL),
                    ("filtered", "assign", "=" + EVIL), ("invoke", "F", "--event", EVIL)):
        show(*command, status=2)
    show("record", "--out", "/nowhere/" + EVIL, status=2)


def priority(show):
    show("priority", "put", EVIL, json.dumps({"id": EVIL}), "--status", "READY_TO_SHIP")
    for words in (("get", EVIL), ("list",), ("enqueue", EVIL), ("stats",), ("info", EVIL), ("sys", EVIL), ("data", EVIL),
                  ("ls",), ("qstat",), ("peek",), ("send-to-dlq", EVIL), ("dlq",)):
        show("priority", *words)
    show("priority", "get", "nobody" + EVIL, status=3)
    show("priority", "redrive", "nobody" + EVIL, status=3)
    show("priority", "put", WORD, "{}", "--status", "READY_TO_SHIP")
    words = [f"id {WORD}", "info", "enqueue", f"update {WORD}", "ls", "peek", "done", "purge", "quit", ""]
    show("priority", "console", stdin="\n".join(words).encode())


def filtered(daemon, show):
    member = {"AgentName": EVIL, "Gender": "F", "Languages": ["English"]}
    show("filtered", "put", EVIL, json.dumps(member))
    for words in (("get", EVIL), ("list",), ("enqueue", EVIL), ("assign", "--request", EVIL), ("request", EVIL), ("requests",)):
        show("filtered", *words)
    show("filtered", "get", "nobody" + EVIL, status=3)
    show("filtered", "assign", EVIL, status=2)
    stray = {"pk": {"S": "Q#English#F"}, "sk": {"S": EVIL}, "AgentID": {"S": EVIL}}
    daemon.dynamodb("PutItem", TableName="AgentQueueFIFO", Item=stray)
    show("filtered", "recount", status=7)


def ordered(show):
    item = json.dumps({"PK": EVIL, "SK": "1", "Rating": 5})
    show("ordered", "put", item, shows=False)
    key = json.dumps({"PK": EVIL, "SK": "1"})
    for words in (("get", key), ("query", json.dumps(EVIL)), ("scan",)):
        show("ordered", *words)
    show("ordered", "put", item, "--timestamp", EVIL, status=2)
    show("ordered", "put", json.dumps({"PK": {EVIL: 1}, "SK": "1"}), status=2, shows=False)


def functions(folder, show):
    code = folder / "code"
    code.mkdir()
    (code / "app.py").write_text("import json\ndef handler(event, context):\n"
                                 "    print(event['text'])\n    print('with\\ttabs')\n"
                                 "    if event['fails']:\n        raise RuntimeError(event['text'])\n    return event\n")
    template = folder / "template.yaml"
    template.write_text("Transform: AWS::Serverless-2016-10-31\nResources:\n"
                        "  Say: {Type: 'AWS::Serverless::Function', Properties: {Runtime: python3.11, Handler: app.handler, CodeUri: code/}}\n"
                        "Outputs:\n  Evil: {Value: " + json.dumps(EVIL) + "}\n")
    show("deploy", template)
    # A program's line feeds begin lines of its log.
    text = EVIL.replace("\n", "")
    says, fails = (json.dumps({"text": text, "fails": fails}) for fails in (False, True))
    said = show("invoke", "Say", says, "--log")
    assert json.loads(said)["text"] == text, "the value is the same"
    show("invoke", "Say", fails, status=1)
    show("invoke", EVIL, "{}", status=3)
    assert "with  tabs" in show("logs", "Say")
    show("logs", "--all")
    (folder / "wrong.yaml").write_text("Resources:\n  " + json.dumps(EVIL) + ": {Type: " + json.dumps(EVIL) + "}\n")
    show("deploy", folder / "wrong.yaml", status=2)
    show("run", folder / "wrong.yaml", "--data", ":memory:", status=2)


def shows_no_control_characters(binary, folder):
    daemon = Daemon(binary, folder / "data", "--priority-queue", ROOT / "config/priority-queue.json", "--filtered-queue",
                    ROOT / "config/filtered-queue.json", "--ordered-writes", ROOT / "config/ordered-writes.json")
    daemon.start()
    try:
        show = Terminal(binary, daemon)
        tasks(daemon, show)
        wrong_words(show)
        priority(show)
        filtered(daemon, show)
        ordered(show)
        functions(folder, show)
        assert daemon.stop() == 0, daemon.log_tail()
        show.look("the daemon's log", daemon.log_path.read_bytes())
    finally:
        daemon.kill()


if __name__ == "__main__":
    sys.exit(main(__doc__, "no control characters reach a terminal", shows_no_control_characters))
