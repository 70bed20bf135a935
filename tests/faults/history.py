"""Eight clients of a daemon, what each of their calls came to, and a judge of what is left after a restart.

A call is ok, failed, or **unknown**. An answer of 400 to 499 is a failure: the daemon says that it did nothing. Everything
from 500 on and every connection that breaks is unknown: the change may be there or not, now or never, but not in part.

The judge knows the promises of docs/reliability.md and nothing of the code.
"""
import random
import threading
import time
import zlib

from daemon import QUEUE, Refused, SLOWER, check_books

CLIENTS = 8
REGISTERS = 5     # The registers of each client. Nobody else writes them.
CLAIMS = 40       # Names that all clients want, each at most once.
HANG_S = 30 * SLOWER  # An answer that takes longer than this does not come.
STATES = ("PENDING", "TAKEN", "DELAYED", "SUCCESS", "FAILURE", "DEAD", "CANCELLED", "SHED")


def pattern(name, version):
    """The content that belongs to a version: a torn or mixed one cannot look like it."""
    seed = zlib.crc32(f"{name}/{version}".encode())
    return f"{seed:08x}" * (1 + seed % 300)


class Register:
    """One item with one writer. `versions`: what the item may be now, the sure state first; 0 is absent."""

    def __init__(self):
        self.last, self.versions = 0, [0]
        self.refused = set()

    def ok(self, version):
        self.versions = [version]

    def seen(self, version):
        """A read is durable, too: what it showed stays."""
        allowed = version in self.versions
        if allowed:
            self.versions = [version]
        return allowed


class Task:
    def __init__(self):
        self.created = "unknown"
        self.done = "no"        # no, unknown, ok: completed.
        self.lease = None       # The last one that was handed out, while nobody tried to settle it.
        self.life = 0           # In which that was.
        self.sure_until = 0.0   # On this machine's monotonic clock.


class History:
    def __init__(self, seed):
        self.seed, self.lock = seed, threading.RLock()
        self.registers, self.transactions, self.claims, self.tasks = {}, {}, {}, {}
        self.counter = [0, 0]  # Sure additions, and those that may have been made besides.
        self.problems, self.calls = [], {"ok": 0, "failed": 0, "unknown": 0}
        self.life, self.names = 0, 0
        self.disk_was_full = False  # The store then trims streams early, to have room for what else is written.
        self.position, self.replayed = None, {}  # How far the stream has been read, and what its records add up to.
        self.highest = {}  # Item: the highest version that the stream has had.

    def problem(self, text):
        with self.lock:
            self.problems.append(f"life {self.life}: {text}")

    def create_table(self, daemon):
        daemon.dynamodb("CreateTable", TableName="Items", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST",
                        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})


class Life:
    """The clients of one life of the daemon, from `begin` until `end`, or until the daemon is gone."""

    def __init__(self, history, daemon):
        self.history, self.daemon, self.stop = history, daemon, threading.Event()
        self.power_is_off = threading.Event()  # A machine without power answers nothing: what comes later is unknown.
        history.life += 1
        self.answers = 0
        self.threads = [threading.Thread(target=self.run, args=(Client(self, number),), daemon=True) for number in range(CLIENTS)]

    def begin(self):
        for thread in self.threads:
            thread.start()
        return self

    def run(self, client):
        while not self.stop.is_set():
            if not client.step():
                return

    def end(self):
        self.stop.set()
        deadline = time.monotonic() + 2 * HANG_S
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                self.history.problem("a client still waits for an answer")


