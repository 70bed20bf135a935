#!/usr/bin/env python3
"""Damaged logs and full disks, through the real binary."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from daemon import QUEUE, ROOT, Daemon, Refused, check_books

OPTIONS = None


def create(daemon, first, count, size=500):
    tasks = [{"taskId": f"t{first + i}", "payload": "x" * size, "ttlSeconds": 86400} for i in range(count)]
    return daemon.call("POST", QUEUE + "/tasks", {"tasks": tasks})["results"]


def fill(daemon):
    """Creates until the store says that it is full; returns how many were accepted and the error."""
    accepted = 0
    while True:
        results = create(daemon, accepted, 200)
        refused = [r for r in results if "error" in r]
        accepted += len(results) - len(refused)
        if refused:
            return accepted, refused[0]["error"]
        if accepted > 1_000_000:
            raise AssertionError("never full")


def finish_all(daemon):
    """Takes and completes everything; every answer must be a success. The daemon is full, and this must go on."""
    finished = 0
    while True:
        tasks = daemon.call("POST", QUEUE + "/take", {"max": 100})["tasks"]
        if not tasks:
            return finished
        settled = daemon.call("POST", QUEUE + "/settle", {"settle": [
            {"taskId": t["taskId"], "lease": t["lease"], "outcome": "complete"} for t in tasks]})["settled"]
        problems = [s for s in settled if "error" in s]
        if problems:
            raise AssertionError(f"a completion was refused on a full disk: {problems[0]}")
        finished += len(settled)


class Damage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="freshet-disk-")
        self.daemon = Daemon(OPTIONS.binary, pathlib.Path(self.folder.name), "--log-level", "warn")

    def tearDown(self):
        if self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.kill()
        self.folder.cleanup()

    def newest_segment(self):
        return max((self.daemon.data / "store").glob("segment-*.log"))

    def test_torn_tail_is_cut(self):
        self.daemon.start()
        create(self.daemon, 0, 50)
        create(self.daemon, 50, 1)
        self.daemon.kill()
        path = self.newest_segment()
        content = path.read_bytes()
        end = len(content.rstrip(b"\0"))
        with open(path, "r+b") as segment:  # The last batch was half written when the power went.
            segment.seek(end - 40)
            segment.write(b"\0" * 40)
        self.daemon.start()
        self.assertGreaterEqual(len(self.daemon.tasks("PENDING")), 50)
        check_books(self.daemon.stats())
        self.assertNotIn("error", create(self.daemon, 100, 1)[0])

    def test_flipped_bit_refuses_the_start(self):
        self.daemon.start()
        for i in range(20):
            create(self.daemon, i * 10, 10)
        self.daemon.kill()
        path = self.newest_segment()
        content = bytearray(path.read_bytes())
        middle = len(bytes(content).rstrip(b"\0")) // 2
        content[middle] ^= 0x10
        path.write_bytes(bytes(content))
        self.daemon.launch()
        self.assertNotEqual(self.daemon.process.wait(60), 0)
        log = self.daemon.log_tail()
        self.assertIn(path.name, log)
        self.assertRegex(log, r"offset|byte")
        self.assertEqual(path.read_bytes(), bytes(content), "a refused start must not change the file")


class FullDisk(unittest.TestCase):
    def check(self, data, *options):
        daemon = Daemon(OPTIONS.binary, data, "--segment-bytes", "1MiB", "--log-level", "warn", *options)
        try:
            daemon.start()
            accepted, error = fill(daemon)
            self.assertEqual(error["code"], "ProvisionedThroughputExceededException")
            self.assertGreater(accepted, 1000)
            self.assertEqual(finish_all(daemon), accepted, "completions go on while it is full")
            check_books(daemon.stats())
            done = [{"DeleteRequest": {"Key": {"taskId": {"S": task["taskId"]}}}} for task in daemon.tasks("SUCCESS")]
            for first in range(0, len(done), 25):  # Making room.
                answer = daemon.dynamodb("BatchWriteItem", RequestItems={"QueueTable": done[first:first + 25]})
                self.assertFalse(answer["UnprocessedItems"], "deletes go on, too")
            for _ in range(600):  # Compaction frees segments turn by turn; creates work again without a restart.
                if "error" not in create(daemon, 2_000_000, 1)[0]:
                    break
            else:
                self.fail("it never recovered")
            daemon.kill()
            daemon.start()
            check_books(daemon.stats())
            self.assertEqual(daemon.stop(), 0)
        except RuntimeError as problem:
            self.fail(f"{problem}")
        finally:
            if daemon.process and daemon.process.poll() is None:
                daemon.kill()

    def test_max_data_bytes(self):
        with tempfile.TemporaryDirectory(prefix="freshet-full-") as folder:
            self.check(pathlib.Path(folder), "--max-data-bytes", "14MiB")

    def test_small_disk(self):
        with tempfile.TemporaryDirectory(prefix="freshet-tmpfs-") as folder:
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=14m", "tmpfs", folder], capture_output=True)
            if mounted.returncode != 0:
                self.skipTest(f"mounting a tmpfs is not allowed here: {mounted.stderr.decode().strip()}")
            try:
                run = subprocess.run([OPTIONS.binary, "run", "config/lifo.yaml", "--listen", "127.0.0.1:0", "--data", folder + "/store",
                                      "--segment-bytes", "4MiB"], capture_output=True, text=True, timeout=60, cwd=ROOT)
                self.assertEqual(run.returncode, 1, run)
                self.assertRegex(run.stderr, f"no room for the template's tables in {folder}/store: .* leaves [0-9]+ bytes, and tables are made "
                                 "while five segments of 4194304 bytes are left, .*--segment-bytes")
                shutil.rmtree(folder + "/store")
                self.check(pathlib.Path(folder))
            finally:
                subprocess.run(["umount", "-l", folder], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.binary = os.path.abspath(OPTIONS.binary)
    unittest.main(argv=[sys.argv[0], *rest], warnings="ignore")
