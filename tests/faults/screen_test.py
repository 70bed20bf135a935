#!/usr/bin/env python3
"""The output for a person at a terminal, and for a script: columns, headers, colours, progress, log lines."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios

from daemon import QUEUE, ROOT, Daemon, main

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen:
    """Runs commands with a pseudo-terminal of a width as their standard output, error, or both."""

    def __init__(self, binary, port=0):
        self.binary, self.environment = str(binary), dict(os.environ, FRESHET_URL=f"http://127.0.0.1:{port}", TERM="xterm")
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            self.environment.pop(name, None)

    def start(self, words, columns, streams=("stdout",), **variables):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        process = subprocess.Popen([self.binary, *map(str, words)], stdin=subprocess.DEVNULL, cwd=ROOT,
                                   stdout=theirs if "stdout" in streams else subprocess.DEVNULL,
                                   stderr=theirs if "stderr" in streams else subprocess.DEVNULL, env=dict(self.environment, **variables))
        os.close(theirs)
        return process, ours

    def __call__(self, *words, columns=80, status=0, streams=("stdout",), **variables):
        process, ours = self.start(words, columns, streams, **variables)
        said = b""
        try:
            while more := os.read(ours, 4096):
                said += more
        except OSError:  # Linux: nobody has the other end open any more.
            pass
        os.close(ours)
        assert process.wait(60) == status, (words, said)
        return said.decode().replace("\r\n", "\n")

    def piped(self, *words, status=0, **variables):
        run = subprocess.run([self.binary, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                             env=dict(self.environment, **variables), cwd=ROOT)
        assert run.returncode == status, run
        return run


def fits(text, columns):
    wide = [line for line in ESCAPE.sub("", text).splitlines() if len(line) > columns]
    assert not wide, wide


def lists(screen, daemon):
    daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": f"order-{i}", "payload": {"text": "x" * 200}, **({"group": "a & b"} if i == 1 else {})}
                                                           for i in range(3)]})
    for columns in (40, 80, 120):
        said = screen("list", columns=columns)
        fits(said, columns)
        lines = ESCAPE.sub("", said).splitlines()
        assert lines[0].split() == ["TASK", "ID", "STATUS", "AGE", "PAYLOAD"] and len(lines) == 4, said
        assert lines[1].startswith("order-2  PENDING") and lines[1].endswith("..."), said
    fits(screen("list", COLUMNS="60"), 60)
    assert "\x1b[1mTASK ID\x1b[0m" in said, said
    assert "\x1b" not in screen("list", NO_COLOR="1") and "\x1b" not in screen("list", TERM="dumb")
    assert "there are more: --limit 20" in screen("list", "--limit", 2, streams=("stdout", "stderr"))
    # A script gets lines without headers, as ever, and of an empty list nothing at all.
    plain = screen.piped("list")
    assert re.match(r"order-2 {32}PENDING +[\d.]+ (s|min)  \{", plain.stdout) and plain.stdout.count("\n") == 3, plain
    for words in (["list", "--state", "DEAD"], ["list", "--state", "dead"]):
        empty = screen.piped(*words)
        assert empty.stdout == "" and empty.stderr == "no task is DEAD (--state names another state)\n", empty
    assert screen.piped("list", "--state", "DEAD", "--json").stderr == ""
    # The filters of cancel, redrive and purge choose what is listed, too.
    for words in (["--where", "group=a & b"], ["--text", "order-1"], ["--where", "group=a & b", "--older-than", "0s"]):
        chosen = screen.piped("list", *words)
        assert chosen.stdout.startswith("order-1 ") and chosen.stdout.count("\n") == 1, chosen
    none = screen.piped("list", "--where", "gruop=acme")
    assert none.stdout == "" and none.stderr == (
        "no task that is PENDING matches, of 3 looked at (--state names another state; --where compares attributes of the task itself, --text finds what "
        "is within its payload)\n"), none
    assert screen.piped("list", "--older-than", "1h").stdout == ""
    assert ESCAPE.sub("", screen("list", "--where", "group=a & b")).count("TASK ID") == 1
    for words, why in ((["--where", "group"], "--where 'group' must be NAME=VALUE"), (["--older-than", "5"], "--older-than"),
                       (["--text", ""], "--text: must not be empty")):
        assert why in screen.piped("list", *words, status=2).stderr
    assert "none of PENDING" in screen.piped("list", "--state", "PENDNG", status=2).stderr


def stats(screen, daemon):
    said = screen("stats")
    fits(said, 80)
    lines = [line.split() for line in ESCAPE.sub("", said).splitlines()]
    assert " ".join(lines[0]) == "in time: no task ended in the last minute" and not lines[1], said
    assert lines[2] == ["STATUS", "TASKS"] and lines[3] == ["PENDING", "3"] and ["(new)", "->", "PENDING", "3"] in lines, said
    plain = screen.piped("stats").stdout
    assert plain.startswith("depth\n  CANCELLED  ") and "\nflow\n  ->PENDING  " in plain and "SHED" not in plain, plain
    # Again and again, with rates, until it is interrupted.
    process, ours = screen.start(["stats", "--watch", "0.02"], 80)
    said, more = "", 0
    while "PER SECOND" not in said or "+" not in said.split("PER SECOND", 1)[1]:
        daemon.call("POST", QUEUE + "/tasks", {"taskId": f"more-{more}"})
        more += 1
        said = said[-20_000:] + os.read(ours, 4096).decode()
    process.send_signal(signal.SIGINT)
    process.wait(60)
    os.close(ours)
    assert re.search(r"PENDING +\d+ +\+\d+\.\d", ESCAPE.sub("", said)), said


def explain(screen, daemon):
    """A word that is longer than a line is broken on a terminal, and stays whole for a script."""
    long_word = "https://queue.example/" + "part/" * 30
    daemon.call("POST", QUEUE + "/tasks", {"taskId": "long", "group": "g" * 90, "maxAttempts": 1})
    assert ", no attempt, of at most 1" in re.sub(r"\s+", " ", screen.piped("explain", "long").stdout)
    task = daemon.call("POST", QUEUE + "/take", {"max": 1})["tasks"][0]
    daemon.call("POST", QUEUE + "/settle", {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "fail", "error": long_word}]})
    for columns in (60, 80):
        said = screen("explain", task["taskId"], columns=columns)
        fits(said, columns)
        assert long_word in re.sub(r"\n +", "", ESCAPE.sub("", said)), said
    assert long_word in screen.piped("explain", task["taskId"]).stdout


def sentences(screen, daemon):
    """Sentences of a command fit, too: a mistake, the daemon's refusal, a pause."""
    for columns in (60, 80):
        for words, status in ((["put", "x", "--deadline", "5"], 2), (["get", "not-there"], 3), (["frobnicate"], 2), (["list", "--state", "PENDNG"], 2),
                              (["stats", "--url", "http://127.0.0.1:1"], 6), (["priority", "stats"], 3)):
            said = screen(*words, columns=columns, status=status, streams=("stderr",))
            assert said.startswith("freshet"), said
            fits(said, columns)
        for words in (["pause", "QueueTable", "--reason", "the API behind it is being moved to another machine"], ["queues"], ["stats"],
                      ["policy", "QueueTable", "RATE_LIMIT=0"],
                      ["resume", "QueueTable"]):
            fits(screen(*words, columns=columns), columns)


