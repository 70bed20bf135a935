#!/usr/bin/env python3
"""Transactions, batches, changed tables, tags, TTL, streams, capacity and the parameters of old through the aws CLI and
the JavaScript SDK v3; boto3 has suites of its own for them. Started like conformance_test.py.
"""
import json
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import conformance_test  # noqa: E402
import endpoint  # noqa: E402
from conformance_test import Case, setUpModule, tearDownModule  # noqa: E402, F401

PATIENCE = 60  # Seconds for what comes by itself.


def s(text):
    return {"S": text}


def n(number):
    return {"N": str(number)}


class Client(Case):
    def active_index(self, name):
        """Waits for the first global index and gives its description."""
        deadline = time.monotonic() + PATIENCE
        while True:
            table = self.client.describe_table(TableName=name)["Table"]
            index = table["GlobalSecondaryIndexes"][0]
            if (table["TableStatus"], index["IndexStatus"]) == ("ACTIVE", "ACTIVE") or time.monotonic() > deadline:
                return index
            time.sleep(0.05)


@unittest.skipUnless(endpoint.HAS_AWS, endpoint.NO_AWS)
class CommandLine(Client):
    def aws(self, *arguments, service="dynamodb"):
        done = endpoint.aws(conformance_test.SERVER.url, service, *self.words(arguments))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout) if done.stdout.strip() else None

    def refused(self, *arguments):
        done = endpoint.aws(conformance_test.SERVER.url, "dynamodb", *self.words(arguments))
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def words(self, arguments):
        return [one if isinstance(one, str) else json.dumps(one) for one in arguments]

    def test_transactions(self):
        name = self.make_table()
        put = {"Put": {"TableName": name, "Item": {"pk": s("a"), "v": n(1)}, "ConditionExpression": "attribute_not_exists(pk)"}}
        done = self.aws("transact-write-items", "--transact-items", [put], "--client-request-token", "once",
                        "--return-consumed-capacity", "TOTAL")
        self.assertEqual(done["ConsumedCapacity"][0]["CapacityUnits"], 2.0)
        self.aws("transact-write-items", "--transact-items", [put], "--client-request-token", "once")
        got = self.aws("transact-get-items", "--transact-items", [{"Get": {"TableName": name, "Key": {"pk": s("a")}}}])
        self.assertEqual(got["Responses"], [{"Item": {"pk": s("a"), "v": n(1)}}])
        refused = self.refused("transact-write-items", "--transact-items", [put])
        self.assertIn("(TransactionCanceledException)", refused)
        self.assertIn("[ConditionalCheckFailed]", refused)

    def test_batches(self):
        name = self.make_table()
        puts = [{"PutRequest": {"Item": {"pk": s(str(i))}}} for i in range(5)]
        done = self.aws("batch-write-item", "--request-items", {name: puts}, "--return-consumed-capacity", "TOTAL")
        self.assertEqual((done["UnprocessedItems"], done["ConsumedCapacity"][0]["CapacityUnits"]), ({}, 5.0))
        got = self.aws("batch-get-item", "--request-items", {name: {"Keys": [{"pk": s("1")}, {"pk": s("9")}]}})
        self.assertEqual(got["Responses"], {name: [{"pk": s("1")}]})

    def test_update_and_delete_items(self):
        name = self.make_events()
        key = {"pk": s("a"), "sk": n(1)}
        changed = self.aws("update-item", "--table-name", name, "--key", key, "--update-expression", "SET kind = :k",
                           "--expression-attribute-values", {":k": s("x")}, "--return-values", "ALL_NEW",
                           "--return-consumed-capacity", "INDEXES", "--return-item-collection-metrics", "SIZE")
        self.assertEqual(changed["Attributes"], dict(key, kind=s("x")))
        self.assertEqual(changed["ConsumedCapacity"]["Table"], {"CapacityUnits": 1.0})
        self.assertEqual(changed["ItemCollectionMetrics"]["ItemCollectionKey"], {"pk": s("a")})
        gone = self.aws("delete-item", "--table-name", name, "--key", key, "--return-values", "ALL_OLD")
        self.assertEqual(gone["Attributes"]["kind"], s("x"))
        self.assertEqual(self.aws("scan", "--table-name", name, "--select", "COUNT")["Count"], 0)

    def test_the_parameters_of_old(self):
        name = self.make_events()
        for i in range(4):
            self.aws("put-item", "--table-name", name, "--item", {"pk": s("a"), "sk": n(i), "rank": n(9 - i)},
                     "--expected", {"pk": {"Exists": False}})
        mine = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [s("a")]}}
        page = self.aws("query", "--table-name", name, "--key-conditions", mine, "--attributes-to-get", "sk", "--query-filter",
                        {"rank": {"ComparisonOperator": "GT", "AttributeValueList": [n(7)]}})
        self.assertEqual(page["Items"], [{"sk": n(0)}, {"sk": n(1)}])
        self.aws("update-item", "--table-name", name, "--key", {"pk": s("a"), "sk": n(0)}, "--attribute-updates",
                 {"rank": {"Action": "ADD", "Value": n(1)}})
        scan = self.aws("scan", "--table-name", name, "--scan-filter",
                        {"rank": {"ComparisonOperator": "EQ", "AttributeValueList": [n(10)]}})
        self.assertEqual(scan["Count"], 1)

    def test_change_a_table(self):
        name = self.make_table()
        self.aws("update-table", "--table-name", name, "--attribute-definitions", "AttributeName=kind,AttributeType=S",
                 "--global-secondary-index-updates",
                 [{"Create": {"IndexName": "by-kind", "Projection": {"ProjectionType": "ALL"},
                              "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}]}}])
        self.assertEqual(self.active_index(name)["IndexName"], "by-kind")
        described = self.aws("describe-table", "--table-name", name)["Table"]
        self.assertEqual(described["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
        self.assertIn(name, self.aws("list-tables")["TableNames"])
        self.assertIn("ValidationException", self.refused("update-table", "--table-name", name))

    def test_settings_of_a_table(self):
        name = self.make_table()
        arn = self.client.describe_table(TableName=name)["Table"]["TableArn"]
        self.aws("tag-resource", "--resource-arn", arn, "--tags", "Key=team,Value=blue", "Key=cost,Value=1")
        self.aws("untag-resource", "--resource-arn", arn, "--tag-keys", "cost")
        self.assertEqual(self.aws("list-tags-of-resource", "--resource-arn", arn)["Tags"], [{"Key": "team", "Value": "blue"}])
        self.aws("update-time-to-live", "--table-name", name, "--time-to-live-specification", "Enabled=true,AttributeName=ttl")
        described = self.aws("describe-time-to-live", "--table-name", name)["TimeToLiveDescription"]
        self.assertEqual(described, {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"})
        self.aws("update-continuous-backups", "--table-name", name, "--point-in-time-recovery-specification",
                 "PointInTimeRecoveryEnabled=true")
        backups = self.aws("describe-continuous-backups", "--table-name", name)["ContinuousBackupsDescription"]
        self.assertEqual(backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"], "ENABLED")
        self.assertIn("AccountMaxReadCapacityUnits", self.aws("describe-limits"))
        self.assertTrue(self.aws("describe-endpoints")["Endpoints"][0]["Address"])

    def test_create_and_delete_a_table_with_a_stream(self):
        name = "conformance-cli-" + str(time.time_ns())
        self.aws("create-table", "--table-name", name, "--attribute-definitions", "AttributeName=pk,AttributeType=S",
                 "--key-schema", "AttributeName=pk,KeyType=HASH", "--billing-mode", "PAY_PER_REQUEST",
                 "--stream-specification", "StreamEnabled=true,StreamViewType=NEW_IMAGE")
        try:
            self.aws("wait", "table-exists", "--table-name", name)
            streams = self.aws("list-streams", "--table-name", name, service="dynamodbstreams")["Streams"]
            self.assertEqual([stream["TableName"] for stream in streams], [name])
        finally:
            self.aws("delete-table", "--table-name", name)
        self.aws("wait", "table-not-exists", "--table-name", name)


@unittest.skipUnless(endpoint.HAS_NODE, endpoint.NO_NODE)
class JavaScript(Client):
    """The checks are in operations_v3.mjs, each a test of its own here."""

    def run_part(self, part, *arguments):
        done = endpoint.node(conformance_test.SERVER.url, "operations_v3.mjs", part, *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_transactions(self):
        self.run_part("transactions", self.make_table())

    def test_capacity(self):
        self.run_part("capacity", self.make_events())

    def test_the_parameters_of_old(self):
        self.run_part("legacy", self.make_events())

    def test_change_a_table(self):
        self.run_part("tables", self.make_table())

    def test_settings_of_a_table(self):
        self.run_part("settings", self.make_table())


if __name__ == "__main__":
    unittest.main()
