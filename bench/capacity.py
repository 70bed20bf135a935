#!/usr/bin/env python3
"""Measures the capacity that a queue on an engine consumes, as Amazon DynamoDB would bill it: write and read units of a
task, and units a second of an idle queue.

    bench/capacity.py [--tasks 1000] [--bytes 700] [--batch 1] [--idle 60] [--members 1] [--layout sample] [--rate 0]

A Freshet is the engine. A proxy before it asks for the consumed capacity with each request and adds it up, that of the
indexes included. The daemons serve one queue (--fleet), for pull workers: a task of --bytes is created, taken in
batches of --batch and completed in the same way. With --rate, tasks are created at that rate and done by an HTTP
handler instead. Idle units are those of the time after that.
"""
import argparse
import collections
import http.client
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
FRESHET = os.environ.get("FRESHET_BINARY", ROOT / "build/release/freshet")
READS = {"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"}
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}


class Meter(http.server.ThreadingHTTPServer):
    """Passes requests on to the engine, and adds up what they consume, by operation and table."""

    daemon_threads = True

    def __init__(self, engine):
        self.engine, self.units, self.lock, self.local = engine, collections.Counter(), threading.Lock(), threading.local()
        super().__init__(("127.0.0.1", 0), Passing)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def add(self, operation, answer):
        consumed = json.loads(answer).get("ConsumedCapacity") or []
        with self.lock:
            self.units["requests", operation] += 1
            for one in consumed if isinstance(consumed, list) else [consumed]:
                self.units["read" if operation in READS else "write", one["TableName"]] += one["CapacityUnits"]

    def total(self, kind):
        with self.lock:
            return sum(units for (what, _), units in self.units.items() if what == kind)


class Passing(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # An answer is one write.

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        if operation in READS | WRITES:
            body = json.dumps({**json.loads(body), "ReturnConsumedCapacity": "TOTAL"}).encode()
        local = self.server.local
        if not hasattr(local, "engine"):
            local.engine = http.client.HTTPConnection("127.0.0.1", self.server.engine)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("content-length", "connection", "host")}
        local.engine.request("POST", "/", body, headers)
        response = local.engine.getresponse()
        answer = response.read()
        if response.status == 200 and operation in READS | WRITES:
            self.server.add(operation, answer)
        self.send_response(response.status)
        self.send_header("Content-Type", response.getheader("Content-Type", "application/x-amz-json-1.0"))
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        try:
            self.wfile.write(answer)
            self.wfile.flush()
        except BrokenPipeError:  # The daemon has given up waiting, or stops.
            self.close_connection = True

    def log_message(self, *unused):
        pass


class Daemon:
    def __init__(self, folder, *options, command=("run",)):
        folder.mkdir()
        ready = folder / "ready"
        self.process = subprocess.Popen([FRESHET, *command, "--listen", "127.0.0.1:0", "--ready-file", ready, "--data", folder / "data", *options],
                                        stdout=subprocess.DEVNULL, stderr=(folder / "log").open("w"),
                                        env={**os.environ, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"})
        while not ready.exists() or not ready.read_text().strip():
            if self.process.poll() is not None:
                sys.exit((folder / "log").read_text()[-2000:])
            time.sleep(0.02)
        self.url = ready.read_text().strip()

    def call(self, method, path, document=None):
        data = json.dumps(document).encode() if document is not None else None
        for _ in range(1000):
            try:
                request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
                with urllib.request.urlopen(request) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:  # Nobody serves the queue yet.
                if error.code != 503:
                    raise
                time.sleep(0.02)
        sys.exit("the queue is not served")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def work(daemon, tasks, size, batch):
    payload = "x" * size
    for first in range(0, tasks, batch):
        several = [{"taskId": f"t{i}", "payload": payload} for i in range(first, min(tasks, first + batch))]
        daemon.call("POST", "/queues/QueueTable/tasks", {"tasks": several} if batch > 1 else several[0])
    done = 0
    while done < tasks:
        taken = daemon.call("POST", "/queues/QueueTable/take", {"max": batch, "waitMs": 1000})["tasks"]
        settle = [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"} for task in taken]
        if settle:
            daemon.call("POST", "/queues/QueueTable/settle", {"settle": settle})
        done += len(settle)


class Handler(http.server.BaseHTTPRequestHandler):
    """Does each task at once."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
        self.wfile.flush()

    def log_message(self, *unused):
        pass


def feed(daemon, tasks, size, rate):
    began = time.monotonic()
    for i in range(tasks):
        time.sleep(max(0, began + i / rate - time.monotonic()))
        daemon.call("POST", "/queues/QueueTable/tasks", {"taskId": f"t{i}", "payload": "x" * size})
    while daemon.call("GET", "/queues/QueueTable/stats")["depth"]["SUCCESS"] < tasks:
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--bytes", type=int, default=700, help="the size of a task's payload")
    parser.add_argument("--batch", type=int, default=1, help="tasks a request")
    parser.add_argument("--rate", type=float, default=0, help="tasks a second for an HTTP handler; 0: for pull workers")
    parser.add_argument("--idle", type=float, default=60, help="seconds")
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--layout", choices=("sample", "fleet"), default="sample", help="LAYOUT of the queue")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        engine = Daemon(place / "engine")
        meter = Meter(int(engine.url.rpartition(":")[2]))
        where = ("--store", "dynamodb", "--endpoint", f"http://127.0.0.1:{meter.server_port}", "--create-tables", "--fleet")
        handler = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        handler.daemon_threads = True
        threading.Thread(target=handler.serve_forever, daemon=True).start()
        runner = ("--to", f"http://127.0.0.1:{handler.server_port}/") if options.rate else ("--pull",)
        serve = ("serve", "QueueTable", *runner, "--set", f"LAYOUT={options.layout}")
        daemons = [Daemon(place / f"member{i}", *where, command=serve) for i in range(options.members)]
        time.sleep(5)  # They share the queues, and look around.
        meter.units.clear()
        began = time.monotonic()
        if options.rate:
            feed(daemons[0], options.tasks, options.bytes, options.rate)
        else:
            work(daemons[0], options.tasks, options.bytes, options.batch)
        took = time.monotonic() - began
        by_table = sorted((kind, table, units / options.tasks) for (kind, table), units in meter.units.items() if kind != "requests")
        how = f"{options.rate:g} a second to a handler" if options.rate else f"{options.batch} a request"
        print(f"{options.tasks} tasks of {options.bytes} bytes, {how}, in {took:.1f} s:")
        print(f"  {meter.total('write') / options.tasks:.2f} write units and {meter.total('read') / options.tasks:.2f} read units a task")
        print("  " + ", ".join(f"{kind} {table} {units:.2f}" for kind, table, units in by_table))
        print("  requests: " + ", ".join(f"{what} {count}" for (kind, what), count in sorted(meter.units.items()) if kind == "requests"))
        time.sleep(5)
        meter.units.clear()
        time.sleep(options.idle)
        each = options.idle * options.members
        print(f"idle, {options.members} members: {meter.total('write') / each:.2f} write units and {meter.total('read') / each:.2f} read units"
              " a second and member")
        print("  " + ", ".join(f"{kind} {table} {units / each:.2f}" for (kind, table), units in sorted(meter.units.items()) if kind != "requests"))
        for daemon in (*daemons, engine):
            daemon.stop()
        meter.shutdown()


if __name__ == "__main__":
    main()
