#!/usr/bin/env python3
"""freshet serve: from the command to the first SUCCESS, with what it prints; and the template that it stands for."""
import http.server
import json
import queue
import shlex
import signal
import subprocess
import threading
import time
import urllib.request

from daemon import SLOWER, main

PATIENCE = 60 * SLOWER


class Handler:
    """An HTTP handler of tasks; `tasks` has each as it comes."""

    def __init__(self):
        tasks = self.tasks = queue.Queue()

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                tasks.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/send"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Served:
    """A daemon that prints what it does, and its lines by their first word."""

    def __init__(self, binary, folder, *argv, lines=5):
        self.log = open(folder / "daemon.log", "ab")
        self.process = subprocess.Popen([str(binary), *map(str, argv), "--listen", "127.0.0.1:0"], cwd=folder,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.text = [self.process.stdout.readline().rstrip("\n") for _ in range(lines)]
        assert self.text[-1], (folder / "daemon.log").read_text()[-3000:]
        self.lines = {line.split(":", 1)[0].strip(): line.split(":", 1)[1].strip() for line in self.text}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.log.close()


def shell(command, **options):
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=PATIENCE, **options)
    assert run.returncode == 0, (command, run)
    return run.stdout


def words_of(served, line):
    """The printed command's words, with options for a test: once instead of again and again."""
    return shlex.split(served.lines[line])


def first_success(binary, folder):
    """The printed commands work when they are pasted, and their tasks arrive."""
    with Handler() as handler, Served(binary, folder, "serve", "emails", "--to", handler.url, "--rate", "100",
                                      "--deadline", "30s", "--keep", "1h") as served:
        assert served.lines["emails"].startswith(f"POST {handler.url}, 100 starts a second, 8 at once"), served.text
        assert str(folder / "freshet-data/emails") in served.lines["emails"], served.text
        created = json.loads(shell(served.lines["put"]))
        assert handler.tasks.get(timeout=PATIENCE)["taskId"] == created["taskId"]
        second = shell(served.lines["or"]).strip()
        task = handler.tasks.get(timeout=PATIENCE)
        assert task["taskId"] == second and task["payload"] == {"to": "ada"}, task
        watch = words_of(served, "watch")
        del watch[watch.index("--watch"):watch.index("--watch") + 2]
        assert "SUCCESS" in shell(shlex.join(watch))
    # Durable where it said: another start with the same words has them still.
    with Handler() as handler, Served(binary, folder, "serve", "emails", "--to", handler.url) as served:
        options = shlex.join(words_of(served, "or")[3:])
        found = json.loads(shell(f"{binary} get {second} {options} --json"))
        assert found["taskStatus"] == "SUCCESS", found


def the_template(binary, folder):
    """`freshet run` takes what --print-template prints, and does the same."""
    with Handler() as handler:
        command = [str(binary), "serve", "emails", "--to", handler.url, "--rate", "50", "--attempts", "2", "--late", "useless"]
        template = subprocess.run([*command, "--print-template"], capture_output=True, text=True, timeout=PATIENCE, check=True)
        assert template.stderr == "" and not (folder / "freshet-data").exists()
        (folder / "emails.yaml").write_text(template.stdout)
        policies = []
        for argv in (command[1:], ["run", "emails.yaml"]):
            ready = folder / "ready"
            ready.unlink(missing_ok=True)
            with open(folder / "daemon.log", "ab") as log:
                daemon = subprocess.Popen([str(binary), *argv, "--data", ":memory:", "--listen", "127.0.0.1:0",
                                           "--ready-file", str(ready)], cwd=folder, stdout=log, stderr=log)
                try:
                    while not ready.exists():
                        assert daemon.poll() is None, (folder / "daemon.log").read_text()[-3000:]
                    where = ["--url", ready.read_text().strip(), "--queue", "emails", "--json"]
                    put = subprocess.run([str(binary), "put", '{"n": 1}', *where], capture_output=True, text=True, timeout=PATIENCE)
                    assert put.returncode == 0, put
                    assert handler.tasks.get(timeout=PATIENCE)["payload"] == {"n": 1}
                    with urllib.request.urlopen(where[1] + "/queues/emails/policy", timeout=PATIENCE) as answer:
                        policies.append(json.load(answer))
                    deployed = subprocess.run([str(binary), "deploy", "emails.yaml", *where[:2]], cwd=folder, capture_output=True,
                                              text=True, timeout=PATIENCE)
                    assert deployed.returncode == 0 and "nothing to change" in deployed.stdout, deployed
                finally:
                    daemon.send_signal(signal.SIGTERM)
                    daemon.wait(PATIENCE)
        assert policies[0] == policies[1] and policies[0]["ORDER"] == "deadline", policies


