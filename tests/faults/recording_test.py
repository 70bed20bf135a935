#!/usr/bin/env python3
"""`freshet recording save`: what the flight recorder of a running daemon has is simulated and comes to what the daemon's books say."""
import json
import pathlib
import subprocess
import time

from daemon import QUEUE, Daemon, main


def freshet(binary, *options, status=0):
    done = subprocess.run([str(binary), *map(str, options)], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, done
    return done


def saves_what_happened_and_simulates_it(binary, folder):
    daemon = Daemon(binary, folder, "--durability", "none", "--set", "ProcessTasksFunction.FAKE_MS=50", "--set",
                    "ProcessTasksFunction.FAKE_SLOTS=100", "--set", "ProcessTasksFunction.CONCURRENCY=4", runner="fake").start()
    url, recording = f"http://127.0.0.1:{daemon.port}", pathlib.Path(folder) / "saved.jsonl"
    try:
        created = 0
        until = time.monotonic() + 10
        while time.monotonic() < until:  # About 120 a second, where 80 can be done.
            daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"payload": "secret", "deadlineMs": 1000}] * 6})
            created += 6
            time.sleep(0.05)
        while any(daemon.stats()["depth"][state] for state in ("PENDING", "DELAYED", "TAKEN")):
            assert time.monotonic() < until + 60, daemon.stats()
            time.sleep(0.05)
        saved = freshet(binary, "recording", "save", recording, "--url", url)
        assert " s of QueueTable saved: " in saved.stderr and "secret" not in recording.read_text(), saved
        stats = daemon.stats()
        simulated = json.loads(freshet(binary, "simulate", recording, "--json").stdout)
        real, [played] = simulated["recorded"], simulated["policies"]
        flow = stats["flow"]
        assert (real["tasks"], real["done"], real["shed"]) == (created, flow["TAKEN->SUCCESS"], stats["shedTotal"]), (real, stats)
        assert real["shed"] > created / 10, real
        for what in ("tasks", "done", "inTime", "shed"):
            assert abs(played[what] - real[what]) <= 0.05 * real["tasks"], (what, simulated)
        # A part of it, to standard output, of the daemon's only queue by its name.
        part = freshet(binary, "recording", "save", "-", "--last", "6s", "--url", url, "--queue", "QueueTable")
        lines = [json.loads(line) for line in part.stdout.splitlines()]
        assert lines[0]["table"] == "QueueTable" and lines[0]["policy"]["CONCURRENCY"] == "4", lines[0]
        assert 0 < len(lines) < len(recording.read_text().splitlines()), len(lines)
        wrong = freshet(binary, "recording", "save", recording, "--url", url, "--queue", "Nowhere", status=3)
        assert "there is no queue 'Nowhere'" in wrong.stderr, wrong
        wrong = freshet(binary, "recording", "save", pathlib.Path(folder) / "none/at/all", "--url", url, status=2)
        assert "cannot write" in wrong.stderr, wrong
    finally:
        daemon.stop()


if __name__ == "__main__":
    main(__doc__, "the simulation comes to the same", saves_what_happened_and_simulates_it)
