#!/usr/bin/env python3
"""A template changed while the daemon runs: `freshet deploy` and SIGHUP do the difference; items and events stay. And what
the loop of a developer needs: `freshet logs` and `freshet watch`."""
import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.request

from daemon import LARGER, ROOT, Daemon, Refused, main

QUEUE = """\
    Type: AWS::DynamoDB::Table
    Metadata: {Freshet: {Queue: true}}
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - {AttributeName: taskId, AttributeType: S}
        - {AttributeName: taskStatus, AttributeType: S}
        - {AttributeName: taskCreated, AttributeType: N}
      KeySchema: [{AttributeName: taskId, KeyType: HASH}]
      GlobalSecondaryIndexes:
        - IndexName: task-status-created-index
          KeySchema:
            - {AttributeName: taskStatus, KeyType: HASH}
            - {AttributeName: taskCreated, KeyType: RANGE}
          Projection: {ProjectionType: ALL}
"""
BASE = """
Transform: AWS::Serverless-2016-10-31
Parameters:
  Limit: {Type: Number, Default: 0}
Resources:
  QueueTable:
@QUEUE@      StreamSpecification: {StreamViewType: KEYS_ONLY}
  CreateTasksFunction:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: native
      Handler: create_tasks
      Timeout: TIMEOUT
      ReservedConcurrentExecutions: !Ref Limit
      Environment:
        Variables: {QUEUE_TABLE: !Ref QueueTable, CREATE_TASKS: '1', CREATE_INTERVAL_MS: '0'}
"""
TOPIC = """
  News:
    Type: AWS::SNS::Topic
"""
OTHER = """
  Other:
@QUEUE@"""
EVENTS = 40


def wait_for(what, condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.02)


def template(folder, *parts, timeout=20):
    path = folder / "template.yaml"
    path.write_text("".join((BASE, *parts)).replace("@QUEUE@", QUEUE).replace("TIMEOUT", str(timeout)))
    return path


def started(binary, folder, path):
    daemon = Daemon(binary, folder, "--log-level", "info", template=None)
    daemon.options = (str(path),)
    return daemon.start()


def freshet(daemon, *words, status=0):
    run = subprocess.run([str(daemon.binary), *map(str, words)], capture_output=True, text=True, timeout=60, cwd=ROOT,
                         env={**os.environ, "FRESHET_URL": f"http://127.0.0.1:{daemon.port}"}, check=False)
    assert run.returncode == status, (words, run)
    return run


def changes(run):
    return sorted(line for line in run.stdout.splitlines() if line[:1] in "+~-=")


def deploys_the_difference(binary, folder):
    path = template(folder, TOPIC)
    daemon = started(binary, folder, path)
    try:
        for number in range(5):
            daemon.call("POST", "/queues/QueueTable/tasks", {"tasks": [{"taskId": f"kept-{number}"}]})
        # Nothing of these can run: the function has no place.
        for _ in range(EVENTS):
            freshet_invoke = daemon.call("POST", "/2015-03-31/functions/CreateTasksFunction/invocations", {},
                                         {"X-Amz-Invocation-Type": "Event"})
            assert freshet_invoke == {}, freshet_invoke
        assert len(daemon.tasks("PENDING")) == 5

        template(folder, OTHER, timeout=30)  # Without the topic, with another queue.
        wanted = ["+ table Other", "- topic News", "~ function CreateTasksFunction: timeout"]
        assert changes(freshet(daemon, "deploy", path, "--dry-run")) == wanted
        assert "News" in [name.split(":")[-1] for name in topics(daemon)]
        assert changes(freshet(daemon, "deploy", path)) == wanted
        assert topics(daemon) == []
        assert freshet(daemon, "deploy", path).stdout.startswith("nothing to change")
        daemon.call("POST", "/queues/Other/tasks", {"tasks": [{"taskId": "in the other"}]})  # Served at once.

        # Killed, and what was deployed and queued is there; then the limit goes and all of it runs.
        daemon.kill()
        daemon.start()
        assert len(daemon.tasks("PENDING")) == 5
        run = freshet(daemon, "deploy", path, "--parameter", "Limit=1", "--json")
        assert json.loads(run.stdout)["changes"] == [{"change": "change", "type": "function", "name": "CreateTasksFunction",
                                                      "detail": "reserved concurrency"}], run
        wait_for("all events", lambda: len(daemon.tasks("PENDING")) == 5 + EVENTS)
    finally:
        daemon.stop()


