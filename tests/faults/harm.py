"""Ways to harm a daemon from outside: each prepares one life of it, does its harm while clients are at work, and ends the life.

`reached` afterwards: the harm was done (a life that never came to the n-th call was killed as it was). What the machine does
not allow is named by `missing()`.
"""
import errno
import fcntl
import math
import mmap
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from daemon import Refused, SLOWER

PATIENCE_S = 10 * SLOWER  # A daemon whose disk has failed must be gone by then.
ALWAYS = 0xffffffff


def until(done, patience=PATIENCE_S):
    deadline = time.monotonic() + patience
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


class Harm:
    """Without anything more: SIGKILL at a random moment."""

    def __init__(self, name="kill", needs_sync=False):
        self.name, self.reached, self.needs_sync = name, False, needs_sync

    def __str__(self):
        return self.name

    def prepare(self, daemon, rng):
        """Before the start."""

    def work(self, daemon, life, rng):
        """While clients are at work; returns with the daemon dead."""
        life.stop.wait(rng.uniform(0.05, 0.5))
        self.reached = True
        daemon.kill()

    def after(self, daemon):
        """Once the clients have ended, before the next start."""
        daemon.prefix, daemon.environment = [], {}

    def start_failed(self, daemon):
        """The daemon did not come up: True if this harm may have done that."""
        return False


class Drain(Harm):
    def work(self, daemon, life, rng):
        life.stop.wait(rng.uniform(0.05, 0.3))
        self.reached = True
        status = daemon.stop()
        assert status == 0, f"SIGTERM ended the daemon with {status}:\n{daemon.log_tail()}"


class Pause(Harm):
    """The whole process stands still, longer than short leases last."""

    def work(self, daemon, life, rng):
        for _ in range(2):
            life.stop.wait(0.1)
            daemon.process.send_signal(signal.SIGSTOP)
            time.sleep(rng.uniform(0.2, 0.5))
            daemon.process.send_signal(signal.SIGCONT)
        super().work(daemon, life, rng)


class Intruder(Harm):
    """Another daemon wants the same folder."""

    def work(self, daemon, life, rng):
        for _ in range(2):
            run = subprocess.run([daemon.binary, "run", "--data", daemon.store, "--listen", "127.0.0.1:0"], capture_output=True, text=True,
                                 timeout=PATIENCE_S)
            assert run.returncode == 1 and "locked by another process" in run.stderr, run
        super().work(daemon, life, rng)


class Traced(Harm):
    """strace stands between the daemon and the kernel from the first call on. It counts calls of each thread apart."""

    # About how many of a kind the busiest thread makes in a short life, where that is not hundreds.
    MADE = {"mkdir": 2, "flock": 3, "rename": 6, "unlink": 4, "getdents64": 6, "ftruncate": 4, "fallocate": 8, "fsync": 5, "pread64": 20,
            "statfs": 20, "openat": 60, "close": 60, "newfstatat": 50, "mmap": 120, "accept4": 12}

    def __init__(self, call, what, name):
        super().__init__(name)
        self.call, self.what = call, what

    @staticmethod
    def missing():
        if not shutil.which("strace"):
            return "strace is not installed"
        run = subprocess.run(["strace", "-D", "-f", "-o", "/dev/null", "-e", "trace=chdir", "-e", "inject=chdir:signal=KILL", "sh", "-c", "cd /"],
                             capture_output=True, text=True)
        return None if run.returncode == -signal.SIGKILL else f"strace may not trace and kill here: {run.stderr.strip() or run.returncode}"

    def prepare(self, daemon, rng):
        # Early calls are those of the start, and of some kinds there are few; so any order of magnitude is as likely.
        self.number = int(math.exp(rng.uniform(0, math.log(self.MADE.get(self.call, 400)))))
        self.log = daemon.data / "strace.log"
        self.log.unlink(missing_ok=True)
        # With --seccomp-bpf strace 6.1 sends no signals.
        daemon.prefix = ["strace", "-D", "-f", "-qq", "-o", str(self.log), "-e", f"trace={self.call}",
                         "-e", f"inject={self.call}:{self.what}:when={self.number}"]

    def __str__(self):
        return f"{self.name} no. {self.number}"