def helps(screen):
    commands = re.findall(r"^  ([a-z]+) ", screen.piped("--help").stdout, re.MULTILINE)
    assert len(commands) > 15, commands
    said = ESCAPE.sub("", screen("--help"))
    order = [said.index(f"\n{group}:\n") for group in ("Tasks", "Operate", "Functions", "Experiments", "More queues")]
    assert order == sorted(order), said
    every = [[], *([one] for one in commands)]
    for group in ("bench", "demo", "priority", "filtered", "ordered"):
        below = screen.piped(group, "--help").stdout.partition("\nCommands:\n")[2].partition("\n\n")[0]
        every += [[group, one] for one in re.findall(r"^  ([a-z-]+) ", below, re.MULTILINE)]
    assert len(every) > 60 and ["bench", "overload"] in every and ["demo", "limits"] in every, every
    for columns in (60, 80, 120):
        for command in every:
            said = screen(*command, "--help", columns=columns)
            # The examples are there to be copied: a word of a shell stays whole.
            text, _, examples = said.partition("\n  freshet ")
            fits(text, columns)
            if columns >= 80:
                fits(examples, columns)


def progress(screen):
    """A command that takes longer than ten seconds says how far it is, also into a file."""
    process = subprocess.Popen([screen.binary, "record", "--out", "/dev/null"], stderr=subprocess.PIPE, text=True, env=screen.environment)
    return process