def topics(daemon):
    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port}/", b"Action=ListTopics&Version=2010-03-31") as answer:
        return [part.split("</TopicArn>")[0] for part in answer.read().decode().split("<TopicArn>")[1:]]


def says_what_is_wrong_and_changes_nothing(binary, folder):
    path = template(folder)
    daemon = started(binary, folder, path)
    try:
        for parts, text in (
                ("  F: {Type: 'AWS::Serverless::Function', Properties: {Runtime: native, Handler: nobody}}\n",
                 "there is no native handler 'nobody'"),
                ("  F: {Type: 'AWS::Serverless::Function', Properties: {Runtime: native}}\n", "F.Properties: Handler is missing"),
                ("  F: {Type: 'AWS::Serverless::Function', Properties: {Runtime: nodejs20.x, Handler: a.b, CodeUri: none/}}\n",
                 "is not a folder"),
                ("  A: {Type: 'AWS::SNS::Topic', DependsOn: B}\n  B: {Type: 'AWS::SNS::Topic', DependsOn: A}\n", "depend on each other: A -> B -> A"),
                ("  T: {Type: 'AWS::SNS::Topic', Properties: {TopicName: {a: b}}}\n", "T.TopicName: expected text, found a map"),
                ("  T: {Type: 'AWS::SNS::Topic', Properties: {TopicName: !Ref Nobody}}\n", "Nobody"),
                ("  F: [not, a, resource]\n", "F")):
            template(folder, TOPIC, parts)
            run = freshet(daemon, "deploy", path, status=2)
            assert text in run.stderr and f"{path}:" in run.stderr, (parts, run.stderr)
        path.write_text("not: [closed")
        assert f"{path}:" in freshet(daemon, "deploy", path, status=2).stderr
        assert topics(daemon) == []
        with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port}/metrics") as page:
            assert "freshet_deployments_refused_total 8\n" in page.read().decode(), "each is counted"
        freshet(daemon, "deploy", folder / "nowhere.yaml", status=2)
        template(folder)
        for name in ("parameters", "settings"):
            try:  # Not taken for none, which would deploy with the defaults.
                daemon.call("POST", "/deploy", {"file": str(path), "template": path.read_text(), name: "Limit=1"})
                raise AssertionError(f"{name} that are no list")
            except Refused as refused:
                assert refused.status == 400 and "must be a list" in str(refused), refused
        path.write_text(json.dumps({"Resources": {"Json": {"Type": "AWS::SNS::Topic"}}}))
        run = freshet(daemon, "deploy", path)
        assert changes(run) == ["+ topic Json", "- function CreateTasksFunction",
                                "= table QueueTable (no longer in the template; stays with its items)"], run.stdout
        assert "stays with its items, and if it was a queue it is none now" in daemon.log_tail(), daemon.log_tail()
    finally:
        daemon.stop()


