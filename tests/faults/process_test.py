#!/usr/bin/env python3
"""Programs of functions that crash at start, hang, fork, flood their log, answer garbage and eat memory, under the real
binary: each is its own invocation's error, the next function works as before, and nothing outlives the daemon.
"""
import http.client
import json
import os
import pathlib
import shutil
import sys
import time

from daemon import Daemon, main

GOOD = "def handler(event, context):\n    return event\n"
CRASH = "import sys\nsys.exit(3)\n"
HANG = "import time\ndef handler(event, context):\n    print('hanging')\n    time.sleep(1000)\n"
FORK = """import os, subprocess, time
def handler(event, context):
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True, stdout=subprocess.DEVNULL, env={})
    with open(event["file"], "w") as out:
        out.write(f"{child.pid} {os.getpid()}")
    if event["hang"]:
        time.sleep(1000)
    os._exit(5)
"""
ODD = """class Odd(Exception):
    error_type = 7
def handler(event, context):
    raise Odd("odd" * 1000000)
"""
MEMORY = "def handler(event, context):\n    kept = []\n    while True:\n        kept.append(bytearray(1 << 20))\n"
# Far more than may come in the time that it takes, on however slow a machine.
FLOOD_PY = """def handler(event, context):
    for _ in range(64):
        print(('x' * 99 + '\\n') * 10000)
    return 'flooded'
"""
FLOOD_JS = """exports.handler = async () => {
  for (let i = 0; i < 64; i++) process.stdout.write(("x".repeat(99) + "\\n").repeat(10000));
  return "flooded";
};
"""
GARBAGE = """#!/usr/bin/env python3
import http.client, os, socket
where = os.environ["AWS_LAMBDA_RUNTIME_API"]
raw = socket.create_connection(where.split(":"))
raw.sendall(b"\\x00\\xff not HTTP at all\\r\\n\\r\\n")
raw.recv(4096)
api = http.client.HTTPConnection(where)
def call(method, path, body=None):
    api.request(method, "/2018-06-01/runtime/" + path, body)
    answer = api.getresponse()
    answer.read()
    return answer.status, answer.headers.get("Lambda-Runtime-Aws-Request-Id")
while True:
    status, request = call("GET", "invocation/next")
    seen = [call("POST", "invocation/nobody/response", "1")[0], call("GET", "invocation/next")[0],
            call("POST", "nothing/here", "1")[0]]
    call("POST", f"invocation/{request}/response", f"not JSON {seen}")
    call("POST", f"invocation/{request}/response", "2")
    call("POST", f"invocation/{request}/error", "3")
"""
# Errors whose own code fails, or which no header or log can hold.
RAISING = """import os, sys
class NoText(Exception):
    def __str__(self):
        raise ValueError("no text")
class NoTextEither(ValueError):
    __str__ = None
class Half(Exception):
    pass
Named = type("Two\\r\\nLines", (Exception,), {})
class NoJson(dict):
    def items(self):
        raise NoTextEither()
def handler(event, context):
    if event == "text":
        raise NoText()
    if event == "half":
        raise Half("half \\ud800")
    if event == "name":
        raise Named("named")
    if event == "result":
        return NoJson(a=1)
    if event == "closed":
        sys.stdout.close()
        raise Half("closed")
    return os.getpid()
"""
RAISING_JS = """class Mute extends Error {
  get message() { throw new Error("no text"); }
}
exports.handler = (event, context, callback) => {
  if (event === "bare") throw Object.create(null);
  if (event === "mute") throw new Mute();
  if (event === "result") return callback(null, { toJSON() { throw null; } });
  if (event === "then") return { get then() { throw new Error("no promise"); } };
  callback(null, process.pid);
};
exports.between = (event, context, callback) => {
  require("fs").appendFileSync(event.file, process.pid + "\\n");
  if (!event.how) return callback(null, process.pid);
  context.callbackWaitsForEmptyEventLoop = false;
  callback(null, process.pid + "x".repeat(5 << 20));
  const error = new Error("between " + event.how);
  if (event.how === "at once") process.nextTick(() => { throw error; });
  if (event.how === "later") setTimeout(() => { throw error; }, 1);
  if (event.how === "rejected") setTimeout(() => Promise.reject(error), 1);
};
"""
PROGRAMS = {"raising": RAISING, "good": GOOD, "crash": CRASH, "hang": HANG, "fork": FORK, "memory": MEMORY, "flood": FLOOD_PY, "odd": ODD}


