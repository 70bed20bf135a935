#!/usr/bin/env python3
"""Many lives of the real daemon, each ended by another harm, under eight clients whose calls are ok, failed or unknown.

SIGKILL at the n-th call of a kind, EIO and ENOSPC at each kind of call, files that fail, a clock that steps, pauses, a second
daemon, and power cuts of a disk of its own (harm.py). After each life the daemon is started again without harm, and everything
is judged by what it has promised (history.py): what was acknowledged is there, what is unknown is there as a whole or not at
all, what was refused is not there, no task had two leases, the stream comes to what the table has, and the books balance.

Without --long each class of harm is met a few times, in half a minute; with it each one of them, for about five minutes. A part
that this machine does not allow is left out, and its line begins with SKIPPED.
"""
import argparse
import collections
import errno
import os
import pathlib
import random
import sys
import tempfile
import time
import traceback

from daemon import SLOWER, Daemon, Refused
from harm import ALWAYS, Disk, Drain, FailingCall, FailingFile, Harm, Intruder, KilledAtCall, Pause, PowerCut, SteppingClock, Traced, until
from history import Client, History, Judge, Life, Task, pattern

LIVES_OF_A_STORE = 8
# The calls that a daemon makes on files, to clients, and to wait for them.
KILL_AT = ("pwrite64", "fdatasync", "fsync", "openat", "rename", "unlink", "fallocate", "ftruncate", "sendto", "ppoll", "recvfrom", "read",
           "write", "epoll_wait", "epoll_pwait2", "futex", "close", "mmap", "accept4", "pread64", "newfstatat", "mkdir", "flock", "statfs", "getdents64")
FATAL = ("pwrite64", "fdatasync")  # A daemon without backups and captures makes these on its log only.
FAIL_AT = ("pwrite64", "fdatasync", "fsync", "openat", "rename", "unlink", "fallocate", "ftruncate", "pread64", "newfstatat", "mkdir", "flock",
           "statfs", "getdents64")


class Stores:
    """The store that is in use, and the history of what its clients know. After some lives another one begins."""

    def __init__(self, options, folder, rng):
        self.options, self.folder, self.rng = options, folder, rng
        self.count, self.lives, self.daemon, self.history = 0, 0, None, None
        self.calls = collections.Counter()

    def begin(self, at, sync):
        self.count += 1
        self.lives = 0
        self.history = History(f"{self.options.seed}/{self.count}")
        more = ("--durability", "sync") if sync else ("--durability", self.rng.choice(("sync", "none", "interval:3")))
        self.daemon = Daemon(self.options.binary, self.folder / f"data-{self.count}", "--segment-bytes", "1MiB", "--log-level", "warn",
                             "--drain-ms", "500", *more)
        if at:
            self.daemon.store = at
        self.daemon.start()
        self.history.create_table(self.daemon)

    def one_life(self, harm):
        """From a daemon that runs unharmed to the next one that does."""
        daemon, history = self.daemon, self.history
        self.lives += 1
        daemon.stop() if self.rng.random() < 0.5 else daemon.kill()
        harm.prepare(daemon, self.rng)
        history.disk_was_full = history.disk_was_full or "ENOSPC" in str(harm) or "full" in str(harm)
        try:
            daemon.start()
        except RuntimeError:
            if not harm.start_failed(daemon):
                raise
        else:
            life = Life(history, daemon).begin()
            try:
                harm.work(daemon, life, self.rng)
            finally:
                life.end()
        harm.after(daemon)
        daemon.start()
        Judge(history, daemon).judge()

    def end(self):
        if self.history:
            self.calls.update(self.history.calls)
        if self.daemon and self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.kill()
        self.daemon = self.history = None


def harms_of_one_disk(options, rng, traced):
    """Those of a store in an ordinary folder."""
    out = [Harm(), Drain("drain"), Pause("pause"), Intruder("a second daemon"), SteppingClock(options.step_clock), SteppingClock(options.step_clock)]
    files = [FailingFile(options.bad_disk, call, path, error, times) for call, path in FailingFile.CALLS
             for error in (errno.EIO, errno.ENOSPC) for times in (1, ALWAYS)]
    kills = [KilledAtCall(call) for call in KILL_AT]
    fails = [FailingCall(call, error, call in FATAL) for call in FAIL_AT for error in ("EIO", "ENOSPC")]
    if options.long:
        return out * 2 + files + (kills * 3 + fails if traced else [])
    some = [KilledAtCall("fdatasync"), *rng.sample(kills, 3), FailingCall("fdatasync", "EIO", True), *rng.sample(fails, 2)]
    return out[:5] + rng.sample(files, 3) + (some if traced else [])


# Faults that are planted into a history, each with a word that the judge must say. Each gets a history and its daemon.
def lose_a_write(history, daemon):
    register = next(iter(history.registers.values()))
    register.last += 1
    register.ok(register.last)


def lose_part_of_a_transaction(history, daemon):
    daemon.dynamodb("DeleteItem", TableName="Items", Key={"id": {"S": next(iter(history.transactions)) + "-a"}})


def invent_an_item(history, daemon):
    daemon.dynamodb("PutItem", TableName="Items", Item={"id": {"S": "nobody's"}})