def a_dry_run_touches_nothing(binary, folder):
    daemon = started(binary, folder, template(folder))
    try:
        captures = folder / "captures"
        captures.mkdir()
        kept = captures / ".freshet-probe"
        kept.write_text("mine")
        before = captures.stat().st_mtime_ns
        function = ("  Capture: {Type: 'AWS::Serverless::Function', Properties: {Runtime: native, Handler: capture_changes,\n"
                    "    Environment: {Variables: {CAPTURE_FOLDER: '@FOLDER@'}}}}\n")
        path = template(folder, function.replace("@FOLDER@", str(captures)))
        assert changes(freshet(daemon, "deploy", path, "--dry-run")) == ["+ function Capture"]
        assert kept.exists() and kept.read_text() == "mine" and captures.stat().st_mtime_ns == before, "the folder was touched"
        path = template(folder, function.replace("@FOLDER@", str(captures / "nowhere")))
        assert "CAPTURE_FOLDER is '" in freshet(daemon, "deploy", path, "--dry-run", status=2).stderr

        for parts, text in (("  T: {Type: 'AWS::Serverless::SimpleTable', Properties: {TableName: freshet.system}}\n",
                             "T.TableName: names that start with 'freshet.' are those of Freshet's own tables"),
                            ("  F: {Type: 'AWS::Serverless::Function', Properties: {Runtime: native, Handler: count_states,\n"
                             "    Environment: {Variables: {METRICS_TABLE: freshet.system}}}}\n",
                             "METRICS_TABLE is 'freshet.system': names that start with 'freshet.'")):
            run = freshet(daemon, "deploy", template(folder, parts), "--dry-run", status=2)
            assert text in run.stderr, run.stderr
    finally:
        daemon.stop()


def large_templates_end_nobody(binary, folder):
    """A template that would take gigabytes or the whole stack is refused, and the daemon lives."""
    daemon = started(binary, folder, template(folder))
    try:
        resources = "Resources:\n  T: {Type: 'AWS::SNS::Topic'}\n"
        chain = "Resources:\n"
        for number in range(6000):
            name = f"!Ref T{number + 1}" if number < 5999 else "last"
            chain += f" T{number}: {{Type: 'AWS::Serverless::SimpleTable', Properties: {{TableName: {name}}}}}\n"
        aliases = f"Metadata: {{a: &a '{'x' * 40_000}', all: [{', '.join(['*a'] * 10_000)}]}}\n" + resources
        splits = ", ".join(["!Split [',', !Ref P]"] * 200)
        splits = (f"Parameters: {{P: {{Type: String, Default: '{',' * 60_000}'}}}}\n" + resources
                  + f"Outputs: {{X: {{Value: !Length [{splits}]}}}}\n")
        for text, message in ((aliases, "16 MiB of text"), (splits, "250000 values"), (chain, "levels deep")):
            try:
                daemon.call("POST", "/deploy", {"file": str(folder / "large.yaml"), "template": text, "dryRun": True})
                raise AssertionError("it was taken")
            except Refused as refused:
                assert refused.status == 400 and message in str(refused), str(refused)[:1000]
        peak = next(line for line in pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
                    if line.startswith("VmHWM"))
        assert int(peak.split()[1]) < LARGER * 400_000, peak
        try:
            daemon.call("POST", "/deploy", {"file": str(folder / "many.yaml"), "template": resources, "settings": ["F.A=1"] * 2000})
            raise AssertionError("it was taken")
        except Refused as refused:
            assert refused.status == 400 and "1000 are allowed" in str(refused), refused
    finally:
        daemon.stop()


def reads_the_template_again_on_sighup(binary, folder):
    path = template(folder)
    daemon = started(binary, folder, path)
    try:
        template(folder, TOPIC)
        daemon.process.send_signal(signal.SIGHUP)
        wait_for("the topic", lambda: len(topics(daemon)) == 1)
        path.write_text("Resources: [")
        daemon.process.send_signal(signal.SIGHUP)
        wait_for("the refusal", lambda: "DEPLOY_REFUSED" in daemon.log_path.read_text())
        assert len(topics(daemon)) == 1 and daemon.process.poll() is None
    finally:
        daemon.stop()