def function(name, runtime, handler, timeout=30):
    return f"""
  {name}:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: {runtime}
      CodeUri: .
      Handler: {handler}
      Timeout: {timeout}
      MemorySize: 256
      Environment: {{Variables: {{PATH: /usr/local/bin:/usr/bin:/bin}}}}
"""


class Functions(Daemon):
    def __init__(self, binary, folder):
        code = folder / "code"
        code.mkdir()
        for name, text in PROGRAMS.items():
            (code / f"{name}.py").write_text(text)
        (code / "flood.js").write_text(FLOOD_JS)
        (code / "raising.js").write_text(RAISING_JS)
        (code / "bootstrap").write_text(GARBAGE)
        (code / "bootstrap").chmod(0o755)
        timeouts = {"hang": 1, "fork": 2, "flood": 60}
        template = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
        for name in PROGRAMS:
            template += function(name.capitalize(), "python3.11", f"{name}.handler", timeouts.get(name, 30))
        template += function("Garbage", "provided.al2023", "none")
        template += function("Missing", "python3.11", "nothing.handler")
        if shutil.which("node"):
            template += function("FloodNode", "nodejs20.x", "flood.handler", 60)
            template += function("RaisingNode", "nodejs20.x", "raising.handler")
            template += function("BetweenNode", "nodejs20.x", "raising.between")
        (code / "template.yaml").write_text(template)
        super().__init__(binary, folder / "data", str(code / "template.yaml"), template=None)

    def invoke(self, name, event):
        """The result, or the error of a function that failed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST", f"/2015-03-31/functions/{name}/invocations", json.dumps(event))
        answer = connection.getresponse()
        body = json.loads(answer.read())
        failed = answer.headers.get("X-Amz-Function-Error") is not None
        assert answer.status == 200 and failed == (isinstance(body, dict) and "errorType" in body), (answer.status, body)
        connection.close()
        return body

    def fails(self, name, error_type, text, event=None):
        """Told, counted, and no harm to the next."""
        counted = [self.metric(f"freshet_function_{what}_total", name, 0) for what in ("errors", "timeouts")]
        error = self.invoke(name, event or {})
        assert isinstance(error, dict) and error.get("errorType") == error_type and text in error["errorMessage"], (name, error)
        assert self.invoke("Good", {"after": name}) == {"after": name}
        counted[0] += 1
        counted[1] += error_type == "Sandbox.Timedout"
        assert [self.metric(f"freshet_function_{what}_total", name) for what in ("errors", "timeouts")] == counted, name

    def metric(self, name, function, otherwise=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/metrics")
        page = connection.getresponse().read().decode()
        connection.close()
        for line in page.splitlines():
            if line.startswith(f'{name}{{function="{function}"}} '):
                return float(line.split(" ")[1])
        if otherwise is not None:
            return otherwise
        raise AssertionError(f"{name} of {function} is not on the page")


def gone(pid):
    """True if it has ended, even if nobody has reaped it yet."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_for(condition, what):
    """The answer may be there before the last that its program has done."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def wait_until_gone(*pids):
    wait_for(lambda: all(gone(pid) for pid in pids), f"{pids} are gone")


def test_bad_programs(binary, folder):
    daemon = Functions(binary, folder).start()
    try:
        daemon.fails("Crash", "Runtime.ExitError", "exit status 3")
        daemon.fails("Missing", "Runtime.ImportModuleError", "No module named 'nothing'")
        daemon.fails("Hang", "Sandbox.Timedout", "Task timed out after 1.00 seconds")
        daemon.fails("Odd", "Odd", "oddodd")
        assert max(map(len, daemon.log_path.read_text().splitlines())) < 20_000, "a function's text is logged cut"
        daemon.fails("Memory", "Runtime.ExitError", "out of memory")
        for flood in ("Flood", "FloodNode") if shutil.which("node") else ("Flood",):
            assert daemon.invoke(flood, {}) == "flooded"
            assert daemon.invoke("Good", {"after": flood}) == {"after": flood}
            dropped = lambda: (daemon.metric("freshet_function_log_dropped_bytes_total", flood)
                               + daemon.metric("freshet_function_log_dropped_lines_total", flood))
            wait_for(lambda: dropped() > 0, "a flood is cut")
        for _ in range(2):
            assert daemon.invoke("Garbage", {}) == "not JSON [400, 200, 404]"
        wait_for(lambda: daemon.metric("freshet_function_bad_answers_total", "Garbage") >= 6, "answers twice")
        assert daemon.metric("freshet_function_process_starts_total", "Garbage") == 1
        assert daemon.metric("freshet_function_process_starts_total", "Good") == 1
        assert daemon.metric("freshet_function_process_crashes_total", "Crash") == 1
        assert daemon.metric("freshet_function_errors_total", "Good") == 0
        assert daemon.log_path.read_text().count('"line":"hanging"') == 1
        assert daemon.stop() == 0
    finally:
        daemon.stop()


def test_errors_whose_own_code_fails(binary, folder):
    """Each is the error of its invocation, and the process goes on."""
    daemon = Functions(binary, folder).start()
    try:
        pid = daemon.invoke("Raising", "pid")
        for event, error_type, text in (("text", "NoText", "str() of the NoText raised ValueError"), ("half", "Half", "half ?"),
                                        ("name", "Two\r\nLines", "named"), ("closed", "Half", "closed"),
                                        ("result", "Runtime.MarshalError", "str() of the NoTextEither raised TypeError")):
            daemon.fails("Raising", error_type, text, event)
            assert daemon.invoke("Raising", "pid") == pid, event
        if shutil.which("node"):
            pid = daemon.invoke("RaisingNode", "pid")
            for event, error_type, text in (("bare", "object", "cannot be shown as text"), ("mute", "Error", "undefined"),
                                            ("result", "Runtime.MarshalError", "null"), ("then", "Error", "no promise")):
                daemon.fails("RaisingNode", error_type, text, event)
                assert daemon.invoke("RaisingNode", "pid") == pid, event
        assert daemon.stop() == 0
    finally:
        daemon.stop()


def test_an_exception_between_two_invocations(binary, folder):
    """It ends the process at once: the answer before it arrives whole, the next event runs once, in a new process."""
    if not shutil.which("node"):
        return
    daemon = Functions(binary, folder).start()
    try:
        ran = folder / "ran"
        for number, how in enumerate(("at once", "later", "rejected"), 1):
            answer = daemon.invoke("BetweenNode", {"file": str(ran), "how": how})
            pid = int(answer.rstrip("x"))
            assert len(answer) == len(str(pid)) + (5 << 20)
            wait_until_gone(pid)
            wait_for(lambda how=how: f"between {how}" in daemon.log_path.read_text(), "what the program said is in the log")
            next_pid = daemon.invoke("BetweenNode", {"file": str(ran)})
            assert next_pid != pid
            assert ran.read_text().split()[-2:] == [str(pid), str(next_pid)] and len(ran.read_text().split()) == 2 * number
        assert daemon.metric("freshet_function_errors_total", "BetweenNode") == 0
        assert daemon.stop() == 0
    finally:
        daemon.stop()


def test_nothing_outlives(binary, folder):
    daemon = Functions(binary, folder).start()
    try:
        for hang, error in ((False, "Runtime.ExitError"), (True, "Sandbox.Timedout")):
            file = folder / f"pids-{hang}"
            daemon.fails("Fork", error, "", {"file": str(file), "hang": hang})
            wait_until_gone(*map(int, file.read_text().split()))
        file = folder / "pids"
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port)
        connection.request("POST", "/2015-03-31/functions/Fork/invocations", json.dumps({"file": str(file), "hang": True}))
        while not file.exists() or not file.read_text():
            time.sleep(0.01)
        daemon.kill()
        wait_until_gone(*map(int, file.read_text().split()))
    finally:
        daemon.stop()


if __name__ == "__main__":
    os.environ["FRESHET_SECRET_OF_THE_DAEMON"] = "x"
    main(__doc__.splitlines()[0], "programs that misbehave harm nobody else", test_bad_programs,
         test_errors_whose_own_code_fails, test_an_exception_between_two_invocations, test_nothing_outlives)
    sys.exit(0)
