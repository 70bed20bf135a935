#!/usr/bin/env python3
"""Measures the cost of an invocation: a warm Node.js no-op through the process host beside a bare HTTP round trip to
the same Node.js, in turn; and the rate of one process, with the memory of it and of the daemon before and after.

    bench/invoke.py [--rounds 20] [--calls 200] [--seconds 60] [--json FILE]

One connection, one request at a time. Believe the ratio, not the absolutes. The native host, where a call costs less than
this client does: build/release/bench/runtime_bench --benchmark_filter=native_invoke
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
FRESHET = pathlib.Path(os.environ.get("FRESHET_BINARY", str(ROOT / "build/release/freshet")))
WANTED_RATIO, WANTED_RATE, ALLOWED_GROWTH = 3.0, 1000, 16  # x, calls/s, MB
HANDLER = "exports.handler = async () => null;\n"
BARE = """
const server = require("http").createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => { JSON.parse(Buffer.concat(parts)); response.end("null"); });
});
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""
TEMPLATE = """
Resources:
  Nothing:
    Type: AWS::Lambda::Function
    Properties: {Runtime: nodejs20.x, Handler: index.handler, Code: code/, Timeout: 30, ReservedConcurrentExecutions: 1}
"""


class Connection:
    """One request again and again, with as little of Python as can be."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
                        "Content-Length: 2\r\n\r\n{}").encode()

    def call(self):
        self.socket.sendall(self.request)
        answer = self.socket.recv(65536)
        while not answer.endswith((b"null", b"null\r\n0\r\n\r\n")):
            more = self.socket.recv(65536)
            if not more:
                raise RuntimeError(answer)
            answer += more
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(answer)

    def times(self, calls):
        times = []
        for _ in range(calls):
            begun = time.perf_counter_ns()
            self.call()
            times.append((time.perf_counter_ns() - begun) / 1000)
        return times


def memory_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descendants(pid):
    found = []
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += [int(child), *descendants(int(child))]
    return found


def node_of(pid):
    return next(child for child in descendants(pid)
                if pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0].endswith(b"node"))


def measure(options, folder):
    (folder / "code").mkdir()
    (folder / "code/index.js").write_text(HANDLER)
    (folder / "template.yaml").write_text(TEMPLATE)
    ready = folder / "ready"
    bare = subprocess.Popen(["node", "-e", BARE], stdout=subprocess.PIPE, text=True)
    daemon = subprocess.Popen([FRESHET, "run", folder / "template.yaml", "--data", folder / "data", "--listen", "127.0.0.1:0",
                               "--ready-file", ready, "--log-level", "warn"])
    try:
        while not ready.exists():
            if daemon.poll() is not None:
                raise RuntimeError("the daemon did not start")
            time.sleep(0.02)
        ours = Connection(urllib.parse.urlparse(ready.read_text().strip()).port, "/2015-03-31/functions/Nothing/invocations")
        theirs = Connection(int(bare.stdout.readline()), "/")
        for connection in (ours, theirs):
            connection.times(2000)  # Node compiles what is hot.
        medians = [(statistics.median(ours.times(options.calls)), statistics.median(theirs.times(options.calls)))
                   for _ in range(options.rounds)]
        pids = {"daemon": daemon.pid, "node": node_of(daemon.pid)}
        before = {name: memory_mb(pid) for name, pid in pids.items()}
        busy = {name: cpu_seconds(pid) for name, pid in pids.items()}
        calls, begun = 0, time.monotonic()
        while time.monotonic() - begun < options.seconds:
            ours.times(500)
            calls += 500
        rate = calls / (time.monotonic() - begun)
        busy = {name: (cpu_seconds(pid) - busy[name]) / calls * 1e6 for name, pid in pids.items()}
        growth = {name: memory_mb(pid) - before[name] for name, pid in pids.items()}
        return {"invokeUs": statistics.median(one for one, _ in medians), "bareUs": statistics.median(two for _, two in medians),
                "ratio": statistics.median(one / two for one, two in medians), "callsPerSecond": rate, "calls": calls, "cpuUs": busy,
                "memoryMb": before, "growthMb": growth}
    finally:
        for process in (daemon, bare):
            process.terminate()
            process.wait(60)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--calls", type=int, default=200)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--json")
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="freshet-invoke-") as folder:
        result = measure(options, pathlib.Path(folder))
    judge = lambda good: "ok  " if good else "MISS"
    print(f"{judge(result['ratio'] <= WANTED_RATIO)} warm invoke {result['invokeUs']:.0f} us, bare Node.js "
          f"{result['bareUs']:.0f} us: {result['ratio']:.2f} x (wanted: at most {WANTED_RATIO} x)")
    print(f"{judge(result['callsPerSecond'] >= WANTED_RATE)} one process, one call at a time: {result['callsPerSecond']:.0f} "
          f"calls/s (wanted: {WANTED_RATE})")
    for name, busy in result["cpuUs"].items():  # Processor time: comparable even on a shared machine.
        print(f"     CPU of the {name}: {busy:.0f} us a call")
    for name, grown in result["growthMb"].items():
        print(f"{judge(grown <= ALLOWED_GROWTH)} memory of the {name} after {result['calls']} calls: {grown:+.1f} MB of "
              f"{result['memoryMb'][name]:.0f}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