class KilledAtCall(Traced):
    def __init__(self, call):
        super().__init__(call, "signal=KILL", f"SIGKILL at {call}")

    def work(self, daemon, life, rng):
        self.reached = until(lambda: daemon.process.poll() is not None, 0.7 * SLOWER)
        if not self.reached:
            daemon.kill()

    def start_failed(self, daemon):
        self.reached = daemon.process.returncode == -signal.SIGKILL
        return self.reached


class FailingCall(Traced):
    """`fatal`: the call is made on the log alone, so the daemon must end."""

    def __init__(self, call, error, fatal):
        super().__init__(call, f"error={error}", f"{error} at {call}")
        self.fatal = fatal

    def hit(self):
        self.reached = self.log.exists() and "(INJECTED)" in self.log.read_text(errors="replace")
        return self.reached

    def work(self, daemon, life, rng):
        until(lambda: daemon.process.poll() is not None or self.hit(), 0.7 * SLOWER)
        if self.hit() and self.fatal:
            assert until(lambda: daemon.process.poll() is not None), f"{PATIENCE_S:.0f} s after {self} it still runs:\n{daemon.log_tail()}"
        ends_by_itself(self, daemon, life)

    def start_failed(self, daemon):
        if daemon.process.returncode == 127 and "error while loading shared libraries" in daemon.log_tail():
            return self.hit()  # It has not come to its own first line.
        assert daemon.process.returncode == 1, f"{self} ended the start with {daemon.process.returncode}:\n{daemon.log_tail()}"
        return self.hit()


def ends_by_itself(harm, daemon, life):
    """A daemon after an error: it has ended with status 1, or it goes on and answers, and is killed."""
    if daemon.process.poll() is None:
        try:
            daemon.stats()
        except Refused:
            pass
        except OSError:
            if not until(lambda: daemon.process.poll() is not None):
                raise AssertionError(f"after {harm} it neither answers nor ends:\n{daemon.log_tail()}") from None
    if daemon.process.poll() is None:
        daemon.kill()
        return
    assert daemon.process.returncode == 1, f"{harm} ended it with {daemon.process.returncode}:\n{daemon.log_tail()}"


class FailingFile(Harm):
    """One call on one kind of file fails, by the library of bad_disk.cc, once or from then on."""

    CALLS = [("write", "/segment-"), ("sync", "/segment-"), ("truncate", "/segment-"), ("open", "/segment-"), ("read", "/segment-"),
             ("rename", "/segment-"), ("open", "/spare-"), ("create", "/spare-"), ("allocate", "/spare-"), ("write", "/spare-"),
             ("sync", "/spare-"), ("rename", "/spare-"), ("remove", "/trash-"), ("fsync", "/store"), ("statvfs", "/store"), ("flock", "/LOCK")]

    def __init__(self, library, call, path, error, times):
        super().__init__(f"{errno.errorcode[error]} at {call} of {path}" + (" from then on" if times == ALWAYS else ""))
        self.library, self.orders = library, (call, path, error, times)

    def prepare(self, daemon, rng):
        self.path = daemon.data / "orders"
        self.path.write_bytes(b"\0" * 256)
        self.file = open(self.path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 256)
        daemon.environment = {"LD_PRELOAD": self.library, "BAD_DISK": str(self.path)}
        self.at_start = rng.random() < 0.25  # Then recovery meets it.
        if self.at_start:
            self.arm()

    def arm(self):
        call, path, error, times = self.orders
        self.map[4:8] = struct.pack("<i", error)
        self.map[16:256] = call.encode().ljust(24, b"\0") + path.encode().ljust(216, b"\0")
        self.map[0:4] = struct.pack("<I", times)

    def hit(self):
        self.reached = struct.unpack("<I", self.map[8:12])[0] > 0
        return self.reached

    def work(self, daemon, life, rng):
        life.stop.wait(rng.uniform(0.05, 0.2))
        if not self.at_start:
            self.arm()
        until(lambda: daemon.process.poll() is not None or self.hit(), 0.7 * SLOWER)
        if self.hit() and self.orders[2] == errno.EIO:
            until(lambda: daemon.process.poll() is not None, 1 * SLOWER)
        elif self.hit():  # Work that a full disk held up continues once there is space.
            life.stop.wait(rng.uniform(0, 0.3))
            self.map[0:4] = b"\0" * 4
        ends_by_itself(self, daemon, life)

    def start_failed(self, daemon):
        assert daemon.process.returncode == 1, f"{self} ended the start with {daemon.process.returncode}:\n{daemon.log_tail()}"
        return self.hit()

    def after(self, daemon):
        super().after(daemon)
        self.map.close()
        self.file.close()


