#!/usr/bin/env python3
"""Messages of commands: each names the cause and what to do."""
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from daemon import main

PATIENCE = 60


class Queue:
    """`freshet serve NAME --pull` in memory or in `data`, and commands that ask it."""

    def __init__(self, binary, folder, *options, name="jobs", data=":memory:", log_options=("--json",)):
        ready = folder / f"ready-{name}"
        ready.unlink(missing_ok=True)
        self.binary = binary
        argv = [str(binary), "serve", name, "--pull", "--data", str(data), "--listen", "127.0.0.1:0", "--ready-file", str(ready)]
        self.process = subprocess.Popen([*argv, *log_options, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)
        while not ready.exists() or not ready.read_text().strip():
            assert self.process.poll() is None, argv
            time.sleep(0.005)
        self.url = ready.read_text().strip()
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith("FRESHET_")}
        self.environment["FRESHET_URL"] = self.url

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """All that it has printed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.communicate(timeout=PATIENCE)[0]
        finally:
            self.process.kill()

    def __call__(self, *words, status=0, **environment):
        run = subprocess.run([str(self.binary), *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                             stdin=subprocess.DEVNULL, env={**self.environment, **environment})
        assert run.returncode == status, (words, run)
        return run


def a_program_that_is_missing(binary, folder):
    """--exec is named, and not a line of a template that nobody wrote."""
    for program, said in (("nothere", "--exec: program 'nothere' was not found in PATH"), ("./nothere", "--exec: './nothere': No such file")):
        run = subprocess.run([str(binary), "serve", "jobs", "--exec", program + " -x", "--data", ":memory:", "--listen", "127.0.0.1:0"],
                             cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
        assert run.returncode == 2 and said in run.stderr and run.stderr.count("\n") == 1, run
        assert os.environ["PATH"] not in run.stderr and "template" not in run.stderr, run
        # The template is for whoever has the program.
        run = subprocess.run([str(binary), "serve", "jobs", "--exec", program, "--print-template"], cwd=folder, capture_output=True,
                             text=True, timeout=PATIENCE)
        assert run.returncode == 0 and program in run.stdout and run.stderr == "", run


def the_only_queue_needs_no_name(binary, folder):
    with Queue(binary, folder) as freshet:
        task = freshet("put", '{"to": "ada"}').stdout.strip()
        assert json.loads(freshet("get", task, "--json").stdout)["payload"] == {"to": "ada"}
        assert task in freshet("list").stdout
        assert "PENDING" in freshet("stats").stdout
        assert "nobody: " not in freshet("explain", task).stdout
        assert freshet("cancel", "--state", "PENDING").stdout == "1 cancelled\n"
        assert "REQUEST_REFUSED" not in freshet("logs", "--all").stdout, "the log shows guesses at the queue's name"
        # A name that was given is not guessed at.
        for words in (("put", "x", "--queue", "QueueTable"), ("put", "x", "--queue", "job")):
            assert "this daemon has jobs" in freshet(*words, status=3).stderr
        assert "'nope'" in freshet("get", "nope", status=3).stderr


def of_several_queues_one_must_be_named(binary, folder):
    template = folder / "two.yaml"
    run = subprocess.run([str(binary), "serve", "jobs", "--pull", "--print-template"], capture_output=True, text=True, timeout=PATIENCE)
    first = run.stdout.split("Resources:")[1]
    names = ("QueueTable", "TriggerTopic", "ProcessTasksTopic", "TriggerFunction", "ProcessTasksFunction")
    second = first.replace("'jobs'", "'mails'")
    for name in names:
        second = second.replace(name, "Mail" + name)
    template.write_text(run.stdout + second)
    ready = folder / "ready"
    daemon = subprocess.Popen([str(binary), "run", str(template), "--data", ":memory:", "--listen", "127.0.0.1:0", "--ready-file",
                               str(ready)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not ready.exists() or not ready.read_text().strip():
            assert daemon.poll() is None
            time.sleep(0.005)
        environment = {**os.environ, "FRESHET_URL": ready.read_text().strip()}
        environment.pop("FRESHET_QUEUE", None)
        run = subprocess.run([str(binary), "put", "x"], capture_output=True, text=True, env=environment, timeout=PATIENCE)
        assert run.returncode == 3, run
        assert run.stderr.startswith("freshet: which one? there are jobs, mails: name one with --queue (or FRESHET_QUEUE)"), run
    finally:
        daemon.terminate()
        daemon.wait(PATIENCE)


def a_setting_that_is_misspelt(binary, folder):
    with Queue(binary, folder) as freshet:
        for name in ("RATE", "RATE_LIMT", "rate-limit"):
            said = freshet("policy", "jobs", name + "=5", status=2).stderr
            assert f"'{name}' is no setting that can be changed here (did you mean 'RATE_LIMIT'?)" in said, said
            assert len(said) < 250, said


def a_single_id_is_refused_in_one_line(binary, folder):
    with Queue(binary, folder) as freshet:
        for command in ("redrive", "cancel"):
            said = freshet(command, "nope", status=3).stderr
            assert "queue 'jobs' has no task 'nope'" in said and said.count("\n") == 1, said


def what_lines_explain_prints_fit_the_screen(binary, folder):
    with Queue(binary, folder) as freshet:
        task = freshet("put", "x").stdout.strip()
        for columns in (60, 80, 100):
            text = freshet("explain", task, COLUMNS=str(columns)).stdout
            # A setting is one word, however long it is.
            assert all(len(line) <= columns or " " not in line.strip() for line in text.splitlines()), (columns, text)
            assert "no worker waits for a task" in " ".join(text.split()), text


def data_goes_into_the_payload(binary, folder):
    with Queue(binary, folder) as freshet:
        request = urllib.request.Request(freshet.url + "/queues/jobs/tasks", data=b'{"to": "ada"}')
        try:
            urllib.request.urlopen(request, timeout=PATIENCE)
            raise AssertionError("it was taken")
        except urllib.error.HTTPError as answer:
            said = json.load(answer)["error"]["message"]
        assert said.endswith('your own data goes into \'payload\', as in {"payload": {"to": "ada"}}'), said


def the_end_is_told(binary, folder):
    """The last sentence says what was done, what is left, and where."""
    data = folder / "jobs"
    queue = Queue(binary, folder, data=data, log_options=())
    queue("put", "x")
    text = queue.stop()
    assert text.splitlines()[-1] == (f"stopped: 0 tasks were done, 1 waits. All is kept in {data}: a start with this folder goes on with "
                                     "what is left"), text
    queue = Queue(binary, folder, log_options=())
    queue("put", "x")
    assert queue.stop().splitlines()[-1] == ("stopped: 0 tasks were done, 1 waits; what is left is gone, as nothing was kept on disk")
    queue = Queue(binary, folder)
    assert queue.stop() == "", "with --json nothing else is printed"


def a_redriven_task_is_counted_once(binary, folder):
    """At the end it counts as what became of it at last, and what failed before this start is not this start's."""
    data = folder / "jobs"

    def give_up(queue, *ids):
        for task in ids:
            queue("put", "x", "--id", task)
        take = urllib.request.Request(queue.url + "/queues/jobs/take", data=b'{"max": 9}')
        for task in json.load(urllib.request.urlopen(take, timeout=PATIENCE))["tasks"]:
            settle(queue, task, "fail" if task["taskId"] in ids else "complete")

    def settle(queue, task, outcome):
        body = {"settle": [{"taskId": task["taskId"], "lease": task["lease"], "outcome": outcome}]}
        urllib.request.urlopen(urllib.request.Request(queue.url + "/queues/jobs/settle", data=json.dumps(body).encode()), timeout=PATIENCE)

    queue = Queue(binary, folder, "--attempts", "1", data=data, log_options=())
    give_up(queue, "old")
    assert queue.stop().splitlines()[-1].startswith("stopped: 0 tasks were done, 1 failed, 0 wait.")
    queue = Queue(binary, folder, "--attempts", "1", data=data, log_options=())
    give_up(queue, "a", "b")
    queue("redrive", "a")
    queue("redrive", "old")
    give_up(queue)
    assert queue.stop().splitlines()[-1].startswith("stopped: 2 tasks were done, 1 failed, 0 wait.")


