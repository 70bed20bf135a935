#!/usr/bin/env python3
"""Changes and deletion of tables, through boto3. Started like conformance_test.py."""
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from conformance_test import Case, setUpModule, tearDownModule  # noqa: E402, F401

PATIENCE = 120  # Seconds for an index to be built.


class UpdateTable(Case):
    def describe(self, name):
        return self.client.describe_table(TableName=name)["Table"]

    def settled(self, name):
        """As soon as table and indexes are ACTIVE."""
        deadline = time.monotonic() + PATIENCE
        while True:
            table = self.describe(name)
            states = [table["TableStatus"]] + [i["IndexStatus"] for i in table.get("GlobalSecondaryIndexes", [])]
            if set(states) == {"ACTIVE"} or time.monotonic() > deadline:
                return table
            time.sleep(0.05)

    def test_add_and_drop_an_index(self):
        name = self.make_table()
        with self.resource.Table(name).batch_writer() as batch:
            for i in range(3000):
                batch.put_item(Item={"pk": str(i), "kind": "even" if i % 2 == 0 else "odd", "n": i})
        create = dict(
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "kind", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}],
            GlobalSecondaryIndexUpdates=[{"Create": {
                "IndexName": "by-kind", "Projection": {"ProjectionType": "KEYS_ONLY"},
                "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}]}}])
        made = self.client.update_table(**create)["TableDescription"]
        self.assertEqual(made["TableStatus"], "UPDATING")
        self.assertEqual([(i["IndexName"], i["IndexStatus"]) for i in made["GlobalSecondaryIndexes"]],
                         [("by-kind", "CREATING")])
        self.client.put_item(TableName=name, Item={"pk": {"S": "later"}, "kind": {"S": "odd"}, "n": {"N": "9999"}})
        self.settled(name)
        page = self.client.query(TableName=name, IndexName="by-kind", KeyConditionExpression="kind = :k",
                                 ExpressionAttributeValues={":k": {"S": "odd"}}, ScanIndexForward=False, Limit=3)
        self.assertEqual([i["n"]["N"] for i in page["Items"]], ["9999", "2999", "2997"])
        count = self.client.scan(TableName=name, IndexName="by-kind", Select="COUNT")["Count"]
        self.assertEqual(count, 3001)
        drop = [{"Delete": {"IndexName": "by-kind"}}]
        self.client.update_table(TableName=name, GlobalSecondaryIndexUpdates=drop)
        self.assertNotIn("GlobalSecondaryIndexes", self.settled(name))
        self.fails("ResourceNotFoundException", "", self.client.update_table, TableName=name,
                   GlobalSecondaryIndexUpdates=drop)
        other = [{"Delete": {"IndexName": "by-other"}}]
        self.fails("LimitExceededException", "Only 1 online index can be created or deleted", self.client.update_table,
                   **dict(create, GlobalSecondaryIndexUpdates=create["GlobalSecondaryIndexUpdates"] + other))
        self.fails("ValidationException", "Only one global secondary index update per index", self.client.update_table,
                   **dict(create, GlobalSecondaryIndexUpdates=create["GlobalSecondaryIndexUpdates"] + drop))

    def test_an_index_with_keys_of_several_attributes(self):
        def keys(**types):
            return [{"AttributeName": name, "KeyType": kind} for name, kind in types.items()]

        name = self.make_table(
            AttributeDefinitions=[{"AttributeName": a, "AttributeType": t}
                                  for a, t in dict(pk="S", tournament="S", region="S", round="S", score="N").items()],
            GlobalSecondaryIndexes=[{"IndexName": "deep", "Projection": {"ProjectionType": "ALL"},
                                     "KeySchema": keys(tournament="HASH", region="HASH", round="RANGE", score="RANGE")}])
        index = self.describe(name)["GlobalSecondaryIndexes"][0]
        self.assertEqual([k["AttributeName"] for k in index["KeySchema"]], ["tournament", "region", "round", "score"])
        with self.resource.Table(name).batch_writer() as batch:
            for i in range(40):
                item = {"pk": str(i), "tournament": "winter", "region": "na" if i % 2 else "eu", "round": f"r{i % 4}", "score": i}
                batch.put_item(Item={k: v for k, v in item.items() if k != "score" or i < 36})

        def query(condition, **more):
            values = {":t": {"S": "winter"}, ":e": {"S": "eu"}, ":r": {"S": "r2"}, ":s": {"N": "10"}}
            used = {k: v for k, v in values.items() if k in condition}
            return self.client.query(TableName=name, IndexName="deep", KeyConditionExpression=condition,
                                     ExpressionAttributeNames={"#r": "region", **({"#n": "round"} if "#n" in condition else {})},
                                     ExpressionAttributeValues=used, **more)

        def scores(page):
            return [int(item["score"]["N"]) for item in page["Items"]]

        both = "tournament = :t AND #r = :e"
        self.assertEqual(scores(query(both)), [*range(0, 36, 4), *range(2, 36, 4)])
        self.assertEqual(scores(query(both + " AND #n = :r AND score > :s", ScanIndexForward=False)), [34, 30, 26, 22, 18, 14])
        self.assertEqual(scores(query(both + " AND begins_with(#n, :r)")), [*range(2, 36, 4)])
        page, seen = query(both, Limit=5), []
        while True:
            seen += scores(page)
            if "LastEvaluatedKey" not in page:
                break
            self.assertEqual(set(page["LastEvaluatedKey"]), {"pk", "tournament", "region", "round", "score"})
            page = query(both, Limit=5, ExclusiveStartKey=page["LastEvaluatedKey"])
        self.assertEqual(seen, [*range(0, 36, 4), *range(2, 36, 4)])
        for condition in ("#r = :e", both + " AND score > :s", both + " AND #n > :r AND score = :s"):
            self.fails("ValidationException", "", query, condition=condition)

    def test_an_update_of_an_index_without_anything_to_update(self):
        name = self.make_events()
        self.fails("ValidationException", "", self.client.update_table, TableName=name,
                   GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by-kind"}}])

    def test_stream(self):
        name = self.make_table()
        on = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
        table = self.client.update_table(TableName=name, StreamSpecification=on)["TableDescription"]
        self.assertEqual(table["StreamSpecification"], on)
        self.assertIn("/stream/", table["LatestStreamArn"])
        self.fails("ValidationException", "Table already has an enabled stream", self.client.update_table, TableName=name,
                   StreamSpecification=on)
        self.client.update_table(TableName=name, StreamSpecification={"StreamEnabled": False})
        self.assertNotIn("StreamSpecification", self.settled(name))

    def test_billing(self):
        name = self.make_table()
        self.assertEqual(self.describe(name)["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
        units = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}
        self.client.update_table(TableName=name, BillingMode="PROVISIONED", ProvisionedThroughput=units)
        shown = self.settled(name)["ProvisionedThroughput"]
        self.assertEqual({k: shown[k] for k in units}, units)
        self.fails("ValidationException", "will not change", self.client.update_table, TableName=name,
                   ProvisionedThroughput=units)
        self.client.update_table(TableName=name, BillingMode="PAY_PER_REQUEST")
        self.assertEqual(self.settled(name)["ProvisionedThroughput"]["ReadCapacityUnits"], 0)

    def test_class_and_protection(self):
        name = self.make_table(TableClass="STANDARD_INFREQUENT_ACCESS")
        self.assertEqual(self.describe(name)["TableClassSummary"]["TableClass"], "STANDARD_INFREQUENT_ACCESS")
        known = self.client.meta.service_model.operation_model("UpdateTable").input_shape.members
        if "DeletionProtectionEnabled" not in known:  # Debian's boto3 is older than that.
            return
        self.client.update_table(TableName=name, DeletionProtectionEnabled=True)
        try:
            self.fails("ValidationException", "protected against deletion", self.client.delete_table, TableName=name)
        finally:
            self.client.update_table(TableName=name, DeletionProtectionEnabled=False)

    def test_nothing_to_do(self):
        self.fails("ValidationException", "At least one of", self.client.update_table, TableName=self.make_table())
        self.fails("ResourceNotFoundException", "", self.client.update_table, TableName="nowhere-at-all",
                   BillingMode="PAY_PER_REQUEST")


class Tags(Case):
    def test_tags(self):
        name = self.make_table(Tags=[{"Key": "made", "Value": "with the table"}])
        arn = self.client.describe_table(TableName=name)["Table"]["TableArn"]

        def tags():
            pages = self.client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
            return {tag["Key"]: tag["Value"] for page in pages for tag in page["Tags"]}

        self.assertEqual(tags(), {"made": "with the table"})
        self.client.tag_resource(ResourceArn=arn, Tags=[{"Key": f"k{i}", "Value": str(i)} for i in range(30)])
        self.assertEqual(len(tags()), 31)
        self.client.untag_resource(ResourceArn=arn, TagKeys=[f"k{i}" for i in range(30)])
        self.assertEqual(tags(), {"made": "with the table"})
        self.fails("AccessDeniedException", "User is not authorized to perform: dynamodb:ListTagsOfResource on resource: ",
                   self.client.list_tags_of_resource, ResourceArn=arn + "-not")


class Account(Case):
    def test_limits_endpoints_and_backups(self):
        limits = self.client.describe_limits()
        self.assertGreaterEqual(limits["AccountMaxReadCapacityUnits"], limits["TableMaxReadCapacityUnits"])
        self.assertTrue(self.client.describe_endpoints()["Endpoints"][0]["Address"])
        name = self.make_table()

        def backups():
            return self.client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]

        self.assertEqual(backups()["ContinuousBackupsStatus"], "ENABLED")
        self.assertEqual(backups()["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"], "DISABLED")
        self.client.update_continuous_backups(
            TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
        self.assertEqual(backups()["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"], "ENABLED")
        self.fails("TableNotFoundException", "Table not found", self.client.describe_continuous_backups,
                   TableName="nowhere-at-all")


if __name__ == "__main__":
    unittest.main()
