#!/usr/bin/env python3
"""`freshet whatif`: the flight recording of a running daemon, or a saved one, under other settings."""
import concurrent.futures
import functools
import json
import pathlib
import signal
import subprocess
import time
import urllib.parse
import urllib.request

from daemon import QUEUE, SLOWER, Daemon, Refused, main


def freshet(binary, *options, status=0, text=None):
    done = subprocess.run([str(binary), *map(str, options)], capture_output=True, text=True, timeout=300, input=text)
    assert done.returncode == status, done
    return done


def check_figures(answer):
    """Each comparison has these properties, whatever was compared."""
    assert answer["from"] < answer["to"] and answer["windowMs"] > 0, answer
    played = [window["at"] for window in answer["bestKnown"]["windows"]]
    assert played == sorted(set(played)) and all(answer["from"] <= at < answer["to"] for at in played), answer
    skipped = sum(one["to"] - one["from"] for one in answer["skipped"])
    assert len(played) * answer["windowMs"] + skipped == answer["to"] - answer["from"], "each window is played or skipped"
    assert [policy["inForce"] for policy in answer["policies"]].count(True) == 1, answer
    percents = [policy["percent"] for policy in answer["policies"]]
    assert percents == sorted(percents, reverse=True), percents
    for policy in answer["policies"]:
        assert [window["at"] for window in policy["windows"]] == played, policy
        assert policy["low"] <= policy["percent"] <= policy["high"] and policy["tasks"] == answer["recorded"]["tasks"], policy
        assert abs(policy["percent"] + policy["regret"] - answer["bestKnown"]["percent"]) < 0.02, policy


def overload(daemon):
    until = time.monotonic() + 12
    while time.monotonic() < until:  # About 120 a second, where 80 can be done.
        daemon.call("POST", QUEUE + "/tasks", {"tasks": [{"payload": "secret", "deadlineMs": 1000}] * 6})
        time.sleep(0.05)


def says_what_other_settings_would_have_done(binary, folder):
    daemon = Daemon(binary, folder, "--durability", "none", "--set", "ProcessTasksFunction.FAKE_MS=50", "--set",
                    "ProcessTasksFunction.FAKE_SLOTS=100", "--set", "ProcessTasksFunction.CONCURRENCY=4", "--set",
                    "ProcessTasksFunction.ORDER=fifo", runner="fake").start()
    url, saved = f"http://127.0.0.1:{daemon.port}", pathlib.Path(folder) / "saved.jsonl"
    try:
        empty = freshet(binary, "whatif", "QueueTable", "--url", url, status=2)
        assert "no task of QueueTable came, started or ended in its recording" in empty.stderr, empty
        overload(daemon)
        # Oldest first, nearly every task is too late when it is done; newest first, two of three are in time.
        answer = json.loads(freshet(binary, "whatif", "--json", "--url", url, "--budget", "10m", "--window", "5s", "--set", "ORDER=lifo",
                                    "--try", "ORDER=deadline", "--try", "ORDER=lifo DEADLINE_MARGIN=p90").stdout)
        check_figures(answer)
        assert answer["queue"] == "QueueTable" and answer["seed"] == 1 and not answer["skipped"], answer
        assert "times and refusals would have been the same" in answer["assumes"], answer
        by_name = {policy["name"]: policy for policy in answer["policies"]}
        assert set(by_name) == {"in force", "ORDER=lifo", "ORDER=deadline", "DEADLINE_MARGIN=p90 ORDER=lifo"}, by_name
        assert by_name["in force"]["settings"]["ORDER"] == "fifo" and by_name["ORDER=lifo"]["settings"] == {"ORDER": "lifo"}, by_name
        assert by_name["in force"]["percent"] < 35 and by_name["ORDER=lifo"]["percent"] > 50, by_name
        assert by_name["in force"]["low"] <= answer["recorded"]["percent"] <= by_name["in force"]["high"], answer
        # A saved recording says the same, on every run, whatever comes later.
        freshet(binary, "recording", "save", saved, "--url", url)
        options = ("--try", "ORDER=lifo", "--budget", "10m", "--window", "5s", "--seed", 7)
        first = freshet(binary, "whatif", "--file", saved, "--json", *options).stdout
        assert first == freshet(binary, "whatif", "--file", "-", "--json", *options, text=saved.read_text()).stdout
        check_figures(json.loads(first))
        assert abs(json.loads(first)["recorded"]["percent"] - answer["recorded"]["percent"]) < 10, first
        # The answers of the API themselves.
        lines, place = "", ""
        while place is not None:
            with urllib.request.urlopen(url + QUEUE + "/recording" + place) as piece:
                lines += piece.read().decode()
                following = piece.headers["X-Freshet-Next"]
            place = following and "?place=" + urllib.parse.quote(following)
        raw = json.loads(freshet(binary, "whatif", "--file", "-", "--json", *options, text=lines).stdout)
        check_figures(raw)
        shown = freshet(binary, "whatif", "QueueTable", "--url", url, "--budget", "10m", "--window", "5s", "--set", "ORDER=lifo").stdout
        assert "Apply it with: freshet policy QueueTable ORDER=lifo\n" in shown and "best known" in shown, shown
    finally:
        daemon.stop()
    # For the usual alternatives with little time: whole windows are skipped, and listed.
    # The budget that is enough for some windows depends on the machine.
    hurried = None
    for budget in (300, 600, 1200, 2400, 4800):
        words = ("--json", "--window", "1s", "--budget", f"{budget}ms", "--resamples", "2")
        done = subprocess.run([binary, "whatif", "--file", str(saved), *words], capture_output=True, text=True, timeout=300)
        if done.returncode == 0:
            hurried = json.loads(done.stdout)
            break
        assert "allow more CPU time" in done.stderr, done
    check_figures(hurried)
    why = f"the budget of {budget / 1000:.3g} s of CPU time is used up"
    assert hurried["skipped"] and why in hurried["skipped"][0]["why"], hurried
    refuses_what_it_cannot_play(binary, saved)