def check_progress(process):
    line = process.stderr.readline()
    assert re.fullmatch(r"freshet: \d+ lines \(after 10 s\)\n", line), line
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    process.stderr.close()


def logs(screen, folder):
    """The daemon's own log: for people on a terminal, JSON elsewhere, and as --log-format says."""
    words = ["run", "--data", ":memory:", "--listen", "127.0.0.1:0", "--ready-file"]

    def first_line(file, *more, **variables):
        process, ours = screen.start([*words, folder / file, *more], 80, ("stderr",), **variables)
        said = b""
        while b"READY" not in said or not said.endswith(b"\n"):
            said += os.read(ours, 4096)
        process.send_signal(signal.SIGTERM)
        while select.select([ours], [], [], 60)[0]:
            try:
                if not os.read(ours, 4096):
                    break
            except OSError:
                break
        os.close(ours)
        assert process.wait(60) == 0
        return next(line for line in said.decode().splitlines() if "READY" in line)

    assert re.match(r"\x1b\[2m\d\d:\d\d:\d\d\.\d{3}\x1b\[0m INFO  \x1b\[1mREADY\x1b\[0m  url=http://127", first_line("a"))
    assert re.match(r"\d\d:\d\d:\d\d\.\d{3} INFO  READY  url=http://127", first_line("b", NO_COLOR="1"))
    for more, variables in ((["--log-format", "json"], {}), (["--json"], {}), ([], {"FRESHET_LOG_FORMAT": "json"})):
        assert json.loads(first_line("c", *more, **variables))["event"] == "READY", more
    for more, starts in (([], "{"), (["--log-format", "human"], tuple("0123456789"))):
        run = subprocess.Popen([screen.binary, *words, folder / "d", *more], stderr=subprocess.PIPE, text=True, env=screen.environment)
        line = next(line for line in run.stderr if "READY" in line)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)
        assert line.startswith(starts), (more, line)
    # A daemon that does not start says why once.
    said = screen("run", "--data", ":memory:", "--listen", "203.0.113.1:1", "--credentials", "/dev/null", status=2, streams=("stderr",))
    assert said.count("credentials file") == 1 and said.startswith("freshet: the "), said
    events = screen("logs", "--all", columns=120)
    assert re.match(r"\x1b\[2m\d\d:\d\d:\d\d\.\d{3}\x1b\[0m INFO  ", events), events[:200]


def shows_what_fits(binary, folder):
    daemon = Daemon(binary, folder / "data").start()
    try:
        screen = Screen(binary, daemon.port)
        waiting = progress(screen)
        lists(screen, daemon)
        stats(screen, daemon)
        explain(screen, daemon)
        sentences(screen, daemon)
        helps(screen)
        logs(screen, folder)
        check_progress(waiting)
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


if __name__ == "__main__":
    sys.exit(main(__doc__, "a terminal shows what fits", shows_what_fits))
