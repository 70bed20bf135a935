#!/usr/bin/env python3
"""Three real daemons of a fleet on a real engine, each behind a proxy that harms its requests, under clients at any of them.

One harm follows the other: `kill -9`, SIGSTOP past the lease, partitions between a daemon and the engine, with a quiet
network or with faults of it (fleet_proxy.py). Every call of the clients is in a history (fleet_history.py). Now and then, and
at the end, the faults cease and all must come to rest. Then no acknowledged task may be lost, no task may have had two
valid leases, the newest is taken first, and the books equal a scan of the engine's tables.

Without options each harm comes five times, in some minutes; `./test.sh release` does 100 kills, 50 stops and 50
partitions. The engine is ExtendDB; without it the test is skipped by name.
"""
import argparse
import collections
import itertools
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
import extenddb  # noqa: E402
from daemon import SLOWER, Daemon, Refused  # noqa: E402
from fleet_clients import Clients, ask, new_task, settlement  # noqa: E402
from fleet_history import History  # noqa: E402
from fleet_planted import the_judge_can_fail  # noqa: E402
from fleet_proxy import KINDS, PARTITIONS, Proxy  # noqa: E402
from harm import until  # noqa: E402

KEYS = {**extenddb.ExtendDB.environment, "AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
MEMBERS = "abc"
QUEUES = ("QueueTable", "Second")
LEASE_MS = 3000
TAKE_OVER_S = 4 * SLOWER       # As docs/fleet.md promises, on a machine that does not stand still.
HAND_OVER_S = 1.5 * SLOWER     # After SIGTERM: long before a lease is over. Half a second is judged in simulated time.
RECOVERY_S = 60 * SLOWER       # While requests to the engine fail.
REST_S = 180 * SLOWER
OWN_CREATES_S = 6              # A daemon may write creates by itself for 5 s after the owner was slow (docs/fleet.md).
ORDERED = 12
HARMS_BETWEEN_EXAMS = 10
ANSWERS_BETWEEN_HARMS = 60
QUICK = ("--set", "ProcessTasksFunction.BACKOFF_BASE_MS=100", "--set", "ProcessTasksFunction.BACKOFF_MAX_MS=1000")


class Machine:
    """How long this machine, or this process, has stood still: a sleeper that wakes too late. For the time of a `with`."""

    STEP_S, USUAL_S = 0.02, 0.03

    def __init__(self):
        self.lost, self.over = 0.0, threading.Event()

    def __enter__(self):
        threading.Thread(target=self.run, daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.over.set()

    def run(self):
        before = time.monotonic()
        while not self.over.wait(self.STEP_S):
            now = time.monotonic()
            self.lost += max(0.0, now - before - self.STEP_S - self.USUAL_S)
            before = now


class Member:
    """One daemon, whatever its life, and its proxy."""

    def __init__(self, binary, place, proxy, history, name):
        self.name, self.proxy, self.history, self.id, self.port = name, proxy, history, None, None
        queues = [word for queue in QUEUES[1:] for word in ("--queue", queue)]
        self.daemon = Daemon(binary, place / name, "--store", "dynamodb", "--endpoint", proxy.url, "--create-tables", "--fleet",
                             "--fleet-lease-ms", LEASE_MS, *queues, *QUICK)
        self.daemon.environment = KEYS
        self.failed_starts = 0

    def __str__(self):
        return self.name

    def start(self):
        """Again, as a supervisor does, while the engine does not let it start."""
        while True:
            if self.id:
                self.history.life_begins(self.id, time.monotonic())
            try:
                self.port = self.daemon.start().port
                break
            except RuntimeError:
                if self.daemon.process.returncode != 1:
                    raise
                self.failed_starts += 1
        self.id = self.id or self.fleet()["member"]

    def kill(self):
        self.port = None
        self.daemon.kill()

    def leaves(self):
        """It is about to end by itself."""
        self.port = None

    def fleet(self):
        return ask(self.port, "GET", "/fleet").body

    def serves(self, queue):
        """It has an answer of the daemon that serves the queue."""
        return ask(self.port, "GET", f"/queues/{queue}/stats").status == 200

    def is_ready(self):
        return ask(self.port, "GET", "/readyz").status == 200


class Fleet:
    def __init__(self, binary, engine, place, history, rng, lag_ms):
        self.rng, self.history, self.proxies = rng, history, []
        self.lag_s = lag_ms / 1000 + 0.1  # After that, each index shows what was written.
        self.members = []
        for name in MEMBERS:
            self.proxies.append(Proxy(engine.url, f"{rng.random()}").__enter__())
            self.members.append(Member(binary, place, self.proxies[-1], history, name))
        self.calm_since = time.monotonic()

    def end(self):
        for member in self.members:
            if member.daemon.process and member.daemon.process.poll() is None:
                member.daemon.process.send_signal(signal.SIGCONT)
                member.daemon.kill()
        for proxy in self.proxies:
            proxy.__exit__()

    def ports(self):
        return [member.port for member in self.members]

    def others(self, member):
        return [one for one in self.members if one is not member]

    def calm(self):
        for proxy in self.proxies:
            proxy.calm()
        self.calm_since = time.monotonic()

    def faults(self):
        """New faults of the network for each daemon; none in a third of all cases. True if there are none."""
        share = self.rng.choice((0, 0.04, 0.2))
        self.calm()
        for proxy in self.proxies if share else ():
            kinds = self.rng.sample(KINDS, self.rng.randint(1, len(KINDS)))
            proxy.harm({kind: share / len(kinds) for kind in kinds})
        return share == 0

    def owner(self, queue, asked=None):
        """The daemon that serves the queue, by what `asked` see; None if they do not know one."""
        for one in asked or self.members:
            shown = one.fleet()
            for member in shown.get("members", []):
                if member["alive"] and f"queue/{queue}" in member["holds"]:
                    return next((known for known in self.members if known.id == member["id"]), None)
        return None

    def is_well(self):
        for member in self.members:
            shown = member.fleet()
            if shown.get("state") != "joined" or sum(one["alive"] for one in shown["members"]) != len(self.members):
                return False
        return all(member.is_ready() and member.serves(queue) for member in self.members for queue in QUEUES)

    def until(self, done, seconds, what):
        def look():
            self.history.check()
            for member in self.members:
                ended = member.daemon.process.poll() if member.port else None
                assert ended is None, f"{member} has ended by itself, with {ended}"
            return done()
        if not until(look, seconds):
            what = what() if callable(what) else what
            raise AssertionError(f"within {seconds:.0f} s it is not so that {what}; now: "
                                 f"{[(str(one), one.fleet() if one.port else 'down') for one in self.members]}")

    def until_well(self):
        self.until(self.is_well, RECOVERY_S, "all daemons are ready and serve")

    def until_served(self, asked, seconds=RECOVERY_S):
        """Each of these queues was served, by what these daemons answer."""
        left = {(one, queue) for one in asked for queue in QUEUES}

        def look():
            left.difference_update([(one, queue) for one, queue in left if one.serves(queue)])
            return not left
        self.until(look, seconds, f"these answer for each queue: {[str(one) for one in asked]}")

    def victim(self):
        owner = self.owner(self.rng.choice(QUEUES)) if self.rng.random() < 0.75 else None
        return owner or self.rng.choice(self.members)

    def made_way(self, victim):
        """The others serve what it had, and know that it is gone."""
        others = self.others(victim)
        for one in others:
            for member in one.fleet().get("members", [{"id": victim.id, "alive": True}]):
                if member["id"] == victim.id and member["alive"]:
                    return False
        return all(self.owner(queue, others) in others for queue in QUEUES)


class TakeOver:
    """A time that begins now and ends with took(). A machine without time for the engine's answers disturbs it: the daemons say so."""

    def __init__(self, machine, others):
        self.machine, self.others = machine, others
        self.lost, self.begun, self.said = machine.lost, time.monotonic(), self.unreachable()

    def unreachable(self):
        return sum(one.daemon.log_path.read_text().count("FLEET_UNREACHABLE") for one in self.others)

    def took(self):
        self.gap, self.lost = time.monotonic() - self.begun, self.machine.lost - self.lost
        return self.gap

    def was_disturbed(self):
        return self.unreachable() > self.said


class Harms:
    def __init__(self, fleet, machine, rng):
        self.fleet, self.machine, self.rng = fleet, machine, rng
        self.done, self.gaps, self.hand_overs = collections.Counter(), [], []

    def kill(self, calm):
        fleet = self.fleet
        if calm:
            fleet.until_well()
        victim = fleet.victim()
        at_once = self.rng.random() < 0.4
        takeover = TakeOver(self.machine, fleet.others(victim))
        victim.kill()
        if at_once:
            victim.start()
        fleet.until_served(fleet.others(victim))
        gap = takeover.took()
        if not at_once:
            victim.start()
        if calm:
            self.in_time(victim, takeover)
        return f"kill of {victim}, {'started at once' if at_once else 'replaced'}, served after {gap:.2f} s"

    def in_time(self, victim, takeover):
        gap, lost = takeover.gap, takeover.lost
        self.gaps.append(gap)
        if gap >= TAKE_OVER_S + lost and takeover.was_disturbed():
            self.done["takeover that a slow machine disturbed"] += 1
            return
        assert gap < TAKE_OVER_S + lost, f"{victim} was killed, all is served after {gap:.2f} s; the machine stood still for {lost:.2f} s"

    def handed_over(self, victim, takeover):
        self.hand_overs.append(takeover.gap)
        if takeover.was_disturbed():
            return
        within = HAND_OVER_S + takeover.lost
        assert takeover.gap < within, f"{victim} had SIGTERM, and gave its queues up after {takeover.gap:.2f} s; at most {within:.2f} s"

    def stop(self, calm):
        fleet = self.fleet
        victim = fleet.victim()
        begun = time.monotonic()
        victim.daemon.process.send_signal(signal.SIGSTOP)
        try:
            fleet.until(lambda: fleet.made_way(victim), RECOVERY_S, f"the others take over from {victim}, which is stopped")
            gap = time.monotonic() - begun
            time.sleep(max(0.0, LEASE_MS / 1000 - gap) + self.rng.choice((0, self.rng.uniform(0, 3))))
        finally:
            victim.daemon.process.send_signal(signal.SIGCONT)
        return f"SIGSTOP of {victim}, replaced after {gap:.2f} s"

    def partition(self, calm):
        fleet, kind = self.fleet, self.rng.choice(PARTITIONS)
        victim, how = fleet.victim(), self.rng.choice(("long", "long", "long", "short", "all"))
        cut_off = fleet.members if how == "all" else [victim]
        began = time.monotonic()
        for one in cut_off:
            one.proxy.cut_off(kind)
        try:
            if how == "short":
                time.sleep(self.rng.uniform(0.1, LEASE_MS / 1000))
            elif how == "all":
                fleet.until(lambda: not any(one.is_ready() for one in cut_off), RECOVERY_S, "no daemon says that it is ready")
            else:
                self.until_replaced(victim, kind)
            if how != "short":
                time.sleep(self.rng.choice((0, self.rng.uniform(0, 3))))
        finally:
            for one in cut_off:
                one.proxy.heal()
        return f"partition ({kind}) of {'all' if how == 'all' else victim} for {time.monotonic() - began:.2f} s"

    def until_replaced(self, victim, kind):
        self.fleet.until(lambda: self.fleet.made_way(victim), RECOVERY_S,
                         f"the others take over from {victim}, which does not reach the engine ({kind})")
        assert not victim.is_ready(), f"the others have taken over from {victim}, which does not reach the engine and says that it is ready"

    def one(self, harm):
        began, calm = time.monotonic(), self.fleet.faults()
        enough = self.fleet.history.calls["ok"] + ANSWERS_BETWEEN_HARMS
        self.fleet.until(lambda: self.fleet.history.calls["ok"] >= enough, RECOVERY_S, "clients are answered")
        said = getattr(self, harm)(calm)
        self.fleet.until_served(self.fleet.members)
        self.done[harm] += 1
        print(f"{said}; {'no faults' if calm else 'faults'}; {time.monotonic() - began:.1f} s", flush=True)


class Exam:
    """All faults cease, everything comes to rest, and all is judged."""

    def __init__(self, fleet, clients, harms):
        self.fleet, self.clients, self.harms, self.history = fleet, clients, harms, fleet.history
        self.numbers, self.last = itertools.count(1), "nothing was left"

    def sit(self):
        clients, began = self.clients, time.monotonic()
        self.fleet.calm()
        clients.creating.clear()
        clients.calm.set()
        self.fleet.until_well()
        self.fleet.until(clients.quiet, REST_S, "all creates are answered")
        self.fleet.until(lambda: not any(proxy.has_late() for proxy in self.fleet.proxies), REST_S, "late requests have arrived")
        self.fleet.until(self.has_ended, REST_S, "all tasks have ended")
        clients.resting.set()
        self.fleet.until(lambda: clients.busy == 0, REST_S, "no worker is at work")
        for queue in QUEUES:
            self.history.judge(queue, self.scan(queue))
        rested = time.monotonic() - began
        for queue in QUEUES:
            self.take_over(queue)
            self.hand_over(queue)
        for queue in QUEUES:
            self.books(queue)
            self.order(queue)
            self.books(queue)
            self.history.judge(queue, self.scan(queue))
        self.fleet.until_well()
        print(f"at rest after {rested:.1f} s (at last {self.last}), judged after {time.monotonic() - began:.1f} s: "
              f"{len(self.history.tasks)} tasks", flush=True)
        clients.calm.clear()
        clients.resting.clear()
        clients.creating.set()

    def scan(self, queue):
        """All tasks, as the engine has them."""
        found, start, daemon = {}, {}, self.fleet.members[0].daemon
        while True:
            page = daemon.dynamodb("Scan", TableName=queue, ConsistentRead=True, **start)
            found.update({item["taskId"]["S"]: item for item in page["Items"]})
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def has_ended(self):
        """By a scan: the books of an owner that saw writes without an answer may be out for a minute. The judge says which task is lost."""
        for queue in QUEUES:
            for name, item in self.scan(queue).items():
                if item["taskStatus"]["S"] != "SUCCESS":
                    self.last = f"{name} was {item['taskStatus']['S']}"
                    time.sleep(0.1)
                    return False
        return True

    def take_over(self, queue):
        """The owner is killed, so that another one counts the table anew. The newest of what the indexes show is taken first."""
        before = self.served_by(queue)
        names, slowest = self.create_in_order(queue)
        time.sleep(self.fleet.lag_s)
        owner = self.fleet.owner(queue)
        is_same = before and self.served_by(queue) == before
        takeover = TakeOver(self.harms.machine, self.fleet.others(owner))
        owner.kill()
        self.fleet.until_served(self.fleet.others(owner))
        takeover.took()
        self.harms.in_time(owner, takeover)
        owner.start()
        self.harms.done["kill at rest"] += 1
        self.fleet.until_well()
        took = self.take_in_order(queue, names)
        if is_same and slowest < 2:  # Otherwise a daemon may have created some by its own clock.
            assert took == names[::-1], f"{queue} had another owner; tasks were created as {names}, and taken as {took}"
            self.history.seen["order after a takeover"] += 1

    def hand_over(self, queue):
        """SIGTERM: another daemon serves the queue before the lease is over."""
        owner = self.fleet.owner(queue)
        takeover = TakeOver(self.harms.machine, self.fleet.others(owner))
        owner.daemon.process.send_signal(signal.SIGTERM)
        owner.leaves()
        others = self.fleet.others(owner)
        self.fleet.until(lambda: self.fleet.owner(queue, others) in others and all(one.serves(queue) for one in others), RECOVERY_S,
                         f"another daemon serves {queue} after SIGTERM")
        takeover.took()
        self.harms.handed_over(owner, takeover)
        assert owner.daemon.process.wait(RECOVERY_S) == 0, f"{owner} ended with {owner.daemon.process.returncode} after SIGTERM"
        owner.start()
        self.harms.done["SIGTERM at rest"] += 1
        self.fleet.until_well()

    def books(self, queue):
        """The counts of the daemon that serves the queue are those of a scan of the engine."""
        there = collections.Counter(item["taskStatus"]["S"] for item in self.scan(queue).values())
        counted = {}

        def look():
            stats = ask(self.fleet.members[-1].port, "GET", f"/queues/{queue}/stats").body
            counted.update(stats)
            return stats.get("booksBalance") and {state: depth for state, depth in stats["depth"].items() if depth} == there
        self.fleet.until(look, 10 * SLOWER, lambda: f"the books of {queue} equal a scan: {dict(there)}, and {counted}")
        self.history.seen["books"] += 1

    def order(self, queue):
        """While one daemon serves the queue, the newest is taken first. Again, if another one began, or the machine stood still."""
        self.fleet.until(lambda: time.monotonic() - self.fleet.calm_since > OWN_CREATES_S, RECOVERY_S, "each create is passed on")
        for _ in range(5):
            before, began = self.served_by(queue), time.monotonic()
            names, slowest = self.create_in_order(queue)
            took = self.take_in_order(queue, names)
            if before and self.served_by(queue) == before and slowest < 2 and time.monotonic() - began < 20 * SLOWER:
                assert took == names[::-1], f"{queue} was served by {before}, tasks were created as {names}, and taken as {took}"
                self.history.seen["order"] += 1
                return
        raise AssertionError(f"in five tries no daemon served {queue} all the time: {before}, {self.served_by(queue)}")

    def served_by(self, queue):
        owner = self.fleet.owner(queue)
        shown = owner.fleet() if owner else {}
        return owner and (owner.id, shown.get("term"), [one["epoch"] for one in shown.get("members", []) if one["id"] == owner.id])

    def create_in_order(self, queue):
        names, slowest = [f"o-{next(self.numbers)}" for _ in range(ORDERED)], 0.0
        for name, member in zip(names, itertools.cycle(self.fleet.members)):
            self.history.create_sent(queue, name)
            answer = ask(member.port, "POST", f"/queues/{queue}/tasks", new_task(name), 15)
            assert answer.outcome == "ok", f"a create is not answered in a calm time: {answer.status} {answer.body}"
            self.history.created(name, "ok")
            slowest = max(slowest, answer.answered - answer.sent)
            time.sleep(0.002)  # The order is by the millisecond.
        return names, slowest

    def take_in_order(self, queue, names):
        took, members = [], itertools.cycle(self.fleet.members)
        end = time.monotonic() + 20 * SLOWER
        while len(took) < len(names):
            assert time.monotonic() < end, f"{sorted(set(names) - set(took))} of {queue} cannot be taken"
            answer = ask(next(members).port, "POST", f"/queues/{queue}/take", {"leaseMs": 60_000 * SLOWER}, 15)
            for task in answer.body.get("tasks", []):
                took.append(task["taskId"])
                claim = self.history.taken(queue, task, answer.sent, answer.answered, 60 * SLOWER)
                self.complete(queue, task["taskId"], claim, next(members))
        return took

    def complete(self, queue, name, claim, member):
        sent = time.monotonic()
        self.history.settle_sent(claim, "complete", sent)
        answer = ask(member.port, "POST", f"/queues/{queue}/settle", {"settle": [settlement(name, claim, "complete")]}, 15)
        done = answer.outcome == "ok" and "error" not in answer.body["settled"][0]
        assert done, f"{name} cannot be completed: {answer.status} {answer.body}"
        self.history.settled(name, claim, "complete", sent)


def make_tables(binary, engine, place):
    """A daemon without a fleet makes the table of the second queue, as a client of it would."""
    daemon = Daemon(binary, place / "maker", "--store", "dynamodb", "--endpoint", engine.url, "--create-tables")
    daemon.environment = KEYS
    daemon.start()
    for queue in QUEUES[1:]:
        daemon.dynamodb("CreateTable", TableName=queue, BillingMode="PAY_PER_REQUEST",
                        KeySchema=[{"AttributeName": "taskId", "KeyType": "HASH"}],
                        AttributeDefinitions=[{"AttributeName": "taskId", "AttributeType": "S"}])
    daemon.stop()


def shuffled(options, rng):
    harms = ["kill"] * options.kills + ["stop"] * options.stops + ["partition"] * options.partitions
    rng.shuffle(harms)
    return harms


def run(options, engine, fleet, history, rng):
    for member in fleet.members:
        member.start()
    fleet.until_well()
    with Machine() as machine, Clients(history, QUEUES, fleet.ports, options.seed) as clients:
        harms = Harms(fleet, machine, rng)
        exam = Exam(fleet, clients, harms)
        for number, harm in enumerate(shuffled(options, rng), 1):
            harms.one(harm)
            if number % HARMS_BETWEEN_EXAMS == 0:
                exam.sit()
        exam.sit()
    history.check()
    judged = "the order after a takeover was never judged: another daemon began to serve meanwhile, or a create took two seconds, each time"
    assert history.seen["order after a takeover"], judged
    count = sum((proxy.count for proxy in fleet.proxies), collections.Counter())
    print(f"harms {dict(harms.done)}; starts that the engine let fail: {sum(one.failed_starts for one in fleet.members)}\n"
          f"requests to the engine and their faults {dict(count)}\n"
          f"calls {dict(history.calls)}, statuses {dict(history.statuses)}; judged {len(history.tasks)} tasks, {dict(history.seen)}\n"
          f"served again after a kill in calm: {[round(gap, 2) for gap in harms.gaps]} s, "
          f"after SIGTERM: {[round(gap, 3) for gap in harms.hand_overs]} s; the machine stood still for {machine.lost:.1f} s")
    assert engine.process.poll() is None, "the engine has ended"
    problems = [problem for proxy in fleet.proxies for problem in proxy.problems]
    assert not problems, f"the proxy: {problems[:5]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.environ.get("FRESHET_BINARY"), type=os.path.abspath)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    for harm in ("kills", "stops", "partitions"):
        parser.add_argument(f"--{harm}", type=int, default=5)
    parser.add_argument("--lag-ms", type=int, help="how much later the engine's indexes show a write; by default, the seed draws it")
    parser.add_argument("--logs", type=pathlib.Path, help="a folder for the daemons' logs, if the test fails")
    options = parser.parse_args()
    extenddb.need()
    print(f"seed {options.seed}", flush=True)
    the_judge_can_fail()
    rng, history = random.Random(options.seed), History()
    lag_ms = random.Random(options.seed).choice((0, 10, 100, 1500)) if options.lag_ms is None else options.lag_ms
    print(f"indexes lag by {lag_ms} ms", flush=True)
    with extenddb.ExtendDB() as engine, tempfile.TemporaryDirectory(prefix="freshet-fleet-") as name:
        engine.set_index_lag(lag_ms)
        make_tables(options.binary, engine, pathlib.Path(name))
        fleet = Fleet(options.binary, engine, pathlib.Path(name), history, rng, lag_ms)
        try:
            run(options, engine, fleet, history, rng)
        except (AssertionError, OSError, Refused, RuntimeError) as error:
            traceback.print_exception(error)
            print(f"FAILED (--seed {options.seed}): {error}")
            for problem in history.problems[:20]:
                print(f"problem: {problem}")
            for member in fleet.members:
                print(f"{member}, {member.id}:\n{member.daemon.log_tail()}")
                if options.logs:
                    options.logs.mkdir(parents=True, exist_ok=True)
                    shutil.copy(member.daemon.log_path, options.logs / f"{member}.log")
            sys.exit(1)
        finally:
            fleet.end()


if __name__ == "__main__":
    main()