def a_function(binary, folder):
    """A file is enough: its function is called with each task, and its answer is the result."""
    (folder / "send.py").write_text("def main(task, context):\n    return {'sent': task['payload']['to']}\n")
    with Served(binary, folder, "serve", "emails", "--function", "send.py:main", "--data", ":memory:") as served:
        task = shell(served.lines["or"]).strip()
        options = shlex.join(words_of(served, "or")[3:])
        while True:
            found = json.loads(shell(f"{binary} get {task} {options} --json"))
            if found["taskStatus"] not in ("PENDING", "TAKEN"):
                break
        assert found["taskStatus"] == "SUCCESS" and found["result"] == {"sent": "ada"}, found


def a_function_that_cannot_start(binary, folder):
    """Its owner is told at the start, before the first task, where the fault is and what to do."""
    files = {"lost.py": "def handler(task, context):\n    return 1\n", "torn.py": "def handler(task, context):\n    return (\n",
             "poor.py": "import no_such_module\n\ndef handler(task, context):\n    return 1\n",
             "torn.mjs": "export const handler = async () => {\n  const = 5;\n};\n",
             "exits.py": "import sys\nsys.exit(3)\n"}
    for name, text in files.items():
        (folder / name).write_text(text)
    for function, told in (("lost.py:main", ("Handler 'main' missing on module 'lost'", "Define it there, or name another one")),
                           ("torn.py", ("(torn.py, line 2)", "Mend the file")),
                           ("poor.py", ("No module named 'no_such_module'", "Install what is missing")),
                           ("torn.mjs", ("(torn.mjs, line 2)", "Mend the file")),
                           ("torn.mjs:other", ("(torn.mjs, line 2)",)),
                           ("exits.py", ("exit status 3", "See what it has logged"))):
        log = folder / "start.log"
        with open(log, "wb") as out:
            daemon = subprocess.Popen([str(binary), "serve", "emails", "--function", function, "--data", ":memory:", "--json",
                                       "--listen", "127.0.0.1:0"], cwd=folder, stdout=out, stderr=out)
        try:
            while b"FUNCTION_NOT_READY" not in log.read_bytes():
                assert daemon.poll() is None, log.read_text()
                time.sleep(0.01)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(PATIENCE)
        event = next(json.loads(line) for line in log.read_text().splitlines() if "FUNCTION_NOT_READY" in line)
        assert all(part in event["message"] for part in told) and str(folder) in event["message"], (function, event)
        # None of it counts as an invocation.
        assert '"FUNCTION_ERROR"' not in log.read_text(), log.read_text()
    # Without its interpreter nothing starts at all.
    run = subprocess.run([str(binary), "serve", "emails", "--function", "lost.py", "--data", ":memory:"], cwd=folder, capture_output=True,
                         text=True, timeout=PATIENCE, env={"PATH": str(folder)})
    assert run.returncode == 2 and run.stderr.startswith("freshet serve: --function: Runtime python3 needs python3, and PATH ("), run


def workers_that_pull(binary, folder):
    """The sixth line takes what the third has put."""
    with Served(binary, folder, "serve", "renders", "--pull", "--timeout", "5m", "--data", ":memory:", lines=6) as served:
        created = json.loads(shell(served.lines["put"]))
        taken = json.loads(shell(served.lines["take"]))
        assert [task["taskId"] for task in taken["tasks"]] == [created["taskId"]], taken


def refused(binary, folder):
    """Wrong words are told at once, and nothing is opened."""
    to = ("--to", "http://127.0.0.1:1/")
    for argv, told in (
            (("emails",), "say who does the work"),
            (("emails", *to, "--pull"), "--to and --pull contradict each other"),
            (("emails", *to, "--deadline", "5"), "--deadline: '5' has no unit: write 5s for seconds"),
            (("emails", *to, "--deadline", "500d"), "it must be from 1ms to 366d"),
            (("emails", *to, "--rate", "0"), "freshet pause NAME"),
            (("emails", *to, "--late", "usless"), "did you mean"),
            (("emails", "--pull", "--concurrency", "5"), "--concurrency and --pull contradict each other"),
            (("e", *to), "it must have 3 to 255 letters"),
            (("emails", "--function", "none.py"), "there is no file 'none.py'"),
            (("emails", *to, "--set", "MAX_WAITNG=1"), "MAX_WAITING"),
            (("emails", *to, "--listen", "0.0.0.0:0"), "--credentials")):
        run = subprocess.run([str(binary), "serve", *argv], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
        assert run.returncode == 2 and told in run.stderr and run.stdout == "", (argv, run)
        assert list(folder.iterdir()) == [], argv


if __name__ == "__main__":
    main(__doc__, "served", refused, first_success, the_template, workers_that_pull, a_function, a_function_that_cannot_start)
