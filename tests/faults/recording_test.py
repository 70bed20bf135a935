#!/usr/bin/env python3
"""`freshet recording save`: what the flight recorder of a running daemon has is simulated and comes to what the daemon's books say."""
import http.server
import json
import pathlib
import subprocess
import threading
import time
import urllib.parse

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
        told = json.loads(freshet(binary, "recording", "save", recording, "--url", url, "--json").stdout)
        assert told["queue"] == "QueueTable" and told["from"] < told["to"] and told["changes"] >= created, told
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


HEAD = {"freshet": "recording", "version": 1, "queue": "QueueTable", "to": 90_000, "forgot": True, "policy": {"ORDER": "lifo"}}


class Forgetful(http.server.BaseHTTPRequestHandler):
    """A daemon that forgets events while a recording is read, as often as `losses` says."""

    protocol_version = "HTTP/1.1"
    losses, asked = 0, []

    def do_GET(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        server = type(self)
        server.asked.append(query)
        status, next_place, lines = 200, None, []
        if "place" not in query:
            next_place, start = "1", int(query.get("from", 10_000))
            lines = [{**HEAD, "from": start}, {"at": 80_000, "task": 1, "to": "PENDING", "about": {}}]
        elif server.losses > 0:
            server.losses -= 1
            status, lines = 409, [{"error": {"code": "ConflictException", "message": "events have been forgotten"}}]
        else:
            lines = [{"at": 85_000, "task": 1, "from": "PENDING", "to": "TAKEN"}, {"at": 86_000, "task": 1, "from": "TAKEN", "to": "SUCCESS"}]
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if next_place:
            self.send_header("X-Freshet-Next", next_place)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def says_since_when_it_is_complete_where_events_were_forgotten(binary, folder):
    saved = pathlib.Path(folder) / "torn.jsonl"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        save = ("recording", "save", saved, "--queue", "QueueTable", "--url", f"http://127.0.0.1:{server.server_port}")
        Forgetful.losses, Forgetful.asked = 2, []
        done = freshet(binary, *save)
        starts = [query.get("from") for query in Forgetful.asked if "place" not in query]
        assert starts == [None, "30000", "45000"], starts
        assert done.stderr.count("forgot the oldest events while they were fetched") == 2, done
        assert "45.0 s of QueueTable saved: 3 changes since 1970-01-01T00:00:45.000Z" in done.stderr, done
        assert json.loads(saved.read_text().splitlines()[0])["start"] == "1970-01-01T00:00:45.000Z", saved.read_text()
        Forgetful.losses = 1_000
        refused = freshet(binary, *save, status=4)
        assert "events have been forgotten" in refused.stderr, refused
        server.shutdown()


if __name__ == "__main__":
    main(__doc__, "the simulation comes to the same", saves_what_happened_and_simulates_it,
         says_since_when_it_is_complete_where_events_were_forgotten)
