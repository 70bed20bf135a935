"""A daemon under test: starts the real binary on a free port, speaks the task API, stops or kills it."""
import argparse
import http.client
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUEUE = "/queues/QueueTable"


def slower():
    """How many times slower than a release the program under test is; bounds of time are scaled by it.

    A build with sanitizers is known by their symbols (--binary of the command line, or FRESHET_BINARY).
    """
    named = [after for before, after in zip(sys.argv, sys.argv[1:]) if before == "--binary"] + [os.environ.get("FRESHET_BINARY", "")]
    try:
        program = pathlib.Path(named[0]).read_bytes()
    except OSError:
        return 1
    return 20 if b"__tsan_init" in program else 8 if b"__asan_init" in program else 1


SLOWER = slower()
LARGER = 8 if SLOWER > 1 else 1  # Bounds of memory: sanitizers keep what is freed for a while, and shadow the rest.


class Refused(Exception):
    """An answer with an error status."""

    def __init__(self, status, document):
        super().__init__(f"{status} {document}")
        self.status = status
        self.code = document.get("error", {}).get("code", "")


class Connection(http.client.HTTPConnection):
    """Closes itself when nobody has it any more: a thread that ends says nothing."""

    def __del__(self):
        self.close()


class Daemon:
    def __init__(self, binary, data, *options, template=ROOT / "config/lifo.yaml", runner="none"):
        self.binary, self.data, self.options, self.template, self.runner = binary, pathlib.Path(data), options, template, runner
        self.log_path = self.data / "daemon.log"
        self.store = self.data / "store"  # Or ":memory:".
        self.process = None
        self.prefix, self.environment = [], {}  # A program that starts the daemon, and what its environment has more.
        self.local = threading.local()

    def launch(self):
        """Starts the process without waiting for anything."""
        self.data.mkdir(parents=True, exist_ok=True)
        self.ready = self.data / "ready"
        self.ready.unlink(missing_ok=True)
        argv = [str(self.binary), "run"]
        if self.template:
            argv += [str(self.template), "--set", f"ProcessTasksFunction.TASK_RUNNER={self.runner}"]
        argv += ["--data", str(self.store), "--listen", "127.0.0.1:0", "--ready-file", str(self.ready)]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.prefix + argv + [str(o) for o in self.options], stdout=log, stderr=log,
                                            env={**os.environ, **self.environment})
        return self

    def start(self):
        self.launch()
        while not self.ready.exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"the daemon ended with {self.process.returncode}:\n{self.log_tail()}")
            time.sleep(0.005)
        self.port = urllib.parse.urlparse(self.ready.read_text().strip()).port
        return self

    def log_tail(self):
        return self.log_path.read_text(errors="replace")[-3000:]

    def shows(self, path, expected, seconds=10 * SLOWER):
        """Checks an answer that is read from an index. An engine's index shows a write some moments later."""
        end = time.monotonic() + seconds
        while (answer := self.call("GET", path)) != expected and "dynamodb" in self.options and time.monotonic() < end:
            time.sleep(0.01)
        assert answer == expected, answer

    def call(self, method, path, document=None, headers=None):
        """One request on this thread's kept-alive connection. OSError if the daemon is gone."""
        if getattr(self.local, "port", None) != self.port:
            self.local.connection, self.local.port = Connection("127.0.0.1", self.port, timeout=30 * SLOWER), self.port
        try:
            body = json.dumps(document) if document is not None else None
            self.local.connection.request(method, path, body, headers or {"Content-Type": "application/json"})
            response = self.local.connection.getresponse()
            answer = json.loads(response.read() or b"{}")
        except (http.client.HTTPException, json.JSONDecodeError) as error:
            self.local.port = None
            raise OSError(f"broken off: {error!r}") from error
        except OSError:
            self.local.port = None
            raise
        if response.status >= 300:
            raise Refused(response.status, answer)
        return answer

    def dynamodb(self, operation, **members):
        return self.call("POST", "/", members, {"X-Amz-Target": f"DynamoDB_20120810.{operation}",
                                                "Content-Type": "application/x-amz-json-1.0"})

    def stats(self):
        return self.call("GET", QUEUE + "/stats")

    def tasks(self, state):
        found, cursor = [], ""
        while True:
            page = self.call("GET", f"{QUEUE}/tasks?state={state}&limit=1000" + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else ""))
            found += page["tasks"]
            cursor = page.get("cursor", "")
            if not cursor:
                return found

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60 * SLOWER)
            except subprocess.TimeoutExpired:
                self.kill()
                raise RuntimeError(f"SIGTERM did not end the daemon in {60 * SLOWER} s")
        return self.process.returncode if self.process else None


def check_books(stats):
    """For every state: moves in - moves out = depth."""
    balance = {}
    for arrow, count in stats["flow"].items():
        source, target = arrow.split("->")
        balance[source] = balance.get(source, 0) - count
        balance[target] = balance.get(target, 0) + count
    for state, depth in stats["depth"].items():
        assert balance.get(state, 0) == depth, f"books of {state}: in - out = {balance.get(state, 0)}, stock = {depth}\n{stats}"


def kill_options(description):
    """The options of a test that kills again and again, and its random numbers; their seed is printed."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--binary", required=True)
    options.add_argument("--rounds", type=int, default=int(os.environ.get("FRESHET_KILLS", "20")))
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = options.parse_args()
    print(f"seed {options.seed}", flush=True)
    return options, random.Random(options.seed)


def main(description, done, *tests):
    """Runs each test(binary, folder) in a folder of its own; says `done`, or what failed and ends with status 1."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--binary", required=True)
    options = options.parse_args()
    for test in tests:
        with tempfile.TemporaryDirectory(prefix="freshet-test-") as folder:
            try:
                test(options.binary, pathlib.Path(folder))
            except (AssertionError, OSError, Refused, RuntimeError) as error:
                traceback.print_exception(error)
                print(f"FAILED: {getattr(test, '__name__', test)}: {error!r}")
                sys.exit(1)
    print(done)
