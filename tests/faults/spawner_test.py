#!/usr/bin/env python3
"""The process that runs programs is killed under the real binary.

The daemon says so and ends with status 1, for a service manager to start it again; the program is killed, the task goes
back with its attempt.
"""
import os
import pathlib
import signal

from daemon import QUEUE, Daemon, check_books, main


def spawner_of(daemon):
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue  # It has ended meanwhile.
        if name == "freshet-spawner" and int(rest.split()[1]) == daemon.process.pid:
            return int(entry.name)
    raise AssertionError("the daemon has no spawner process")


def spawner_dies(binary, folder):
    started = folder / "started"  # Opening it for reading returns when the program has opened it for writing.
    os.mkfifo(started)
    program = folder / "program"
    program.write_text(f"#!/bin/sh\nexec 3>'{started}'\nexec sleep 1000\n")
    program.chmod(0o755)
    daemon = Daemon(binary, folder / "data", runner=f"exec:{program}").start()
    try:
        daemon.call("POST", QUEUE + "/tasks", {"taskId": "runs"})
        with open(started, "rb") as held:
            os.kill(spawner_of(daemon), signal.SIGKILL)
            held.read()  # Until the program, which holds the other end, has ended.
            status = daemon.process.wait(60)
        assert status == 1, f"status {status}\n{daemon.log_tail()}"
        assert "SPAWNER_LOST" in daemon.log_path.read_text(), daemon.log_tail()
        daemon.runner = "none"
        daemon.start()
        task = daemon.call("GET", f"{QUEUE}/tasks/runs")
        assert task["taskStatus"] == "PENDING" and task["attempt"] == 0 and "error" not in task, task
        check_books(daemon.stats())
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


if __name__ == "__main__":
    main(__doc__, "the loss of the spawner ended the daemon, and cost no attempt", spawner_dies)
