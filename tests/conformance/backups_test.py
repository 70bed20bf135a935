#!/usr/bin/env python3
"""On-demand backups through boto3. Started like conformance_test.py."""
import datetime
import pathlib
import sys
import time
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from conformance_test import Case, setUpModule, tearDownModule  # noqa: E402, F401

PATIENCE = 600  # Seconds; the service takes minutes to restore.


class Backups(Case):
    def wait(self, ready):
        deadline = time.monotonic() + PATIENCE
        while not (found := ready()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        return found

    def back_up(self, table, name="nightly"):
        """The description of a new backup, as soon as it is AVAILABLE."""
        made = self.client.create_backup(TableName=table, BackupName=name)["BackupDetails"]
        self.assertIn(made["BackupStatus"], ("CREATING", "AVAILABLE"))
        self.addCleanup(self.delete, made["BackupArn"])

        def available():
            described = self.client.describe_backup(BackupArn=made["BackupArn"])["BackupDescription"]
            return described["BackupDetails"]["BackupStatus"] == "AVAILABLE" and described

        return self.wait(available)

    def delete(self, arn):
        try:
            self.client.delete_backup(BackupArn=arn)
        except self.client.exceptions.BackupNotFoundException:
            pass

    def restore(self, arn, **more):
        """The new table, as soon as it is ACTIVE."""
        name = "conformance-" + uuid.uuid4().hex[:12]
        made = self.client.restore_table_from_backup(TargetTableName=name, BackupArn=arn, **more)["TableDescription"]
        self.assertEqual(made["TableStatus"], "CREATING")
        self.assertTrue(made["RestoreSummary"]["RestoreInProgress"])

        def active():
            table = self.client.describe_table(TableName=name)["Table"]
            return table["TableStatus"] == "ACTIVE" and table

        table = self.wait(active)
        self.addCleanup(lambda: self.client.delete_table(TableName=name))
        return table

    def items(self, table):
        pages = self.client.get_paginator("scan").paginate(TableName=table)
        return sorted((item for page in pages for item in page["Items"]), key=str)

    def test_back_up_and_restore(self):
        table = self.make_events()
        with self.resource.Table(table).batch_writer() as batch:
            for i in range(500):
                batch.put_item(Item={"pk": str(i % 7), "sk": i, "kind": f"k{i % 3}", "rank": i, "text": "x" * 100})
        before = self.items(table)
        backup = self.back_up(table)
        details, source = backup["BackupDetails"], backup["SourceTableDetails"]
        described = self.client.describe_table(TableName=table)["Table"]
        self.assertRegex(details["BackupArn"], r":table/" + table + r"/backup/\d{14}-[0-9a-f]{8}$")
        self.assertEqual((details["BackupName"], details["BackupType"]), ("nightly", "USER"))
        self.assertEqual((source["TableName"], source["TableId"], source["TableArn"]),
                         (table, described["TableId"], described["TableArn"]))
        self.assertEqual(source["KeySchema"], described["KeySchema"])
        self.assertEqual(source["BillingMode"], "PAY_PER_REQUEST")
        features = backup["SourceTableFeatureDetails"]
        self.assertEqual([i["IndexName"] for i in features["GlobalSecondaryIndexes"]], ["by-kind"])
        self.assertEqual([i["IndexName"] for i in features["LocalSecondaryIndexes"]], ["by-rank"])

        with self.resource.Table(table).batch_writer() as batch:
            for i in range(100):
                batch.delete_item(Key={"pk": str(i % 7), "sk": i})
        copy = self.restore(details["BackupArn"])
        self.assertEqual(self.items(copy["TableName"]), before)
        self.assertEqual(copy["RestoreSummary"]["SourceBackupArn"], details["BackupArn"])
        self.assertEqual(copy["RestoreSummary"]["SourceTableArn"], described["TableArn"])
        self.assertFalse(copy["RestoreSummary"]["RestoreInProgress"])
        page = self.client.query(TableName=copy["TableName"], IndexName="by-kind", KeyConditionExpression="kind = :k",
                                 ExpressionAttributeValues={":k": {"S": "k1"}}, Select="COUNT")
        self.assertEqual(page["Count"], sum(1 for item in before if item["kind"]["S"] == "k1"))

    def test_overrides(self):
        table = self.make_events()
        arn = self.back_up(table)["BackupDetails"]["BackupArn"]
        units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
        copy = self.restore(arn, BillingModeOverride="PROVISIONED", ProvisionedThroughputOverride=units,
                            GlobalSecondaryIndexOverride=[])
        self.assertNotIn("GlobalSecondaryIndexes", copy)
        self.assertEqual(len(copy["LocalSecondaryIndexes"]), 1)
        self.assertEqual({k: copy["ProvisionedThroughput"][k] for k in units}, units)
        self.fails("ValidationException", "", self.client.restore_table_from_backup, TargetTableName="other-index",
                   BackupArn=arn, GlobalSecondaryIndexOverride=[
                       {"IndexName": "not-there", "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "ALL"}}])

    def test_list(self):
        table = self.make_table()
        made = [self.back_up(table, f"backup-{i}")["BackupDetails"] for i in range(3)]

        def names(**more):
            return [b["BackupName"] for b in self.client.list_backups(TableName=table, **more)["BackupSummaries"]]

        self.assertEqual(sorted(names()), ["backup-0", "backup-1", "backup-2"])
        self.assertEqual(names(BackupType="SYSTEM"), [])
        # boto3 sends whole seconds.
        last = made[2]["BackupCreationDateTime"]
        self.assertIn("backup-2", names(TimeRangeLowerBound=last))
        self.assertEqual(names(TimeRangeLowerBound=last + datetime.timedelta(seconds=1)), [])
        self.assertEqual(names(TimeRangeUpperBound=made[0]["BackupCreationDateTime"]), [])
        listed, start = [], {}
        while True:
            page = self.client.list_backups(TableName=table, Limit=1, **start)
            listed += [b["BackupName"] for b in page["BackupSummaries"]]
            if "LastEvaluatedBackupArn" not in page:
                break
            start = {"ExclusiveStartBackupArn": page["LastEvaluatedBackupArn"]}
        self.assertEqual(sorted(listed), ["backup-0", "backup-1", "backup-2"])

    def test_delete(self):
        table = self.make_table()
        arn = self.back_up(table)["BackupDetails"]["BackupArn"]
        gone = self.client.delete_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]
        self.assertEqual(gone["BackupStatus"], "DELETED")
        self.fails("BackupNotFoundException", "", self.client.describe_backup, BackupArn=arn)
        self.fails("BackupNotFoundException", "", self.client.delete_backup, BackupArn=arn)
        self.fails("BackupNotFoundException", "", self.client.restore_table_from_backup, BackupArn=arn,
                   TargetTableName="nowhere-at-all")

    def test_errors(self):
        table = self.make_table()
        self.fails("TableNotFoundException", "", self.client.create_backup, TableName="nowhere-at-all", BackupName="name")
        arn = self.back_up(table)["BackupDetails"]["BackupArn"]
        self.fails("TableAlreadyExistsException", "", self.client.restore_table_from_backup, BackupArn=arn,
                   TargetTableName=table)


if __name__ == "__main__":
    unittest.main()