def a_function_that_is_misspelt(binary, folder):
    with Queue(binary, folder) as freshet:
        said = freshet("invoke", "TriggerFuncton", status=3).stderr
        assert said == "freshet: there is no function 'TriggerFuncton' (did you mean 'TriggerFunction'?)\n", said
        said = freshet("invoke", "Greet", status=3).stderr
        assert said == "freshet: there is no function 'Greet'; there are ProcessTasksFunction, TriggerFunction\n", said


def a_wrong_key_is_told_in_a_line(binary, folder):
    """Without the text that should have been signed, which is of use to whoever writes a client only."""
    for name, secret in (("right", "one"), ("wrong", "two")):
        (folder / name).write_text(f"[default]\naws_access_key_id=AKID\naws_secret_access_key={secret}\n")
        (folder / name).chmod(0o600)
    with Queue(binary, folder, "--credentials", str(folder / "right")) as freshet:
        said = freshet("put", "x", "--queue", "jobs", "--credentials", folder / "wrong", status=1).stderr
        assert "Check your AWS Secret Access Key and signing method; the access key is the first one in " in said, said
        assert len(said) < 400 and "Canonical" not in said, said
        assert freshet("put", "x", "--credentials", folder / "right").stdout


def what_a_user_may_not_do(binary, folder):
    """A file, a data folder or a port that belongs to root says so, and who could use it."""
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    folder.chmod(0o755)
    if subprocess.run([*user, str(binary), "--version"], capture_output=True, timeout=PATIENCE, check=False).returncode != 0:
        print("SKIPPED: another user may not run the program", file=sys.stderr)
        return
    closed = folder / "closed"
    closed.write_text("{}")
    closed.chmod(0)
    (folder / "data").mkdir()
    (folder / "data").chmod(0o555)
    serve = ("serve", "jobs", "--pull", "--data")
    for words, said in ((("put", "x", "--credentials", closed), f"cannot read '{closed}': Permission denied (chmod or chown lets this user read it)"),
                        (("put", "x", "--ca", closed), "Permission denied (chmod or chown lets this user read it)"),
                        ((*serve, folder / "data", "--listen", "127.0.0.1:0"), "Permission denied (the daemon's user may not write there: give it")):
        run = subprocess.run([*user, str(binary), *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert run.returncode in (1, 2) and said in run.stderr, run


if __name__ == "__main__":
    main(__doc__, "words", a_program_that_is_missing, the_only_queue_needs_no_name, of_several_queues_one_must_be_named,
         a_setting_that_is_misspelt, a_single_id_is_refused_in_one_line, what_lines_explain_prints_fit_the_screen,
         data_goes_into_the_payload, a_function_that_is_misspelt, a_wrong_key_is_told_in_a_line, the_end_is_told,
         a_redriven_task_is_counted_once, what_a_user_may_not_do)
