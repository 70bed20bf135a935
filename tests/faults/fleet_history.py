"""The history of a fleet's clients, and the judge of it. The clients: fleet_clients.py.

A call is ok, failed or **unknown**. Only an answer from 400 to 499 and a connection that was never made are failures. All
else, each 503 too, is unknown: what was asked for may be done or not, now or later.

The judge knows the promises of docs/fleet.md, docs/engines.md and docs/lifecycle.md, and nothing of the code. A lease is
**certain** from the answer that brought it until `leaseMs` after its take or its last acknowledged heartbeat was sent; a
settlement may end it from when it is sent, and a new life of the daemon that gave it from when that begins. Two certain
leases of a task must not overlap. Besides, the judge reads `taskRev`, the number of the task's last transition: each claim
is one, and so is the end of the claim before it. All times are of the monotonic clock of this process.
"""
import collections
import math
import threading

NEVER = math.inf


class Claim:
    def __init__(self, lease, rev, sent, answered, lease_s):
        self.lease, self.rev, self.sent, self.answered, self.lease_s = lease, rev, sent, answered, lease_s
        self.member = lease.partition(":")[0]
        self.until = sent + lease_s
        self.settle_sent = NEVER     # The first time.
        self.complete_sent = False
        self.completed = False       # As an answer said.

    def __str__(self):
        return f"{self.lease} of rev {self.rev}, taken from {self.sent:.3f} to {self.answered:.3f}, settled from {self.settle_sent:.3f}"


class Task:
    def __init__(self, queue):
        self.queue, self.acknowledged, self.claims = queue, False, []
        self.outcomes = set()  # Those of its creates.


def last_claim(task):
    return max(task.claims, key=lambda claim: claim.rev, default=None)


class History:
    def __init__(self):
        self.lock = threading.RLock()
        self.tasks, self.problems, self.calls = {}, [], collections.Counter()
        self.lives = collections.defaultdict(list)  # Member: when its lives began.
        self.seen, self.statuses = collections.Counter(), collections.Counter()

    def problem(self, text):
        with self.lock:
            self.problems.append(text)

    def expect(self, holds, text):
        if not holds:
            self.problem(text)

    def check(self):
        with self.lock:
            assert not self.problems, "\n".join(self.problems[:10])

    def life_begins(self, member, now):
        with self.lock:
            self.lives[member].append(now)

    # Creates.

    def create_sent(self, queue, name):
        with self.lock:
            self.tasks.setdefault(name, Task(queue))

    def created(self, name, outcome):
        with self.lock:
            task = self.tasks[name]
            task.outcomes.add(outcome)
            task.acknowledged = task.acknowledged or outcome == "ok"

    # Claims.

    def certain_until(self, claim):
        voided = [begun for begun in self.lives[claim.member] if begun > claim.sent]
        return min(claim.until, claim.settle_sent, *voided[:1])

    def both_held(self, one, other):
        """Whichever was made first, the other one was made while it was held for certain."""
        return other.answered < self.certain_until(one) and one.answered < self.certain_until(other)

    def taken(self, queue, answer, sent, answered, lease_s):
        """The claim that a take's answer brought; None if it cannot be one."""
        name = answer["taskId"]
        with self.lock:
            self.seen["claims"] += 1
            task = self.tasks.get(name)
            if task is None:
                self.problem(f"{name} is given out, and nobody created it")
                return None
            claim = Claim(answer["lease"], answer["taskRev"], sent, answered, lease_s)
            self.expect(task.queue == queue, f"{name} of {task.queue} is given out by {queue}")
            self.expect(answer.get("payload") == name, f"{name} comes with another payload: {answer.get('payload')}")
            for other in task.claims:
                self.pair(name, other, claim)
            task.claims.append(claim)
            return claim

    def pair(self, name, one, other):
        """Two claims of one task, as far as they are known now."""
        both = f"{name}: {one}; {other}"
        self.expect(one.lease != other.lease, f"two claims have one lease: {both}")
        self.expect(abs(one.rev - other.rev) >= 2, f"two leases are valid by rev: {both}")
        self.expect(not self.both_held(one, other), f"two workers hold one task: {both}")
        first, second = (one, other) if one.answered < other.sent else (other, one)
        if first.answered < second.sent:
            self.expect(first.rev < second.rev, f"a later claim has a lower rev: {both}")
        first, second = sorted((one, other), key=lambda claim: claim.rev)
        self.expect(not first.completed, f"a completed task is given out again: {both}")

    def find(self, name, lease):
        return next(claim for claim in self.tasks[name].claims if claim.lease == lease)

    def given_out_since(self, name, claim, now):
        """A claim that was made after this one for certain, and before `now`; None if there is none."""
        later = (other for other in self.tasks[name].claims if other.sent > claim.answered and other.answered < now)
        return next(later, None)

    # Settlements. `claim` is what `taken` returned.

    def settle_sent(self, claim, outcome, now):
        with self.lock:
            claim.settle_sent = min(claim.settle_sent, now)
            claim.complete_sent = claim.complete_sent or outcome == "complete"

    def settled(self, name, claim, outcome, sent):
        """The answer says that it is done, or the lease is renewed; it was first sent then."""
        with self.lock:
            other = self.given_out_since(name, claim, sent)
            self.expect(other is None, f"a stale holder's {outcome} is accepted at {sent:.3f}: {name}: {claim}; {other}")
            if outcome == "heartbeat":
                claim.until = max(claim.until, sent + claim.lease_s)
            elif outcome == "complete":
                claim.completed = True
                self.expect(sum(one.completed for one in self.tasks[name].claims) == 1, f"two leases of {name} are completed")

    def settle_refused(self, name, claim, answered):
        with self.lock:
            voided = any(begun > claim.sent for begun in self.lives[claim.member])
            self.expect(voided or answered >= claim.until, f"a holder is refused within its lease at {answered:.3f}: {name}: {claim}")
            self.seen["refused holders"] += 1

    # The end. `items`: the tasks of a queue, as the engine has them.

    def judge(self, queue, items):
        with self.lock:
            for name, task in self.tasks.items():
                if task.queue == queue:
                    self.judge_task(name, task, items.get(name))
            for name in items:
                known = name in self.tasks and self.tasks[name].queue == queue
                self.expect(known, f"{name} is in {queue}, and nobody created it there")
        self.check()

    def judge_task(self, name, task, item):
        for place, one in enumerate(task.claims):
            for other in task.claims[:place]:
                self.pair(name, one, other)
        if item is None:
            self.expect(not task.acknowledged, f"{name} was acknowledged, and is lost")
            self.expect(not task.claims, f"{name} was given out, and is lost")
            return
        self.expect(task.outcomes != {"failed"}, f"each create of {name} was refused, and it is there")
        status, rev = item["taskStatus"]["S"], int(item.get("taskRev", {"N": "0"})["N"])
        self.expect(status == "SUCCESS", f"{name} has not ended: it is {status}")
        last = last_claim(task)
        if last:
            self.expect(rev > last.rev, f"{name} is at rev {rev}, and was claimed: {last}")
        for claim in task.claims:
            self.expect(not claim.completed or item["lastEnd"]["S"].startswith(f"{claim.lease} completed "),
                        f"{name} was completed under {claim.lease}, and its last end is {item.get('lastEnd')}")
        if status == "SUCCESS":
            ended_by = item["lastEnd"]["S"].split(" ")[0]
            self.expect(any(claim.lease == ended_by and claim.complete_sent for claim in task.claims),
                        f"{name} is a SUCCESS under {ended_by}, which nobody completed")