def refuses_what_it_cannot_play(binary, saved):
    for options, why in ((("--set", "ODER=fifo"), "ODER"), (("--set", "LEASE_MS=5"), "LEASE_MS cannot be simulated"),
                         (("--set", "fifo"), "'fifo' must be NAME=VALUE, like ORDER=deadline"),
                         (("--policy", "best"), "--policy 'best' is none of "), (("--window", "5"), "--window"),
                         (("--budget", "1ms"), "s of it: allow more CPU time (--budget, or budgetMs)")):
        wrong = freshet(binary, "whatif", "--file", saved, *options, status=2)
        assert why in wrong.stderr, (options, wrong)
    assert "cannot" in freshet(binary, "whatif", "--file", "/nowhere/at/all", status=2).stderr
    # A file says of which queue it is, whatever that is called.
    emails = saved.with_name("emails.jsonl")
    emails.write_text(saved.read_text().replace('"table":"QueueTable"', '"table":"emails"', 1))
    options = ("--json", "--window", "5s", "--budget", "10m", "--resamples", "0", "--try", "ORDER=lifo")
    assert json.loads(freshet(binary, "whatif", "--file", emails, *options).stdout)["queue"] == "emails"
    other = freshet(binary, "whatif", "Other", "--file", saved, status=2)
    assert "is of queue 'QueueTable', not of 'Other'" in other.stderr, other


