#!/usr/bin/env python3
"""Damaged logs and full disks, through the real binary."""
import argparse
import fcntl
import os
import pathlib
import re
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


    def refused(self):
        """A start that must be refused, with the files left as they are: what it says."""
        files = {path: path.read_bytes() for path in (self.daemon.data / "store").glob("s*-*")}
        before = self.daemon.log_path.stat().st_size
        self.daemon.launch()
        self.assertEqual(self.daemon.process.wait(60), 1)
        for path, content in files.items():
            self.assertEqual(path.read_bytes(), content, f"{path}: a refused start must not change the file")
        self.assertEqual(len(list((self.daemon.data / "store").glob("s*-*"))), len(files))
        return self.daemon.log_path.read_text()[before:]

    def accepts_loss(self, tasks):
        """The rest of a store whose end is missing, after a start that accepts the loss."""
        self.daemon.options += ("--accept-loss",)
        before = self.daemon.log_path.stat().st_size
        self.daemon.start()
        log = self.daemon.log_path.read_text()[before:]
        self.assertIn('"event":"LOSS_ACCEPTED"', log)
        left = len(self.daemon.tasks("PENDING"))
        self.assertLess(left, tasks)
        check_books(self.daemon.stats())
        self.assertNotIn("error", create(self.daemon, 1_000_000, 1)[0])
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.options = self.daemon.options[:-1]
        before = self.daemon.log_path.stat().st_size
        self.daemon.start()  # Once is enough.
        self.assertEqual(len(self.daemon.tasks("PENDING")), left + 1)
        self.assertNotIn("LO", "".join(line for line in self.daemon.log_path.read_text()[before:].splitlines() if "LOG_CUT" in line or "LOSS" in line))
        return log

    def fill_segments(self, count):
        self.daemon.options += ("--segment-bytes", "1MiB")
        self.daemon.start()
        tasks = 0
        store = self.daemon.data / "store"
        while not (store / f"segment-{count:010}.log").exists() or (store / f"segment-{count - 1:010}.log").stat().st_size == 1 << 20:
            create(self.daemon, tasks, 100)
            tasks += 100
        self.daemon.kill()
        return tasks

    def test_newest_segment_is_missing(self):
        tasks = self.fill_segments(3)
        newest = self.newest_segment()
        newest.unlink()
        self.assertIn(f"{newest} is missing", self.refused())
        self.accepts_loss(tasks)

    def test_only_segment_is_missing(self):
        self.daemon.start()
        create(self.daemon, 0, 50)
        self.daemon.stop()
        self.newest_segment().unlink()
        self.assertIn("has no segment of the log", self.refused())
        self.accepts_loss(50)

    def test_newest_file_is_shorter_than_it_was(self):
        tasks = self.fill_segments(2)
        newest = self.newest_segment()
        size = newest.stat().st_size
        left = len(newest.read_bytes().rstrip(b"\0")) // 2
        os.truncate(newest, left)
        self.assertIn(f"{newest} has {left} bytes of {size}: {size - left} bytes are missing", self.refused())
        cut = [line for line in self.accepts_loss(tasks).splitlines() if "LOG_CUT" in line]
        self.assertEqual(len(cut), 1)
        self.assertGreaterEqual(int(re.search(r'"bytes":(\d+)', cut[0])[1]), size - left, "what is missing counts")

    def test_a_lock_file_that_is_removed_lets_nobody_in(self):
        self.daemon.start()
        create(self.daemon, 0, 50)
        (self.daemon.data / "store" / "LOCK").unlink()
        second = Daemon(OPTIONS.binary, self.daemon.data, "--log-level", "warn")
        second.log_path = self.daemon.data / "second.log"
        first_ready = self.daemon.ready.read_text()
        second.launch()
        self.assertEqual(second.process.wait(60), 1)
        self.assertRegex(second.log_tail(), "store is locked by another process .stop the daemon that has it open, or name another folder with --data")
        self.daemon.ready.write_text(first_ready)
        create(self.daemon, 50, 50)
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(len(self.daemon.tasks("PENDING")), 100, "what was acknowledged")

    def test_a_lock_file_that_is_anothers_ends_the_daemon(self):
        self.daemon.options += ("--segment-bytes", "1MiB")
        self.daemon.start()
        lock = self.daemon.data / "store" / "LOCK"
        lock.unlink()
        with open(lock, "w") as theirs:  # As a daemon of before does, which looks at nothing else.
            fcntl.flock(theirs, fcntl.LOCK_EX)
            with self.assertRaises((OSError, Refused)):
                for first in range(0, 100_000, 100):
                    create(self.daemon, first, 100)
            self.assertEqual(self.daemon.process.wait(10), 1)
        self.assertIn("is no longer this process's own", self.daemon.log_tail())


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
