"""Clients of a fleet: they create, take, renew and settle tasks at any of its daemons, until they are ended.

Their history and its judge: fleet_history.py.
"""
import http.client
import itertools
import json
import random
import threading
import time

from daemon import SLOWER
from fleet_history import NEVER

PATIENCE_S = (1, 4, 4, 15)  # A client that gives up does not know what becomes of its request.
LEASES_MS = (1_000, 2_500, 8_000)
CALM_LEASE_MS = 20_000 * SLOWER
KEPT_S = 30_000_000  # No task expires.
# Errors of one task of a batch that say that nothing was done to it.
REFUSALS = ("ValidationException", "ProvisionedThroughputExceededException", "TooManyRequestsException", "ConflictException",
            "LimitExceededException")


class Answer:
    """The outcome of one call: ok, failed or unknown."""

    def __init__(self, sent):
        self.sent, self.answered, self.status, self.body, self.code, self.outcome = sent, None, 0, {}, "", "unknown"

    def came(self, status, body):
        self.answered, self.status, self.body = time.monotonic(), status, body
        self.outcome = "ok" if status < 300 else "failed" if 400 <= status < 500 else "unknown"
        if status >= 300:
            self.code = body.get("error", {}).get("code", "")
        return self


def ask(port, method, path, document=None, patience=4.0):
    """One request on a connection of its own."""
    answer = Answer(time.monotonic())
    connection = http.client.HTTPConnection("127.0.0.1", port or 0, timeout=patience * SLOWER)
    try:
        try:
            if not port:
                raise ConnectionRefusedError("the daemon is not there")
            connection.connect()
        except ConnectionRefusedError:
            answer.outcome = "failed"  # The request was never sent.
            return answer
        connection.request(method, path, json.dumps(document) if document is not None else None, {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        return answer.came(response.status, json.loads(text) if text.startswith(b"{") else {})
    except (OSError, http.client.HTTPException, json.JSONDecodeError):
        return answer
    finally:
        connection.close()


class Clients:
    """Threads for the time of a `with`. `ports` returns the daemons' ports, with None for one that is down."""

    def __init__(self, history, queues, ports, seed):
        self.history, self.queues, self.ports, self.seed = history, queues, ports, seed
        self.stop, self.calm, self.creating, self.resting = threading.Event(), threading.Event(), threading.Event(), threading.Event()
        self.creates_under_way, self.busy, self.numbers = 0, 0, itertools.count(1)
        self.creating.set()
        work = [self.create] * 3 + [self.work] * 6 + [self.settle_stale, self.look]
        self.threads = [threading.Thread(target=self.run, args=(step, random.Random(f"{seed}/{number}")), daemon=True)
                        for number, step in enumerate(work)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *unused):
        self.stop.set()
        for thread in self.threads:
            thread.join(120 * SLOWER)

    def run(self, step, rng):
        try:
            while not self.stop.is_set():
                step(rng)
        except Exception as error:  # The run is to fail, not this thread alone.
            self.history.problem(f"a client ended: {error!r}")
            raise

    def call(self, rng, method, path, document=None, wait_s=0.0):
        answer = ask(rng.choice(self.ports()), method, path, document, wait_s + rng.choice(PATIENCE_S))
        with self.history.lock:
            self.history.calls[answer.outcome] += 1
            self.history.statuses[f"{answer.status} {answer.code}".strip()] += 1
        return answer

    def pause(self, rng, least, most):
        self.stop.wait(rng.uniform(least, most))

    def quiet(self):
        """No create is under way, and none will begin."""
        with self.history.lock:
            return not self.creating.is_set() and self.creates_under_way == 0

    # Creates.

    def create(self, rng):
        with self.history.lock:
            begins = self.creating.is_set()
            self.creates_under_way += begins
        if begins:
            try:
                self.create_some(rng)
            finally:
                with self.history.lock:
                    self.creates_under_way -= 1
        self.pause(rng, 0.01, 2 if rng.random() < 0.05 else 0.15)

    def create_some(self, rng):
        """Until it is acknowledged, at one daemon after the other. One in six is sent once, whatever comes of it."""
        queue = rng.choice(self.queues)
        names = [f"t-{next(self.numbers)}" for _ in range(rng.choice((1, 1, 1, 4)))]
        for name in names:
            self.history.create_sent(queue, name)
        once = rng.random() < 1 / 6
        while names and not self.stop.is_set():
            names = self.create_once(rng, queue, names)
            if once:
                return
            self.pause(rng, 0.02, 0.4)

    def create_once(self, rng, queue, names):
        """Returns those that must be created again."""
        tasks = [new_task(name) for name in names]
        answer = self.call(rng, "POST", f"/queues/{queue}/tasks", {"tasks": tasks} if len(tasks) > 1 else tasks[0])
        if answer.status in (400, 404, 409, 413):
            self.history.problem(f"a create of {names} is refused: {answer.status} {answer.body}")
        results = answer.body.get("results", [answer.body]) if answer.outcome == "ok" else [None] * len(names)
        left = []
        for name, result in zip(names, results, strict=True):
            outcome = answer.outcome
            if result and "error" in result:
                outcome = "failed" if result["error"]["code"] in REFUSALS else "unknown"
            elif result:
                self.history.expect(result["taskId"] == name, f"a create of {name} is answered with {result}")
            self.history.created(name, outcome)
            if outcome != "ok":
                left.append(name)
        return left

    # Work.

    def work(self, rng):
        if self.resting.is_set():
            self.pause(rng, 0.05, 0.1)
            return
        queue = rng.choice(self.queues)
        calm, wait_ms = self.calm.is_set(), rng.choice((0, 0, 400))
        lease_ms = CALM_LEASE_MS if calm else rng.choice(LEASES_MS)
        with self.history.lock:
            self.busy += 1
        try:
            answer = self.call(rng, "POST", f"/queues/{queue}/take", {"max": rng.choice((1, 2, 8) if calm else (1, 1, 3)),
                               "leaseMs": lease_ms, "waitMs": wait_ms, "owner": threading.current_thread().name}, wait_ms / 1000)
            if answer.status in (400, 404, 409):
                self.history.problem(f"a take is refused: {answer.status} {answer.body}")
            self.do_all(rng, queue, answer, lease_ms / 1000, calm)
        finally:
            with self.history.lock:
                self.busy -= 1
        if answer.outcome != "ok" or not answer.body["tasks"]:
            self.pause(rng, 0.05, 0.3)

    def do_all(self, rng, queue, answer, lease_s, calm):
        tasks = answer.body["tasks"] if answer.outcome == "ok" else []
        claims = [self.history.taken(queue, task, answer.sent, answer.answered, lease_s) for task in tasks]
        for task, claim in zip(tasks, claims):
            if claim and not self.stop.is_set():
                self.do(rng, queue, task["taskId"], claim, "complete" if calm else draw_fate(rng))

    def do(self, rng, queue, name, claim, fate):
        if fate == "forget":
            return
        if fate == "renew":
            self.pause(rng, 0, claim.lease_s / 3)
            self.settle(rng, queue, name, claim, "heartbeat")
        late = fate == "late"
        self.pause(rng, claim.lease_s if late else 0, claim.lease_s * 1.5 if late else 0.02 if self.calm.is_set() else claim.lease_s / 6)
        self.settle(rng, queue, name, claim, fate if fate in ("fail", "release") else "complete")

    def settle(self, rng, queue, name, claim, outcome):
        """The same again until an answer says what became of it."""
        first = time.monotonic()
        if outcome != "heartbeat":
            self.history.settle_sent(claim, outcome, first)
        for tries in range(8):
            if self.stop.is_set():
                return
            answer = self.call(rng, "POST", f"/queues/{queue}/settle", {"settle": [settlement(name, claim, outcome)]})
            if answer.outcome == "ok":
                error = answer.body["settled"][0].get("error", {}).get("code")
                if not error:
                    # A heartbeat that was sent again may be the first one, which arrived late.
                    self.history.settled(name, claim, outcome, first)
                    return
                if error == "ConflictException":
                    # A task that another try of this call has completed stays so.
                    if tries == 0 or outcome in ("complete", "heartbeat"):
                        self.history.settle_refused(name, claim, answer.answered)
                    return
                if error in ("NotFoundException", "ResourceNotFoundException"):
                    self.history.problem(f"{name} is held, and is not there: {answer.body}")
                    return
            elif answer.status in (400, 404, 409):
                self.history.problem(f"a settlement of {name} is refused: {answer.status} {answer.body}")
            self.pause(rng, 0.02, 0.5)

    def settle_stale(self, rng):
        """A worker that did not notice that another one has its task completes it. That must be refused."""
        self.pause(rng, 0.1, 0.3)
        with self.history.lock:
            stale = [(name, task, claim) for name, task in list(self.history.tasks.items())[-400:] for claim in task.claims[:-1]
                     if self.history.given_out_since(name, claim, time.monotonic()) and not claim.complete_sent]
        if not stale:
            return
        name, task, claim = rng.choice(stale)
        # A claim that its holder has ended may be told so again.
        outcome = rng.choice(("complete", "heartbeat") if claim.settle_sent < NEVER else ("complete", "fail", "heartbeat"))
        answer = self.call(rng, "POST", f"/queues/{task.queue}/settle", {"settle": [settlement(name, claim, outcome)]})
        if answer.outcome == "ok":
            error = answer.body["settled"][0].get("error", {}).get("code")
            self.history.expect(error, f"a stale holder's {outcome} is accepted: {name}: {claim}: {answer.body}")
            with self.history.lock:
                self.history.seen["refused stale holders"] += error == "ConflictException"

    def look(self, rng):
        queue = rng.choice(self.queues)
        answer = self.call(rng, "GET", rng.choice(("/fleet", f"/queues/{queue}/stats")))
        if answer.status not in (0, 200, 429) and answer.status < 500:
            self.history.problem(f"a reader gets {answer.status} {answer.body}")
        self.pause(rng, 0.1, 1)


def new_task(name):
    return {"taskId": name, "payload": name, "maxAttempts": 1_000_000, "ttlSeconds": KEPT_S}


def settlement(name, claim, outcome):
    return {"taskId": name, "lease": claim.lease, "outcome": outcome, **({"delayMs": 100} if outcome == "fail" else {})}


def draw_fate(rng):
    return rng.choices(("complete", "renew", "fail", "release", "forget", "late"), (60, 12, 8, 6, 6, 8))[0]
