#!/usr/bin/env python3
"""Functions as workers: TASK_RUNNER=function:NAME with a program in Python and one in Node.js, under the real binary.
Each task is an event; the answer is its result, an error a failure with its text, retryAfterMs a release. A function at
its reserved concurrency loses no attempt, one that is not there is told, and a cancelled task ends its invocation.
"""
import os
import pathlib
import shutil
import sys
import time
import urllib.request

from daemon import QUEUE, ROOT, Daemon, check_books, main

WORKER_PY = """import os, time
def handler(task, context):
    what = task["payload"]
    if what == "fail":
        raise ValueError("no stock for " + task["taskId"])
    if what == "later" and not os.path.exists(os.environ["MARKS"] + "/later"):
        open(os.environ["MARKS"] + "/later", "w").close()
        return {"retryAfterMs": 200, "reason": "not yet"}
    if what == "slow":
        time.sleep(0.05)
    if what == "hang":
        open(os.environ["MARKS"] + "/hangs", "w").write(str(os.getpid()))
        time.sleep(1000)
    return {"by": "python", "event": task, "left": context.get_remaining_time_in_millis()}
"""
WORKER_JS = """exports.handler = async (task) => {
  if (task.payload === "fail") throw new RangeError("no stock for " + task.taskId);
  return { by: "node", event: task };
};
"""
FUNCTION = """
  {name}:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: {name}
      Runtime: {runtime}
      CodeUri: {code}
      Handler: worker.handler
      Timeout: 30
      MemorySize: 256
      ReservedConcurrentExecutions: {at_once}
      Environment: {{Variables: {{PATH: /usr/local/bin:/usr/bin:/bin, MARKS: {marks}}}}}
"""
PAUSES = ["--set", "ProcessTasksFunction.BACKOFF_BASE_MS=0", "--set", "ProcessTasksFunction.LEASE_MS=600"]


class Workers(Daemon):
    def __init__(self, binary, folder, runner, *options, at_once=8):
        self.marks = folder / "marks"
        self.marks.mkdir(parents=True)
        code = folder / "code"
        code.mkdir()
        (code / "worker.py").write_text(WORKER_PY)
        (code / "worker.js").write_text(WORKER_JS)
        text = (ROOT / "config/lifo.yaml").read_text()
        ours = "".join(FUNCTION.format(name=name, runtime=runtime, code=code, at_once=at_once, marks=self.marks)
                       for name, runtime in [("PyWorker", "python3.11"), ("NodeWorker", "nodejs20.x")])
        template = folder / "template.yaml"
        template.write_text(text.replace("\nOutputs:\n", ours + "\nOutputs:\n"))
        super().__init__(binary, folder / "data", *PAUSES, *options, template=template, runner=runner)

    def put(self, name, payload, **members):
        return self.call("POST", QUEUE + "/tasks", {"taskId": name, "payload": payload, **members})

    def task(self, name):
        return self.call("GET", f"{QUEUE}/tasks/{name}")

    def wait(self, name, *states):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            task = self.task(name)
            if task["taskStatus"] in states:
                return task
            time.sleep(0.01)
        raise AssertionError(f"{name} is still {task}\n{self.log_tail()}")


def gone(pid):
    """True if it has ended, even if nobody has reaped it yet."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def answers(binary, folder, name, runtime):
    """Results, errors, and what the event holds."""
    workers = Workers(binary, folder, f"function:{name}").start()
    try:
        workers.put("good", {"order": 17}, deadlineMs=60_000)
        done = workers.wait("good", "SUCCESS")
        event = done["result"]["event"]
        assert done["result"]["by"] == runtime, done
        assert event["taskId"] == "good" and event["payload"] == {"order": 17} and event["attempt"] == 1, event
        assert event["deadline"] == done["deadline"] and event["lease"] and event["taskStatus"] == "TAKEN", event
        workers.put("bad", "fail", maxAttempts=2)
        dead = workers.wait("bad", "DEAD")
        kind = "ValueError" if runtime == "python" else "RangeError"
        assert dead["error"] == f"{kind}: no stock for bad" and dead["attempt"] == 2, dead
        assert workers.stats()["runner"] == "function", workers.stats()
        check_books(workers.stats())
    finally:
        workers.stop()


def metrics_of(daemon):
    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port}/metrics", timeout=30) as page:
        return page.read().decode()


def gives_back(binary, folder):
    """A release counts no attempt; what is throttled comes back; a cancelled task ends its invocation."""
    workers = Workers(binary, folder, "function:PyWorker", "--parameter", "Concurrency=8", at_once=2).start()
    try:
        workers.put("later", "later", maxAttempts=1)
        later = workers.wait("later", "SUCCESS", "DEAD")
        assert later["taskStatus"] == "SUCCESS" and later["attempt"] == 1, later
        names = [f"slow{i}" for i in range(12)]
        workers.call("POST", QUEUE + "/tasks", {"tasks": [{"taskId": name, "payload": "slow", "maxAttempts": 1} for name in names]})
        for name in names:
            done = workers.wait(name, "SUCCESS", "DEAD")
            assert done["taskStatus"] == "SUCCESS" and done["attempt"] == 1, done
        # Not by the shed log: a spell of bounces has its line when it ends.
        refusals = [line for line in metrics_of(workers).splitlines() if line.startswith("freshet_queue_downstream_refusals_total{")]
        assert any('"429"' in line and float(line.split()[-1]) > 0 for line in refusals), refusals

        workers.put("hang", "hang")
        mark = workers.marks / "hangs"
        end = time.monotonic() + 60
        while not (mark.exists() and mark.read_text()) and time.monotonic() < end:
            time.sleep(0.01)
        program = int(mark.read_text())
        workers.call("POST", QUEUE + "/cancel", {"taskIds": ["hang"]})
        workers.wait("hang", "CANCELLED")
        while not gone(program) and time.monotonic() < end:
            time.sleep(0.01)
        assert gone(program), "the program of a cancelled task goes on"
        check_books(workers.stats())
    finally:
        workers.stop()


def nobody(binary, folder):
    """A name that is wrong is told at the deployment and by the queue; the task waits, and is done once it is right."""
    workers = Workers(binary, folder, "function:Nobody").start()
    try:
        assert "the template has no function 'Nobody'" in workers.log_path.read_text(), workers.log_tail()
        workers.put("waits", {}, maxAttempts=1)
        end = time.monotonic() + 60
        trouble = None
        while not trouble and time.monotonic() < end:
            trouble = workers.stats().get("runnerTrouble")
            time.sleep(0.01)
        assert trouble["runner"] == "function Nobody" and "Function not found: Nobody" in trouble["message"], trouble
        assert workers.task("waits")["taskStatus"] != "DEAD", workers.task("waits")
    finally:
        workers.stop()
    workers.runner = "function:PyWorker"
    workers.start()
    try:
        assert workers.wait("waits", "SUCCESS", "DEAD")["taskStatus"] == "SUCCESS"
    finally:
        workers.stop()


def in_python(binary, folder):
    answers(binary, folder, "PyWorker", "python")


def in_node(binary, folder):
    if not shutil.which("node"):
        print("SKIPPED: there is no node on this machine", file=sys.stderr)
        return
    answers(binary, folder, "NodeWorker", "node")


if __name__ == "__main__":
    main(__doc__, "functions did the work", in_python, in_node, gives_back, nobody)