class Client:
    def __init__(self, life, number):
        self.life, self.history, self.daemon, self.number = life, life.history, life.daemon, number
        self.rng = random.Random(f"{self.history.seed}/{self.history.life}/{number}")
        self.held = []  # (task, lease)
        self.steps = [self.put] * 4 + [self.delete, self.read, self.read, self.transact, self.batch, self.add, self.claim] + \
                     [self.create] * 3 + [self.take] * 4 + [self.settle_stale]

    def step(self):
        """False: the daemon is gone, or it may be; then nobody knows what a further call would meet."""
        return self.rng.choice(self.steps)()

    def call(self, work, *arguments, **members):
        """(outcome, answer or refusal) of one call."""
        began = time.monotonic()
        try:
            answer = work(*arguments, **members)
            outcome = "unknown" if self.life.power_is_off.is_set() else "ok"
            self.life.answers += 1
        except Refused as refused:
            outcome, answer = ("unknown" if refused.status >= 500 else "failed"), refused
        except OSError as error:
            outcome, answer = "unknown", error
            if time.monotonic() - began > HANG_S and self.daemon.process.poll() is None:
                self.history.problem(f"no answer in {HANG_S:.0f} s: {error!r}")
        with self.history.lock:
            self.history.calls[outcome] += 1
        return outcome, answer

    def goes_on(self, outcome, answer):
        if outcome == "unknown" and isinstance(answer, OSError):
            return False
        if outcome != "ok":
            self.life.stop.wait(0.01)  # Refused, or the store has failed: not again at once.
        return True

    # Items.

    def next_version(self, name):
        register = self.history.registers.setdefault(name, Register())
        register.last += 1
        return register, register.last

    @staticmethod
    def item(name, version):
        return {"id": {"S": name}, "v": {"N": str(version)}, "pad": {"S": pattern(name, version)}}

    def note(self, register, version, outcome):
        if outcome == "ok":
            register.ok(version)
        elif outcome == "unknown":
            register.versions.append(version)
        else:
            register.refused.add(version)

    def any_name(self):
        return f"c{self.number}-{self.rng.randrange(REGISTERS)}"

    def put(self):
        name = self.any_name()
        with self.history.lock:
            register, version = self.next_version(name)
        outcome, answer = self.call(self.daemon.dynamodb, "PutItem", TableName="Items", Item=self.item(name, version))
        with self.history.lock:
            self.note(register, version, outcome)
        return self.goes_on(outcome, answer)

    def delete(self):
        name = self.any_name()
        with self.history.lock:
            register = self.history.registers.setdefault(name, Register())
        outcome, answer = self.call(self.daemon.dynamodb, "DeleteItem", TableName="Items", Key={"id": {"S": name}})
        with self.history.lock:
            if outcome != "failed":
                self.note(register, 0, outcome)
        return self.goes_on(outcome, answer)

    def read(self):
        name = self.any_name()
        outcome, answer = self.call(self.daemon.dynamodb, "GetItem", TableName="Items", Key={"id": {"S": name}}, ConsistentRead=True)
        if outcome == "ok":
            with self.history.lock:
                check_item(self.history, name, answer.get("Item"), "a read")
        return self.goes_on(outcome, answer)

    def batch(self):
        names = [f"c{self.number}-{i}" for i in range(REGISTERS)]
        with self.history.lock:
            versions = {name: self.next_version(name) for name in names}
        outcome, answer = self.call(self.daemon.dynamodb, "BatchWriteItem", RequestItems={
            "Items": [{"PutRequest": {"Item": self.item(name, version)}} for name, (_, version) in versions.items()]})
        undone = set()
        if outcome == "ok":
            undone = {put["PutRequest"]["Item"]["id"]["S"] for put in answer.get("UnprocessedItems", {}).get("Items", [])}
        with self.history.lock:
            for name, (register, version) in versions.items():
                self.note(register, version, "failed" if name in undone else outcome)
        return self.goes_on(outcome, answer)

    def transact(self):
        name = f"x{self.number}"
        with self.history.lock:
            register = self.history.transactions.setdefault(name, Register())
            register.last += 1
            version = register.last
        puts = [{"Put": {"TableName": "Items", "Item": self.item(f"{name}-{part}", version)}} for part in "abc"]
        outcome, answer = self.call(self.daemon.dynamodb, "TransactWriteItems", TransactItems=puts)
        with self.history.lock:
            self.note(register, version, outcome)
        return self.goes_on(outcome, answer)

    def add(self):
        outcome, answer = self.call(self.daemon.dynamodb, "UpdateItem", TableName="Items", Key={"id": {"S": "counter"}},
                                    UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": {"N": "1"}})
        with self.history.lock:
            self.history.counter[0 if outcome == "ok" else 1] += outcome != "failed"
        return self.goes_on(outcome, answer)

    def claim(self):
        name = f"claim-{self.rng.randrange(CLAIMS)}"
        owner = f"{self.number}/{self.rng.getrandbits(40)}"
        outcome, answer = self.call(self.daemon.dynamodb, "PutItem", TableName="Items", Item={"id": {"S": name}, "owner": {"S": owner}},
                                    ConditionExpression="attribute_not_exists(id)")
        with self.history.lock:
            winners, maybe = self.history.claims.setdefault(name, (set(), set()))
            if outcome == "ok":
                winners.add(owner)
                if len(winners) > 1:
                    self.history.problem(f"{name} was given to two: {sorted(winners)}")
            elif outcome == "unknown":
                maybe.add(owner)
        return self.goes_on(outcome, answer)

    # Tasks.

    def create(self):
        with self.history.lock:
            names = [f"t{self.history.names + i}" for i in range(self.rng.choice((1, 1, 2, 6)))]
            self.history.names += len(names)
            for name in names:
                self.history.tasks[name] = Task()
        outcome, answer = self.call(self.daemon.call, "POST", QUEUE + "/tasks",
                                    {"tasks": [{"taskId": name, "payload": pattern(name, 0), "ttlSeconds": 30_000_000} for name in names]})
        with self.history.lock:
            for i, name in enumerate(names):
                of_one = "failed" if outcome == "ok" and "error" in answer["results"][i] else outcome
                self.history.tasks[name].created = of_one
        return self.goes_on(outcome, answer)

    def take(self):
        lease_ms = self.rng.choice((300, 2_000, 60_000))
        settle, self.held = self.held, []
        document = {"max": self.rng.choice((1, 2, 8)), "leaseMs": lease_ms, "waitMs": self.rng.choice((0, 20)), "settle": []}
        wanted = []
        for name, lease in settle:
            outcome = self.rng.choice(("complete", "complete", "complete", "fail", "release", "heartbeat", "forget"))
            if outcome == "forget":
                continue
            wanted.append((name, lease, outcome))
            document["settle"].append({"taskId": name, "lease": lease, "outcome": outcome})
        with self.history.lock:
            for name, lease, outcome in wanted:
                self.begin_settle(name, lease, outcome)
        life, sent = self.history.life, time.monotonic()
        outcome, answer = self.call(self.daemon.call, "POST", QUEUE + "/take", document)
        if outcome == "ok":
            with self.history.lock:
                for (name, lease, what), result in zip(wanted, answer.get("settled", [])):
                    self.end_settle(name, lease, what, result)
                for task in answer["tasks"]:
                    self.taken(task, life, sent, lease_ms)
        return self.goes_on(outcome, answer)

    def begin_settle(self, name, lease, outcome):
        task = self.history.tasks[name]
        if task.lease == lease:
            task.lease = None  # It may be over from now on. (After a heartbeat nobody knows how long it lasts.)
        if outcome == "complete" and task.done == "no":
            task.done = "unknown"

    def end_settle(self, name, lease, outcome, result):
        task = self.history.tasks[name]
        if outcome == "complete" and result.get("taskStatus") == "SUCCESS":
            if task.done == "ok":
                self.history.problem(f"{name} was completed under two leases")
            task.done = "ok"

    def taken(self, answer, life, sent, lease_ms):
        name, lease, now = answer["taskId"], answer["lease"], time.monotonic()
        task = self.history.tasks.get(name)
        if task is None or task.created == "failed":
            self.history.problem(f"a take gave {name}, which nobody created")
            return
        if answer.get("payload") != pattern(name, 0):
            self.history.problem(f"{name} came with another payload: {str(answer.get('payload'))[:60]}")
        if task.done == "ok":
            self.history.problem(f"{name} was taken after its completion had been acknowledged")
        if task.lease not in (None, lease) and task.life == life and now < task.sure_until:
            self.history.problem(f"{name} has two leases, {task.lease} and {lease}: the first one had {task.sure_until - now:.3f} s left")
        task.lease, task.life, task.sure_until = lease, life, sent + lease_ms / 1000
        self.held.append((name, lease))

    def settle_stale(self):
        """A worker that did not notice the daemon's restart completes what it held before it."""
        with self.history.lock:
            old = [(name, task.lease) for name, task in self.history.tasks.items()
                   if task.lease and task.life < self.history.life and task.done == "no"][:1]
        for name, lease in old:
            outcome, answer = self.call(self.daemon.call, "POST", QUEUE + "/settle",
                                        {"settle": [{"taskId": name, "lease": lease, "outcome": "complete"}]})
            with self.history.lock:
                task = self.history.tasks[name]
                if outcome == "ok" and "error" not in answer["settled"][0]:
                    self.history.problem(f"{name} was completed under a lease of a daemon that is dead")
                if task.lease == lease:
                    task.lease = None
            return self.goes_on(outcome, answer)
        return True


def check_item(history, name, item, where):
    """An item as a read shows it."""
    version = int(item["v"]["N"]) if item else 0
    if item and item["pad"]["S"] != pattern(name, version):
        history.problem(f"{where} shows {name} of version {version} with another content")
    register = history.registers.get(name) or Register()
    before = list(register.versions)
    if not register.seen(version):
        history.problem(f"{where} shows {name} of version {version or 'none'}; it may be {' or '.join(str(v or 'none') for v in before)}"
                        + (" (that one was refused)" if version in register.refused else ""))


class Judge:
    """Looks at everything while no client is at work, and raises AssertionError with what it found."""

    def __init__(self, history, daemon):
        self.history, self.daemon = history, daemon

    def judge(self):
        self.items()
        self.stream()
        self.all_tasks()
        assert not self.history.problems, "\n".join(self.history.problems[:5])

    def items(self):
        history, found, start = self.history, {}, None
        while True:
            page = self.daemon.dynamodb("Scan", TableName="Items", ConsistentRead=True, **({"ExclusiveStartKey": start} if start else {}))
            found.update({item["id"]["S"]: item for item in page["Items"]})
            start = page.get("LastEvaluatedKey")
            if not start:
                break
        self.found = found
        rest = dict(found)
        for name in history.registers:
            check_item(history, name, rest.pop(name, None), "the store")
        for name, register in history.transactions.items():
            parts = [rest.pop(f"{name}-{part}", None) for part in "abc"]
            versions = {int(part["v"]["N"]) if part else 0 for part in parts}
            if len(versions) > 1:
                history.problem(f"a transaction is there in part: {name} has {sorted(versions)}")
            elif not register.seen(versions.copy().pop()):
                history.problem(f"transaction {name}: {versions} is there, {register.versions} may be")
        sure, maybe = history.counter
        counted = int(rest.pop("counter", {}).get("n", {"N": "0"})["N"])
        if not sure <= counted <= sure + maybe:
            history.problem(f"the counter is {counted}; {sure} additions were acknowledged, {maybe} are unknown")
        history.counter = [counted, 0]
        self.claims(rest)
        if rest:
            history.problem(f"the table has items that nobody wrote: {sorted(rest)[:3]}")

    def claims(self, rest):
        for name, (winners, maybe) in self.history.claims.items():
            item = rest.pop(name, None)
            owner = item["owner"]["S"] if item else None
            if winners and owner not in winners:
                self.history.problem(f"{name} was given to {sorted(winners)}, and is {owner}'s")
            if not winners and owner is not None and owner not in maybe:
                self.history.problem(f"{name} is {owner}'s, whose claim was refused")
            self.history.claims[name] = ({owner} if owner else set(), set())

    def stream(self):
        """The records since the last time, added to those before, come to what the table has."""
        history, call = self.history, self.daemon.dynamodb
        streams = lambda operation, **members: self.daemon.call("POST", "/", members, {
            "X-Amz-Target": f"DynamoDBStreams_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"})
        arn = call("DescribeTable", TableName="Items")["Table"]["LatestStreamArn"]
        shard = streams("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
        start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": history.position} if history.position else {
            "ShardIteratorType": "TRIM_HORIZON"}
        trimmed = False
        try:
            iterator = streams("GetShardIterator", StreamArn=arn, ShardId=shard, **start)["ShardIterator"]
        except Refused as refused:
            if "TrimmedDataAccessException" not in str(refused) or not history.disk_was_full:
                raise
            trimmed = True
            iterator = streams("GetShardIterator", StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        while True:
            page = streams("GetRecords", ShardIterator=iterator)
            for record in page["Records"]:
                if trimmed:
                    history.position = record["dynamodb"]["SequenceNumber"]
                else:
                    self.record(record)
            iterator = page["NextShardIterator"]
            if not page["Records"]:
                break
        if trimmed:  # Nobody can know the records before: the next look goes on from here.
            history.replayed = dict(self.found)
        replayed = history.replayed
        if replayed != self.found:
            differ = [name for name in replayed.keys() | self.found.keys() if replayed.get(name) != self.found.get(name)]
            history.problem(f"the stream's records do not come to what the table has: {sorted(differ)[:3]}")
            history.replayed = dict(self.found)

    def record(self, record):
        history, change = self.history, record["dynamodb"]
        number, name = change["SequenceNumber"], change["Keys"]["id"]["S"]
        if history.position and int(number) != int(history.position) + 1:
            history.problem(f"the stream goes from {history.position} to {number}")
        history.position = number
        before, image = history.replayed.get(name), change.get("NewImage")
        expected = "REMOVE" if image is None else "INSERT" if before is None else "MODIFY"
        if record["eventName"] != expected or (image is None and before is None):
            history.problem(f"the stream's record {number} of {name} is {record['eventName']}, and must be {expected}")
        if image is None:
            history.replayed.pop(name, None)
        else:
            history.replayed[name] = image
        self.version_of(name, image)

    def version_of(self, name, image):
        """Versions only rise, and what was refused is in no record."""
        register = self.history.registers.get(name) or self.history.transactions.get(name.rpartition("-")[0])
        if register is None or image is None:
            return
        version = int(image["v"]["N"])
        highest = self.history.highest
        if version in register.refused:
            self.history.problem(f"the stream has version {version} of {name}, which was refused")
        if version <= highest.get(name, 0):
            self.history.problem(f"the stream has version {version} of {name} after {highest[name]}")
        highest[name] = max(version, highest.get(name, 0))

    def all_tasks(self):
        history = self.history
        # Leases of the dead daemon end by themselves, at once; only then does nothing move while we look.
        deadline = time.monotonic() + 20 * SLOWER
        while self.daemon.stats()["depth"].get("TAKEN", 0) > 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        found = {}
        for state in STATES:
            for task in self.daemon.tasks(state):
                found[task["taskId"]] = task
        for name, task in history.tasks.items():
            there = found.pop(name, None) or self.one(name)  # It may have moved between two pages.
            if there is None:
                if task.created == "ok":
                    history.problem(f"{name} was acknowledged, and is lost")
                task.created = "failed"
                continue
            if task.created == "failed":
                history.problem(f"{name} was refused, and is there")
            task.created = "ok"
            self.task(name, task, there)
        if found:
            history.problem(f"there are tasks that nobody created: {sorted(found)[:3]}")
        check_books(self.daemon.stats())

    def one(self, name):
        try:
            return self.daemon.call("GET", f"{QUEUE}/tasks/{name}")
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    def task(self, name, task, there):
        status = there["taskStatus"]
        if there.get("payload") != pattern(name, 0):
            self.history.problem(f"{name} has another payload: {str(there.get('payload'))[:60]}")
        if status not in STATES or status in ("SHED", "CANCELLED", "FAILURE"):
            self.history.problem(f"{name} is {status}, and nobody asked for that")
        if task.done == "ok" and status != "SUCCESS":
            self.history.problem(f"the completion of {name} was acknowledged, and it is {status}")
        if task.done == "no" and status == "SUCCESS":
            self.history.problem(f"{name} is SUCCESS, and nobody completed it")
        if status == "TAKEN":
            self.history.problem(f"{name} is still TAKEN: the lease of the dead daemon was not ended")
        task.done = "ok" if status == "SUCCESS" else "no"