def follows_logs_and_tasks(binary, folder):
    daemon = started(binary, folder, template(folder))
    following = []
    try:
        environment = {**os.environ, "FRESHET_URL": f"http://127.0.0.1:{daemon.port}"}
        follow = lambda *words: following.append(subprocess.Popen([str(binary), *words], stdout=subprocess.PIPE, text=True,
                                                                  stderr=subprocess.PIPE, env=environment)) or following[-1]
        watch = follow("watch")
        assert "watching QueueTable" in watch.stderr.readline()
        tail = follow("logs", "-f", "--all", "--where", "taskId=seen")
        for name in ("seen", "seen-too"):
            daemon.call("POST", "/queues/QueueTable/tasks", {"tasks": [{"taskId": name}]})
        assert watch.stdout.readline().split()[1:] == ["seen", "(new)", "->", "PENDING"]
        taken = daemon.call("POST", "/queues/QueueTable/take", {"max": 1})["tasks"][0]
        daemon.call("POST", "/queues/QueueTable/settle",
                    {"settle": [{"taskId": taken["taskId"], "lease": taken["lease"], "outcome": "complete"}]})
        moves = [watch.stdout.readline().split()[1:] for _ in range(3)]
        assert moves == [["seen-too", "(new)", "->", "PENDING"], ["seen-too", "PENDING", "->", "TAKEN", "attempt", "1"],
                         ["seen-too", "TAKEN", "->", "SUCCESS"]], moves

        code = folder / "code"
        code.mkdir()
        (code / "app.py").write_text("import json\ndef handler(event, context):\n    print(json.dumps({'deep': [event]}))\n"
                                     "    print('task', event['taskId'], 'in words')\n")
        path = template(folder, "  Say: {Type: 'AWS::Serverless::Function', Properties: {Runtime: python3.11, Handler: "
                                "app.handler, CodeUri: code/}}\n")
        freshet(daemon, "deploy", path)
        for name in ("seen-not", "seen"):
            daemon.call("POST", "/2015-03-31/functions/Say/invocations", {"taskId": name})
        assert tail.stdout.readline().strip().endswith('{"deep": [{"taskId": "seen"}]}')
        assert tail.stdout.readline().strip().endswith("task seen in words")
        lines = freshet(daemon, "logs", "Say").stdout.splitlines()
        assert len(lines) == 4 and all(" Say " in line for line in lines), lines
        document = json.loads(freshet(daemon, "logs", "--json", "--where", "taskId=seen-not").stdout.splitlines()[0])
        assert (document["event"], document["function"]) == ("FUNCTION_LOG", "Say"), document
        freshet(daemon, "logs", "--where", "nothing", status=2)
    finally:
        for process in following:
            process.terminate()
            process.communicate(timeout=30)
        daemon.stop()


def uses_what_changes_with_watch(binary, folder):
    code = folder / "code"
    code.mkdir()
    says = lambda text: (code / "app.py").write_text(f"def handler(event, context):\n    return {text!r}\n")
    says("first")
    function = "  Say: {Type: 'AWS::Serverless::Function', Properties: {Runtime: python3.11, Handler: app.handler, CodeUri: code/}}\n"
    daemon = Daemon(binary, folder, "--watch", template=None)
    daemon.options = (str(template(folder, function)), "--watch")
    daemon.start()
    try:
        invoke = lambda: daemon.call("POST", "/2015-03-31/functions/Say/invocations", {})
        assert invoke() == "first"
        assert invoke() == "first"
        for text in ("other", "third", "a second text"):  # The same size and nearly the same time: Python must see the change.
            says(text)
            wait_for("the new code", lambda: invoke() == text)
        assert not (code / "__pycache__").exists()
        template(folder, function, TOPIC)
        wait_for("the new template", lambda: len(topics(daemon)) == 1)
        assert invoke() == "a second text"
    finally:
        daemon.stop()


if __name__ == "__main__":
    main(__doc__, "templates change while the daemon runs", deploys_the_difference, says_what_is_wrong_and_changes_nothing,
         a_dry_run_touches_nothing, large_templates_end_nobody, reads_the_template_again_on_sighup, follows_logs_and_tasks, uses_what_changes_with_watch)
