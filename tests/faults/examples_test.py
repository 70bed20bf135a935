#!/usr/bin/env python3
"""The examples at the end of --help of `priority`, `filtered` and `ordered`, and of each of their commands, run as they are
printed."""
import os
import re
import subprocess

from daemon import ROOT, Daemon, main

OPTIONS = ("--priority-queue", "config/priority-queue.json", "--filtered-queue", "config/filtered-queue.json", "--ordered-writes",
           "config/ordered-writes.json")
# Commands that make the state for an example: of its group, or of the command itself. {0} is `freshet GROUP`.
RECORD = "{0} purge; {0} create-test; {0} ready A-101; {0} enqueue A-101"
MEMBER = ("{0} cancel call-2; {0} withdraw a1; {0} release a1; {0} delete a1; "
          "{0} put a1 '{{\"Gender\": \"F\", \"Languages\": [\"Spanish\"]}}'")
RATING = "{0} put '{{\"PK\": \"User#1\", \"SK\": \"Movie#A\", \"Rating\": 5}}'"
FOUND = {
    "priority": RECORD, "filtered": MEMBER, "ordered": RATING,
    "priority set-priority": "{0} purge; {0} put A-101 --status READY_TO_SHIP --queue Express; {0} enqueue A-101 --queue Express",
    "priority peek": RECORD + "; {0} ready A-202; {0} enqueue A-202",
    "priority redrive": RECORD + "; {0} send-to-dlq A-101; {0} ready A-202; {0} enqueue A-202; {0} send-to-dlq A-202",
    "filtered assign": MEMBER + "; {0} enqueue a1", "filtered withdraw": MEMBER + "; {0} enqueue a1",
    "filtered release": MEMBER + "; {0} enqueue a1; {0} assign",
    "filtered request": MEMBER + "; {0} enqueue a1; {0} assign --request call-1",
    "filtered cancel": MEMBER + "; {0} assign --request call-2 --wait",
}
PEEKED = "; receipt=$({0} peek --json | jq -r '.records[0].receipt')"
STATUSES = {"ordered": [0, 4, 0]}  # The second write is older than what is there.


def examples_of(said):
    """Command lines, each in one line again."""
    end = said.rstrip().rsplit("\n\n", 1)[1]
    return [line.strip() for line in re.sub(r" \\\n *", " ", end).split("\n") if line.startswith("  ")]


class Shell:
    def __init__(self, binary, folder, url):
        programs = folder / "bin"
        programs.mkdir()
        (programs / "freshet").symlink_to(binary)
        kept = {name: text for name, text in os.environ.items() if not name.startswith("FRESHET_")}
        self.environment = {**kept, "FRESHET_URL": url, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder)}

    def __call__(self, script):
        return subprocess.run(["bash", "-c", script], cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)


def run_examples(shell, group, command):
    path = f"{group} {command}".rstrip()
    examples = examples_of(shell(f"freshet {path} --help").stdout)
    assert examples and any(f"freshet {path}" in one for one in examples), (path, examples)
    found = FOUND.get(path, FOUND[group])
    if "$receipt" in " ".join(examples):
        found += PEEKED
    lines = [f"{{ {found.format('freshet ' + group)}; }} > /dev/null 2>&1", "set -o pipefail"]
    for one in examples:
        lines += [one, 'echo "status $?" >&2']
    run = shell("\n".join(lines))
    statuses = [int(status) for status in re.findall(r"(?m)^status (\d+)$", run.stderr)]
    assert statuses == STATUSES.get(path, [0] * len(examples)), (path, run)
    return examples


def every_example_works(binary, folder):
    daemon = Daemon(binary, folder / "data", *OPTIONS, template=None)
    daemon.store = ":memory:"
    daemon.start()
    try:
        shell = Shell(binary, folder, f"http://127.0.0.1:{daemon.port}")
        for group in ("priority", "filtered", "ordered"):
            below = shell(f"freshet {group} --help").stdout.partition("\nCommands:\n")[2].partition("\n\n")[0]
            commands = re.findall(r"(?m)^  ([a-z-]+)", below)
            assert len(commands) > 7, below
            seen = [run_examples(shell, group, command) for command in ("", *commands)]
            assert len(set(map(tuple, seen))) == len(seen), "two commands have the same example"
    finally:
        daemon.kill()


if __name__ == "__main__":
    main(__doc__, "examples", every_example_works)
