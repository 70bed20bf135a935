#!/usr/bin/env python3
"""The overload lab in real time, a moment of it: the daemon and a rival's driver are given the same tasks, and every one of them
is accounted for. What it measures is not judged here: that depends on the machine."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from daemon import ROOT, main

DRIVER = ROOT / "tests/faults/lab_driver.py"


def lab(binary, folder, *options, status=0):
    run = subprocess.run([str(binary), "bench", "overload", "--real", *map(str, options)], capture_output=True, text=True, timeout=300,
                         env={**os.environ, "TMPDIR": str(folder), "FRESHET_LISTEN": "127.0.0.1:1"})
    assert run.returncode == status, run
    assert not list(pathlib.Path(folder).glob("freshet-lab-*")), "what the lab made is left behind"
    return run


def accounts_for_everything(binary, folder):
    # The lab itself ends with an error where the daemon's books differ from what its handler saw.
    run = lab(binary, folder, "--json", "--load", "0.5,3", "--seconds", 1, "--scale", "4x20ms", "--check-simulate", "--durability",
              "none", "--policy", "clairvoyant,fifo,freshet,freshet-bounded", "--rival", f"stack={sys.executable} {DRIVER}",
              "--record", folder)
    recordings = sorted(path.name for path in pathlib.Path(folder).glob("*.jsonl"))
    assert recordings == [f"{policy}-poisson-{load}x-1001.jsonl" for policy in ("fifo", "freshet-bounded", "freshet") for load in ("0.5", "3")]
    simulated = subprocess.run([str(binary), "simulate", str(pathlib.Path(folder) / "freshet-poisson-3x-1001.jsonl"), "--slots", "4", "--json",
                                "--policy", "fifo"], capture_output=True, text=True, timeout=60)
    assert simulated.returncode == 0 and json.loads(simulated.stdout)["policies"][0]["tasks"] > 0, simulated
    report = json.loads(run.stdout)
    assert report["realTime"] is True and len(report["cells"]) == 10, report
    for cell in report["cells"]:
        figures, policy = {name: f["mean"] for name, f in cell["figures"].items()}, cell["policy"]
        assert 0 < figures["goodput"] <= 1.1, cell  # Tasks that end within the run may have begun in any slot of it.
        assert figures["ofClairvoyant"] > 0, cell
        if policy == "clairvoyant":
            continue
        assert figures["startedTwice"] == 0 and figures["mostAtOnce"] <= 4, cell
        if policy == "stack":
            continue
        assert figures["rssSecondHalfMiB"] > 1, cell
        assert figures["simulatedDoneOverReal"] > 0, cell
        if policy == "freshet-bounded" and cell["scenario"]["load"] == 3:
            assert figures["rejectedShare"] > 0 and figures["rejectP99Ms"] >= figures["rejectP50Ms"] > 0, cell


def keeps_a_limit_and_simulates_it(binary, folder):
    # Half of the calls are refused while the limit is 10 a second: the recording cannot be simulated without the limiter.
    run = lab(binary, folder, "--json", "--scenarios", "limits", "--limiter", "token-bucket", "--headers", "retry-after", "--policy", "fixed",
              "--seconds", 36, "--check-simulate", "--durability", "none", "--record", folder)
    [cell] = json.loads(run.stdout)["cells"]
    assert cell["ofOracle"] > 0.1 and cell["refusedShareInAll"] > 0.01, cell
    assert 0.95 <= cell["simulatedInTimeOverReal"] <= 1.05, cell
    [recording] = pathlib.Path(folder).glob("*.jsonl")

    def simulate(*options, status=0):
        done = subprocess.run([str(binary), "simulate", str(recording), *options], capture_output=True, text=True, timeout=120)
        assert done.returncode == status, done
        return done

    refused = simulate(status=2)
    assert "calls back, as where a limiter answers 429 or 503: say what stood behind the queue with --downstream" in refused.stderr, refused
    said = simulate("--downstream", "token-bucket 20/s burst 10 retry-after", "--set", "RATE_LIMIT=9").stdout
    assert "recorded policy: " in said and " RATE_LIMIT=20 " in said and "\nwith --set " in said and "\nin time: SUCCESS within" in said, said
    wrong = simulate("--downstream", "none", "--set", "LEASE_MS=1000", status=2)
    assert "LEASE_MS cannot be simulated: no worker dies in a simulation" in wrong.stderr, wrong
    wrong = simulate("--downstream", "none", "--set", "RATE_LIMT=1", status=2)
    assert "'RATE_LIMT' is no setting that can be changed here" in wrong.stderr, wrong
    # As an older program recorded it.
    header, rest = recording.read_text().split("\n", 1)
    header = {name: value for name, value in json.loads(header).items() if name != "policy"}
    recording.write_text(json.dumps({**header, "version": 1}) + "\n" + rest)
    wrong = simulate("--downstream", "none", status=2)
    assert "is of format 1, which does not hold the policy that was in force: tell it with --set" in wrong.stderr, wrong
    simulate("--downstream", "none", "--set", "CONCURRENCY=8", "--json")
    simulate("--downstream", "none", "--policy", "fifo-ttl")


def learns_a_limit(binary, folder):
    # The downstream says what is left, so next to nothing is refused, however busy this machine is.
    run = lab(binary, folder, "--json", "--scenarios", "limits", "--limiter", "token-bucket", "--headers", "ratelimit", "--policy", "adaptive",
              "--seconds", 36, "--check-simulate", "--durability", "none")
    [cell] = json.loads(run.stdout)["cells"]
    assert cell["ofOracle"] > 0.1 and cell["refusedShareInAll"] < 0.1 and cell["simulatedInTimeOverReal"] > 0, cell


def refuses_what_makes_no_sense(binary, folder):
    for options, said in ((("--policy", "fifo-codel"), "policy 'fifo-codel' runs in simulated time only"),
                          (("--durability", "maybe"), "maybe"),
                          (("--rival", "redis"), "--rival 'redis' must be NAME=COMMAND"),
                          (("--scenarios", "limits", "--seconds", 30), "runs with three limits, of 10 s each, are too short"),
                          (("--scenarios", "limits", "--load", 2), "--scenarios limits has its own load"),
                          (("--scenarios", "limits", "--headers", "x"), "--headers 'x' must be none, retry-after or ratelimit"),
                          (("--scenarios", "limits", "--limiter", "bucket"), "--limiter 'bucket' is none of token-bucket, window-1s"),
                          (("--rival", "a=true", "--retries", "1"), "rivals run without --retries and --groups")):
        run = lab(binary, folder, *options, status=2)
        assert said in run.stderr, run
    run = lab(binary, folder, "--policy", "clairvoyant", "--load", 1, "--rival", "a=sh -c 'echo no such queue >&2; exit 3'", status=1)
    assert "a: its driver has ended: it ended with status 3; its log says: no such queue\n" in run.stderr, run


def leaves_nothing_behind_when_it_is_ended(binary, folder):
    # The calls take far longer than anybody waits: whatever waits for them is seen.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        lab_process = subprocess.Popen([str(binary), "bench", "overload", "--real", "--policy", "freshet", "--load", "10", "--seconds", "600",
                                        "--scale", "4x60000ms"], stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(folder)})
        ready = lambda: list(pathlib.Path(folder).glob("freshet-lab-*/ready"))
        while not ready():
            assert lab_process.poll() is None, lab_process.communicate()
            time.sleep(0.01)
        url = ready()[0].read_text().strip()
        port = urllib.parse.urlparse(url).port
        while True:  # Until a call is under way.
            with urllib.request.urlopen(url.rstrip("/") + "/queues/QueueTable/stats") as answer:
                if json.load(answer)["running"] > 0:
                    break
            time.sleep(0.01)
        lab_process.send_signal(number)
        try:
            said = lab_process.communicate(timeout=8)[1]
        except subprocess.TimeoutExpired:
            lab_process.kill()
            raise AssertionError(f"{number!r} is not obeyed") from None
        assert "stopped before its end" in said, (number, said)
        assert lab_process.returncode == 1 and not list(pathlib.Path(folder).iterdir()), number
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0, "its daemon is still there"


def says_what_it_came_to(binary, folder):
    run = subprocess.run([str(binary), "bench", "overload", "--load", "2,10", "--seconds", "1", "--seeds", "1", "--html", f"{folder}/page.html"],
                         capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run
    lines = run.stdout.splitlines()
    assert all(len(line) <= 100 for line in lines), max(lines, key=len)
    assert run.stdout.split("\n\n")[-1].startswith("Freshet does at least ") and run.stdout.endswith(".\n"), lines[-3:]
    page = (pathlib.Path(folder) / "page.html").read_text()
    assert "<script" not in page and "http" not in page, "the page needs something from elsewhere"


if __name__ == "__main__":
    main(__doc__, "everything is accounted for", accounts_for_everything, keeps_a_limit_and_simulates_it, learns_a_limit,
         refuses_what_makes_no_sense, leaves_nothing_behind_when_it_is_ended, says_what_it_came_to)
