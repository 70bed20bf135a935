#!/usr/bin/env python3
"""kill -9 while backups are made and restored, through the real binary.

A writer puts versions 1, 2, 3, ... over and over the same items, one after the other, so that what a backup holds tells the
moment that it is of, and whether it is of one. Meanwhile backups are made, restored and deleted; the daemon is killed at a
random moment and started again on the same data. A backup that was once AVAILABLE is still there until its deletion was asked
for; each holds one moment, at or after its creation was asked for and not after its answer; a restore goes on, and gives the
table exactly that moment; nothing half made is left.
"""
import pathlib
import random
import sys
import tempfile
import threading
import time

from daemon import SLOWER, Daemon, Refused, kill_options

ITEMS = 2500
PAD = "x" * 300  # More than one block, turn and segment.
PATIENCE = 60 * SLOWER


class Writer:
    """Item v % ITEMS gets version v. What was sent and not answered is sent again: it is the same."""

    def __init__(self):
        self.sent = self.answered = 0

    def put(self, daemon, version):
        self.sent = max(self.sent, version)
        daemon.dynamodb("PutItem", TableName="Items", Item={"id": {"N": str(version % ITEMS)}, "v": {"N": str(version)},
                                                            "pad": {"S": PAD}})
        self.answered = max(self.answered, version)

    def fill(self, daemon):
        for first in range(1, ITEMS + 1, 25):
            requests = [{"PutRequest": {"Item": {"id": {"N": str(v % ITEMS)}, "v": {"N": str(v)}, "pad": {"S": PAD}}}}
                        for v in range(first, min(first + 25, ITEMS + 1))]
            assert not daemon.dynamodb("BatchWriteItem", RequestItems={"Items": requests}).get("UnprocessedItems")
        self.sent = self.answered = ITEMS

    def run(self, daemon, stop):
        try:
            while not stop.is_set():
                self.put(daemon, self.answered + 1)
        except OSError:
            pass


def moment_of(daemon, table):
    """The last version in the table, which must have what was there then: of each item the newest up to it."""
    versions, start = {}, {}
    while True:
        page = daemon.dynamodb("Scan", TableName=table, **start)
        for item in page["Items"]:
            versions[int(item["id"]["N"])] = int(item["v"]["N"])
            assert item["pad"]["S"] == PAD
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert len(versions) == ITEMS, f"{table} has {len(versions)} items"
    last = max(versions.values())
    for number, version in versions.items():
        newest = last - (last - number) % ITEMS
        assert version == newest, f"{table} is of no one moment: it has version {last}, and of item {number} {version}"
    return last


def until(ready, what):
    deadline = time.monotonic() + PATIENCE
    while not (found := ready()):
        assert time.monotonic() < deadline, f"{what} does not come to its end"
        time.sleep(0.01)
    return found


