#!/usr/bin/env python3
"""Counts the instructions that the daemon needs for fixed, seeded work. A noisy machine does not change the counts.

    bench/instructions.py [--json FILE] [--check] [--binary build/release/freshet]

  life64   a task's whole life by the pull API, 64 in a batch: create, take, complete; per task
  life1    the same, one task at a time; per task
  Put      PutItem over an item of 200 bytes; per request
  Get      GetItem, consistent; per request
  Update   UpdateItem with a condition that holds; per request
  Query    a Query of the ten newest items of a partition; per request

All threads of the daemon are counted (valgrind's callgrind), with the stream, mapping and trigger of config/lifo.yaml
behind each create. The kernel and the client are not counted. The data folder is in memory where the machine has /dev/shm,
durability is `none`: whether a sync is made within a turn or beside it goes by how long the disk takes, and moved the
figures by up to 8 %. Each figure is the median of rounds, and the spread is printed beside it.

--check compares with the last row of the table "Instructions" in bench/RESULTS.md and ends with 1 if a figure is more
than 2 % above it. If a rise is worth its price, add a row to that table that gives the reason and the new figures.
Other compilers, processors and versions of valgrind count differently: --check then says so and ends with 77.
It takes about a minute, and runs with the tests.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/RESULTS.md"
FIGURES = ("life64", "life1", "Put", "Get", "Update", "Query")
ALLOWED = 1.02
SKIPPED = 77
PARTITIONS, ITEMS_EACH = 20, 10
ROUNDS, TASKS64, TASKS1, REQUESTS = 7, 1280, 100, 150


class Client:
    """One connection, one request at a time, so that the daemon always does the same things in the same order."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def post(self, path, document, target=None):
        body = json.dumps(document, separators=(",", ":")).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\nContent-Type: "
        head += f"application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.{target}" if target else "application/json"
        self.socket.sendall(head.encode() + b"\r\n\r\n" + body)
        status, length = self.file.readline(), 0
        while (line := self.file.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        answer = self.file.read(length)
        if b" 200 " not in status:
            raise RuntimeError(f"{path} {target or ''}: {status!r} {answer[:500]!r}")
        return json.loads(answer)


class Items:
    """Requests of the item store over a table of 200 items, in an order that the seed fixes."""

    def __init__(self, client, seed):
        self.client, self.random, self.version = client, random.Random(seed), 0
        client.post("/", {"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
                          "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
                          "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"},
                                                   {"AttributeName": "at", "AttributeType": "N"}]}, "CreateTable")
        for partition in range(PARTITIONS):
            for number in range(ITEMS_EACH):
                self.put(partition, number)

    def key(self, partition, number):
        return {"id": {"S": f"customer-{partition:06d}"}, "at": {"N": str(1_800_000_000 + number)}}

    def put(self, partition, number):
        self.version += 1
        item = self.key(partition, number) | {"status": {"S": "PENDING"}, "version": {"N": str(1_000_000 + self.version)},
                                              "note": {"S": "n" * 120}}
        self.client.post("/", {"TableName": "Orders", "Item": item}, "PutItem")

    def some(self):
        return self.random.randrange(PARTITIONS), self.random.randrange(ITEMS_EACH)

    def request(self, operation):
        partition, number = self.some()
        if operation == "Put":
            self.put(partition, number)
        elif operation == "Get":
            self.client.post("/", {"TableName": "Orders", "Key": self.key(partition, number), "ConsistentRead": True}, "GetItem")
        elif operation == "Update":
            self.client.post("/", {"TableName": "Orders", "Key": self.key(partition, number),
                                   "UpdateExpression": "SET #s = :s, version = version + :one",
                                   "ConditionExpression": "version >= :one", "ExpressionAttributeNames": {"#s": "status"},
                                   "ExpressionAttributeValues": {":s": {"S": "TAKEN"}, ":one": {"N": "1"}}}, "UpdateItem")
        else:
            answer = self.client.post("/", {"TableName": "Orders", "KeyConditionExpression": "id = :id",
                                            "ScanIndexForward": False, "Limit": 10,
                                            "ExpressionAttributeValues": {":id": self.key(partition, 0)["id"]}}, "Query")
            if answer["Count"] != ITEMS_EACH:
                raise RuntimeError(f"a Query of ten found {answer['Count']}")