def asks_the_daemon(binary, folder):
    if SLOWER > 1:
        print("SKIPPED: asks_the_daemon: sanitizers need more address space than a comparison may have")
        return
    daemon = Daemon(binary, folder, "--durability", "none", "--set", "ProcessTasksFunction.FAKE_MS=50", "--set",
                    "ProcessTasksFunction.FAKE_SLOTS=100", "--set", "ProcessTasksFunction.CONCURRENCY=4", "--set",
                    "ProcessTasksFunction.ORDER=fifo", runner="fake").start()
    ask = functools.partial(daemon.call, "POST", QUEUE + "/whatif")
    try:
        refused(400, ask)  # No task came.
        overload(daemon)
        answer = ask({"settings": [{"ORDER": "lifo"}, {"ORDER": "lifo", "DEADLINE_MARGIN": "p90"}], "windowMs": 5000, "budgetMs": 30000, "seed": 3})
        check_figures(answer)
        assert answer["seed"] == 3 and answer["windowMs"] == 5000 and answer["queue"] == "QueueTable", answer
        by_name = {policy["name"]: policy for policy in answer["policies"]}
        assert set(by_name) == {"in force", "ORDER=lifo", "DEADLINE_MARGIN=p90 ORDER=lifo"}, by_name
        assert by_name["ORDER=lifo"]["percent"] > by_name["in force"]["percent"] + 20, by_name
        for body, why in (({"settings": [{"ODER": "fifo"}]}, "ODER"), ({"settings": [{"--url": "x"}]}, "is the name of no setting"),
                          ({"settings": [{"ORDER": "fifo LEASE_MS=1"}]}, "must be one word"), ({"settings": [{}]}, "1 to 32 settings"),
                          ({"settings": [{"ORDER": ["fifo"]}]}, "must be a text or a number"), ({"settings": {}}, "must be a list"),
                          ({"last": 5}, "is not known"), ({"lastMs": 10}, "lastMs"), ({"settings": [{"ORDER": "fifo"}] * 17}, "at most 16")):
            assert why in refused(400, ask, body), (body, why)
        refused(404, daemon.call, "POST", "/queues/Nowhere/whatif", {})
        refused(405, daemon.call, "GET", QUEUE + "/whatif")
        one_at_a_time(ask)
        ends_with_the_daemon(daemon, ask)
    finally:
        daemon.stop()
    daemon = Daemon(binary, pathlib.Path(folder) / "off", "--recording-bytes", "0", runner="fake").start()
    try:
        assert "--recording-bytes 0" in refused(404, daemon.call, "POST", QUEUE + "/whatif", {})
    finally:
        daemon.stop()


def refused(status, call, *arguments):
    try:
        answer = call(*arguments)
    except Refused as refusal:
        assert refusal.status == status, refusal
        return str(refusal)
    raise AssertionError(f"not refused: {answer}")


def one_at_a_time(ask):
    question = {"windowMs": 2000, "budgetMs": 30000, "settings": [{"ORDER": "lifo"}, {"ORDER": "deadline"}]}  # A second of work.
    with concurrent.futures.ThreadPoolExecutor(4) as clients:
        answers = [clients.submit(ask, question) for _ in range(4)]
    faults = [one.exception() for one in answers if one.exception()]
    assert 1 <= len(faults) < 4, faults
    for fault in faults:
        assert isinstance(fault, Refused) and fault.status == 429 and "one at a time" in str(fault), fault
    for one in answers:
        if not one.exception():
            check_figures(one.result())
    check_figures(ask({"settings": [{"ORDER": "lifo"}], "windowMs": 5000, "budgetMs": 30000}))


def ends_with_the_daemon(daemon, ask):
    question = {"windowMs": 2000, "budgetMs": 30000, "settings": [{"ORDER": "lifo", "CONCURRENCY": str(n)} for n in range(1, 17)]}

    def compare():
        while True:
            try:
                return ask(question)
            except Refused as refusal:
                if refusal.status != 429:  # The other one may come first.
                    raise

    with concurrent.futures.ThreadPoolExecutor(1) as client:
        answer = client.submit(compare)
        while True:  # Until one runs.
            try:
                ask({"windowMs": 2000, "budgetMs": 100, "settings": [{"ORDER": "lifo"}]})
            except Refused as refusal:
                if refusal.status == 429:
                    break
        daemon.process.send_signal(signal.SIGTERM)
        assert "the daemon is stopping" in refused(503, answer.result)
    assert daemon.process.wait(60 * SLOWER) == 0


if __name__ == "__main__":
    main(__doc__, "other settings are compared", says_what_other_settings_would_have_done, asks_the_daemon)