class Life:
    """One life of the daemon, and what must be true after its death."""

    def __init__(self, daemon, writer, rng, number, backups):
        self.daemon, self.writer, self.rng, self.number = daemon, writer, rng, number
        self.backups = backups  # By ARN: versions between which its moment is, and whether it was seen AVAILABLE.
        self.restored = {}      # Table: ARN.
        self.problem = None

    def status(self, arn):
        return self.daemon.dynamodb("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"]

    def back_up(self):
        asked = self.writer.answered
        arn = self.daemon.dynamodb("CreateBackup", TableName="Items", BackupName=f"backup-{self.number}")["BackupDetails"]["BackupArn"]
        self.backups[arn] = {"from": asked, "to": self.writer.sent, "available": False}
        until(lambda: self.status(arn) == "AVAILABLE", arn)
        self.backups[arn]["available"] = True
        return arn

    def restore(self, arn):
        table = f"Copy-{self.number}-{len(self.restored)}"
        self.restored[table] = arn
        self.daemon.dynamodb("RestoreTableFromBackup", TargetTableName=table, BackupArn=arn)

    def delete(self, arn):
        """As soon as it can be: what is restored from it must not need it any more."""
        self.backups[arn]["available"] = False

        def deleted():
            try:
                return self.daemon.dynamodb("DeleteBackup", BackupArn=arn)
            except Refused as refused:
                assert refused.status == 400, refused
                return None
        until(deleted, "what is restored from " + arn)

    def work(self):
        try:
            while True:
                arn = self.back_up()
                if self.rng.random() < 0.8:
                    self.restore(arn)
                if self.rng.random() < 0.5:
                    self.delete(arn)
        except OSError:
            pass  # The daemon is dead.
        except (AssertionError, Refused) as problem:
            self.problem = problem

    def run(self):
        stop = threading.Event()
        threads = [threading.Thread(target=self.writer.run, args=(self.daemon, stop)), threading.Thread(target=self.work)]
        for thread in threads:
            thread.start()
        stop.wait(self.rng.uniform(0.01, 0.5))  # How far it gets does not matter: any moment must do.
        self.daemon.kill()
        stop.set()
        for thread in threads:
            thread.join()
        assert not self.problem, self.problem

    def check_restored(self, table, arn):
        """Returns whether the table is there: one whose making was not answered may be missing."""
        names = self.daemon.dynamodb("ListTables")["TableNames"]
        if table not in names:
            return False
        until(lambda: self.daemon.dynamodb("DescribeTable", TableName=table)["Table"]["TableStatus"] == "ACTIVE", table)
        moment, known = moment_of(self.daemon, table), self.backups[arn]
        assert known["from"] <= moment <= known["to"], f"{table} is of version {moment}, not of {known}"
        self.daemon.dynamodb("DeleteTable", TableName=table)
        return True

    def check(self):
        """After the next start."""
        left = [p.name for p in (self.daemon.data / "store" / "backups").iterdir() if not p.name.endswith(".backup")]
        assert not left, f"left half made: {left}"
        listed = {b["BackupArn"]: b["BackupStatus"] for b in self.daemon.dynamodb("ListBackups")["BackupSummaries"]}
        assert set(listed.values()) <= {"AVAILABLE"}, listed
        lost = [arn for arn, known in self.backups.items() if known["available"] and arn not in listed]
        assert not lost, f"lost backups: {lost}"
        checked = sum(self.check_restored(table, arn) for table, arn in self.restored.items())
        for arn in listed:
            if arn not in self.backups:  # Made, and not answered.
                self.backups[arn] = {"from": 1, "to": self.writer.sent}
            self.daemon.dynamodb("RestoreTableFromBackup", TargetTableName="Check", BackupArn=arn)
            assert self.check_restored("Check", arn)
            self.daemon.dynamodb("DeleteBackup", BackupArn=arn)
        self.backups.clear()
        return len(listed), checked


def main():
    options, rng = kill_options(__doc__)
    with tempfile.TemporaryDirectory(prefix="freshet-backups-") as folder:
        daemon = Daemon(options.binary, folder, "--segment-bytes", "1MiB", "--log-level", "warn", template=None).start()
        writer, backups, restored = Writer(), 0, 0
        try:
            daemon.dynamodb("CreateTable", TableName="Items", BillingMode="PAY_PER_REQUEST",
                            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}])
            writer.fill(daemon)
            for number in range(options.rounds):
                life = Life(daemon, writer, rng, number, {})
                life.run()
                daemon.start()
                found = life.check()
                backups, restored = backups + found[0], restored + found[1]
                print(f"round {number + 1}: {found[0]} backups and {found[1]} restored tables, each of one moment", flush=True)
            assert options.rounds < 10 or (backups > 0 and restored > 0), "no kill came at a moment of interest"
            assert daemon.stop() == 0, daemon.log_tail()
        except (AssertionError, Refused) as error:
            print(f"FAILED (seed {options.seed}): {error}\n{daemon.log_tail()}")
            daemon.kill()
            sys.exit(1)


if __name__ == "__main__":
    main()