class Lives:
    """Whole lives of tasks. A batch is created, taken newest first, and completed by the request that takes the next."""

    def __init__(self, client, seed):
        self.client, self.random = client, random.Random(seed)

    def run(self, tasks, batch):
        settle, finished = [], 0
        for _ in range(tasks // batch):
            payloads = ["".join(self.random.choices("abcdefghijklmnopqrstuvwxyz", k=100)) for _ in range(batch)]
            self.client.post("/queues/QueueTable/tasks", {"tasks": [{"payload": payload} for payload in payloads]})
            taken = self.client.post("/queues/QueueTable/take", {"settle": settle, "max": batch} if settle else {"max": batch})
            if len(taken["tasks"]) != batch:
                raise RuntimeError(f"a take of {batch} got {len(taken['tasks'])}")
            settle = [{"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"} for task in taken["tasks"]]
            finished += batch
        self.client.post("/queues/QueueTable/settle", {"settle": settle})
        return finished


class Counted:
    """The daemon under callgrind."""

    def __init__(self, binary, folder):
        self.folder, ready = pathlib.Path(folder), pathlib.Path(folder) / "ready"
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/out", "--vgdb-prefix=" + str(self.folder / "vgdb"),
             str(binary), "run", str(ROOT / "config/lifo.yaml"), "--set", "ProcessTasksFunction.TASK_RUNNER=none",
             "--data", str(self.folder / "store"), "--listen", "127.0.0.1:0", "--ready-file", str(ready), "--log-level", "warn",
             "--durability", "none"],
            stdout=self.log, stderr=self.log, env={"PATH": os.environ["PATH"], "LANG": "C", "HOME": str(self.folder)})
        while not ready.exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"the daemon ended with {self.process.returncode}:\n{self.said()}")
            time.sleep(0.05)
        self.port = int(ready.read_text().strip().rsplit(":", 1)[1])

    def said(self):
        return (self.folder / "log").read_text(errors="replace")[-3000:]

    def tell(self, command):
        done = subprocess.run(["vgdb", f"--vgdb-prefix={self.folder}/vgdb", f"--pid={self.process.pid}", *command.split()],
                              capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"vgdb {command}: {done.stderr}\n{self.said()}")

    def during(self, work):
        """The instructions of all threads while `work` runs."""
        before = set(self.folder.glob("out.*"))
        self.tell("zero")
        work()
        self.tell("dump")
        dump, = set(self.folder.glob("out.*")) - before
        return int(re.search(r"^(?:summary|totals): (\d+)", dump.read_text(), re.M).group(1))

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(120)
        finally:
            self.process.kill()
            self.log.close()


def measure(binary):
    """Figure -> the counts of its rounds."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 1 << 30 else None
    counts = {figure: [] for figure in FIGURES}
    with tempfile.TemporaryDirectory(dir=place) as folder, contextlib.closing(Counted(binary, folder)) as counted:
        client = Client(counted.port)
        lives, items = Lives(client, 1), Items(client, 2)
        lives.run(256, 64)
        lives.run(30, 1)
        for operation in FIGURES[2:]:
            for _ in range(50):
                items.request(operation)
        for _ in range(ROUNDS):
            counts["life64"].append(counted.during(lambda: lives.run(TASKS64, 64)) / TASKS64)
            counts["life1"].append(counted.during(lambda: lives.run(TASKS1, 1)) / TASKS1)
            for operation in FIGURES[2:]:
                counts[operation].append(
                    counted.during(lambda: [items.request(operation) for _ in range(REQUESTS)]) / REQUESTS)
    return counts


def machine():
    """Everything else that determines the number of instructions."""
    def first_line(*argv):
        return subprocess.run(argv, capture_output=True, text=True).stdout.splitlines()[0]
    flags = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    vector = "AVX2" if flags and " avx2 " in flags.group(1) + " " else "no AVX2"
    return f"g++ {first_line('g++', '-dumpfullversion')}, {first_line('valgrind', '--version')}, {vector}"


def last_row(text):
    """The table's last row: reason, machine, figures."""
    section = text.split("## Instructions", 1)[1].split("\n## ", 1)[0]
    cells = [cell.strip() for cell in [line for line in section.splitlines() if line.startswith("| ")][-1].strip("|").split("|")]
    return cells[0], cells[1], dict(zip(FIGURES, (int(cell.replace(",", "")) for cell in cells[2:])))


def check(medians):
    reason, there, allowed = last_row(RESULTS.read_text())
    if there != machine():
        print(f"SKIPPED: bench/RESULTS.md was counted with {there}, this machine has {machine()}", file=sys.stderr)
        return SKIPPED
    worse = [figure for figure in FIGURES if medians[figure] > ALLOWED * allowed[figure]]
    for figure in worse:
        print(f"{figure}: {medians[figure]:,.0f} instructions, {medians[figure] / allowed[figure] - 1:+.1%} beside the {allowed[figure]:,} "
              f"of bench/RESULTS.md ({reason}). Make it cheaper, or add a row that says why it is worth it.", file=sys.stderr)
    return 1 if worse else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with bench/RESULTS.md")
    parser.add_argument("--json", type=pathlib.Path, help="also write the medians to this file")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/freshet")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("SKIPPED: valgrind is not installed (Debian: valgrind)", file=sys.stderr)
        return SKIPPED
    counts = measure(options.binary.resolve())
    medians = {figure: statistics.median(rounds) for figure, rounds in counts.items()}
    for figure, rounds in counts.items():
        print(f"{figure:8s} {medians[figure]:12,.0f}   ({min(rounds):,.0f} to {max(rounds):,.0f})")
    print("row: | REASON | " + machine() + " | " + " | ".join(f"{medians[figure]:,.0f}" for figure in FIGURES) + " |")
    if options.json:
        options.json.write_text(json.dumps(medians, indent=1) + "\n")
    return check(medians) if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