def damage_an_item(history, daemon):
    name = next(name for name, register in history.registers.items() if register.versions != [0])
    daemon.dynamodb("UpdateItem", TableName="Items", Key={"id": {"S": name}}, UpdateExpression="SET #p = :x",
                    ExpressionAttributeNames={"#p": "pad"}, ExpressionAttributeValues={":x": {"S": "y"}})


def give_a_claim_twice(history, daemon):
    history.claims[next(iter(history.claims))] = ({"another"}, set())


def count_too_much(history, daemon):
    history.counter[0] += 1


def lose_a_task(history, daemon):
    history.tasks["lost"] = Task()
    history.tasks["lost"].created = "ok"


def do_what_was_refused(history, daemon):
    next(iter(history.tasks.values())).created = "failed"


def lose_a_completion(history, daemon):
    history.tasks[daemon.tasks("PENDING")[0]["taskId"]].done = "ok"


def lose_a_record(history, daemon):
    history.replayed.popitem()


def show_a_record_twice(history, daemon):
    put = {"eventName": "MODIFY", "dynamodb": {"SequenceNumber": history.position, "Keys": {"id": {"S": "counter"}}, "NewImage": {}}}
    Judge(history, daemon).record(put)


def give_two_leases(history, daemon):
    client = Client(Life(history, daemon), 0)
    name = daemon.tasks("PENDING")[0]["taskId"]
    for lease in "ab":
        client.taken({"taskId": name, "lease": lease, "payload": pattern(name, 0)}, history.life, time.monotonic(), 60_000)


WRONG = {lose_a_write: "it may be", lose_part_of_a_transaction: "in part", invent_an_item: "nobody wrote", damage_an_item: "another content",
         give_a_claim_twice: "was given to", count_too_much: "the counter is", lose_a_task: "is lost", do_what_was_refused: "was refused, and is there",
         lose_a_completion: "completion of", lose_a_record: "stream", show_a_record_twice: "stream goes from", give_two_leases: "has two leases"}


def the_judge_can_fail(options, folder, rng):
    """The judge finds every planted fault."""
    for wrong, said in WRONG.items():
        stores = Stores(options, folder / wrong.__name__, rng)
        stores.begin(None, sync=False)
        try:
            life = Life(stores.history, stores.daemon).begin()
            history = stores.history
            enough = lambda: history.transactions and history.claims and len(history.tasks) > 20 and len(history.registers) > 20
            assert until(lambda: enough() and life.answers > 150, 60 * SLOWER), f"only {life.answers} answers"
            life.end()
            stores.daemon.kill()
            stores.daemon.start()
            Judge(history, stores.daemon).judge()
            wrong(history, stores.daemon)
            try:
                Judge(history, stores.daemon).judge()
            except AssertionError as found:
                assert said in str(found), f"{wrong.__name__}: {found}"
            else:
                raise AssertionError(f"the judge does not notice {wrong.__name__}")
        finally:
            stores.end()


def skipped(part, why):
    print(f"SKIPPED: {part}: {why}", flush=True)


def run_all(options, stores, harms, at=None, sync=False):
    reached = collections.Counter()
    for number, harm in enumerate(harms):
        if number % LIVES_OF_A_STORE == 0:
            stores.end()
            stores.begin(at and at / f"store-{number}", sync)
        began = time.monotonic()
        try:
            stores.one_life(harm)
        except (AssertionError, OSError, Refused, RuntimeError) as error:
            traceback.print_exception(error)
            print(f"FAILED (--seed {options.seed}, store {stores.count}, life {stores.lives}, {harm}): {error}\n{stores.daemon.log_tail()}")
            stores.end()
            sys.exit(1)
        reached[type(harm).__name__] += harm.reached
        print(f"{harm}: {'' if harm.reached else 'not reached, killed; '}{stores.history.calls} in {time.monotonic() - began:.1f} s", flush=True)
    stores.end()
    return reached


def power_cuts(options, stores, folder, reached):
    for kind in ("ext4", "xfs"):
        why = Disk.missing(kind)
        if why:
            skipped(f"power cuts of {kind}", why)
            continue
        disk = Disk(kind, folder)
        try:
            disk.mount([])
            reached += run_all(options, stores, [PowerCut(disk) for _ in range(16 if options.long else 2)], disk.at, sync=True)
        finally:
            stores.end()
            disk.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=os.path.abspath)
    parser.add_argument("--bad-disk", required=True, type=os.path.abspath, help="the library of bad_disk.cc")
    parser.add_argument("--step-clock", required=True, type=os.path.abspath, help="the library of step_clock.cc")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    untraced = Traced.missing()
    if untraced:
        skipped("SIGKILL and errors at the n-th call", untraced)
    with tempfile.TemporaryDirectory(prefix="freshet-black-box-") as name:
        folder = pathlib.Path(name)
        the_judge_can_fail(options, folder, rng)
        stores = Stores(options, folder, rng)
        harms = harms_of_one_disk(options, rng, traced=not untraced)
        rng.shuffle(harms)
        reached = run_all(options, stores, harms)
        power_cuts(options, stores, folder, reached)
        print(f"lives ended as they were meant to: {dict(reached)}; calls: {dict(stores.calls)}")
        # Chance decides how far a life gets, but not so often that nothing is met at all.
        for kind in {type(harm).__name__ for harm in harms}:
            assert reached[kind] > 0 or not options.long, f"no life met a {kind}"


if __name__ == "__main__":
    main()