class SteppingClock(Harm):
    """The wall clock is hours and days off, from the start or from some moment on (step_clock.cc)."""

    def __init__(self, library):
        super().__init__("a wall clock that steps")
        self.library = library

    def prepare(self, daemon, rng):
        self.path = daemon.data / "clock"
        self.path.write_bytes(b"\0" * 8)
        self.file = open(self.path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 8)
        daemon.environment = {"LD_PRELOAD": self.library, "STEP_CLOCK": str(self.path)}
        if rng.random() < 0.5:
            self.step(rng)

    def step(self, rng):
        size = rng.choice((0.5, 30, 90, 7_200, 864_000))
        self.map[0:8] = struct.pack("<q", int(rng.choice((-1, 1)) * size * 1_000_000_000))

    def work(self, daemon, life, rng):
        for _ in range(4):
            life.stop.wait(rng.uniform(0.05, 0.2))
            self.step(rng)
        super().work(daemon, life, rng)

    def after(self, daemon):
        super().after(daemon)
        self.map.close()
        self.file.close()


class Disk:
    """A file system of its own on a loop device, for the store. Its power can be cut."""

    SIZES = {"ext4": "96M", "xfs": "320M"}
    SHUTDOWN = 0x8004587d  # _IOR('X', 125, __u32), the same for XFS and ext4.

    def __init__(self, kind, folder):
        self.kind, self.image, self.at, self.mounted = kind, folder / f"{kind}.image", folder / kind, False
        self.at.mkdir()
        subprocess.run(["truncate", "-s", self.SIZES[kind], self.image], check=True)
        subprocess.run([f"mkfs.{kind}", "-q", self.image], check=True, capture_output=True)

    @staticmethod
    def missing(kind):
        if not shutil.which(f"mkfs.{kind}"):
            return f"mkfs.{kind} is not installed"
        with tempfile.TemporaryDirectory(prefix="freshet-mount-") as folder:
            try:
                disk = Disk(kind, pathlib.Path(folder))
                disk.mount([])
                disk.cut(2)
                disk.close()
            except (subprocess.CalledProcessError, OSError) as error:
                said = getattr(error, "stderr", None) or b""
                return f"a {kind} on a loop device cannot be mounted and shut down here: {said.decode().strip() or error}"
        return None

    def mount(self, options):
        subprocess.run(["mount", "-t", self.kind, "-o", ",".join(["loop", *options]), self.image, self.at], check=True, capture_output=True)
        self.mounted = True

    def cut(self, flags):
        """2: what is not on the disk is lost. 1: the file system's own journal is brought there first, and no data."""
        at = os.open(self.at, os.O_RDONLY)
        try:
            fcntl.ioctl(at, self.SHUTDOWN, struct.pack("<I", flags))
        finally:
            os.close(at)

    def close(self):
        if self.mounted:
            self.mounted = subprocess.run(["umount", self.at], capture_output=True).returncode != 0
        if self.mounted:
            subprocess.run(["umount", "-l", self.at], capture_output=True)


class PowerCut(Harm):
    """The store is on a disk of its own, whose power is cut; the daemon must notice, and end.

    The kernel may report an fdatasync as done that was under way: the data is written, and the journal that makes it part of
    the file is lost. With its power a machine loses the answer, too, so answers after the cut do not count."""

    def __init__(self, disk):
        super().__init__(f"power cut of {disk.kind}", needs_sync=True)
        self.disk = disk

    def work(self, daemon, life, rng):
        life.stop.wait(rng.uniform(0.05, 0.5))
        life.power_is_off.set()
        self.disk.cut(rng.choice((1, 2, 2)))
        self.reached = True
        assert until(lambda: daemon.process.poll() is not None), f"{PATIENCE_S:.0f} s after the {self} it still runs:\n{daemon.log_tail()}"
        assert daemon.process.returncode == 1, f"the {self} ended it with {daemon.process.returncode}:\n{daemon.log_tail()}"

    def after(self, daemon):
        super().after(daemon)
        self.disk.close()
        assert not self.disk.mounted, "somebody still uses the disk"
        self.disk.mount([])
