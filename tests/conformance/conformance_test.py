#!/usr/bin/env python3
"""Real SDK clients against a running server: boto3, the aws CLI and (if its modules are there) the JavaScript SDK v3.

  FRESHET_BINARY=build/debug/freshet tests/conformance/conformance_test.py
  FRESHET_ENDPOINT=http://127.0.0.1:8000 tests/conformance/conformance_test.py   # another endpoint, e.g. the service
  FRESHET_NODE_MODULES=DIR   where `npm install @aws-sdk/client-dynamodb` has been run; without it that part is skipped
"""
import decimal
import json
import pathlib
import sys
import unittest
import uuid

from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402

SERVER = endpoint.Endpoint()


def setUpModule():
    SERVER.__enter__()


def tearDownModule():
    SERVER.__exit__()


class Case(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.client = endpoint.client(SERVER.url)
        cls.resource = endpoint.resource(SERVER.url)

    def make_table(self, **more):
        name = "conformance-" + uuid.uuid4().hex[:12]
        request = dict(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        request.update(more)
        self.client.create_table(**request)
        self.addCleanup(lambda: self.client.delete_table(TableName=name))
        return name

    def make_events(self):
        """A table with a sort key, a global and a local index."""
        return self.make_table(
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"},
                {"AttributeName": "kind", "AttributeType": "S"},
                {"AttributeName": "rank", "AttributeType": "N"},
            ],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-kind",
                    "KeySchema": [
                        {"AttributeName": "kind", "KeyType": "HASH"},
                        {"AttributeName": "rank", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            LocalSecondaryIndexes=[
                {
                    "IndexName": "by-rank",
                    "KeySchema": [
                        {"AttributeName": "pk", "KeyType": "HASH"},
                        {"AttributeName": "rank", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["kind"]},
                }
            ],
        )

    def fails(self, code, message, call, **request):
        with self.assertRaises(ClientError) as caught:
            call(**request)
        error = caught.exception.response["Error"]
        self.assertEqual(error["Code"], code)
        self.assertIn(message, error["Message"])
        self.assertEqual(caught.exception.response["ResponseMetadata"]["HTTPStatusCode"], 400)
        return caught.exception.response


class Tables(Case):
    def test_life_of_a_table(self):
        name = "conformance-" + uuid.uuid4().hex[:12]
        made = self.client.create_table(
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        )["TableDescription"]
        self.assertEqual(made["TableName"], name)
        self.client.get_waiter("table_exists").wait(TableName=name)
        table = self.client.describe_table(TableName=name)["Table"]
        self.assertEqual(table["TableStatus"], "ACTIVE")
        self.assertEqual(table["KeySchema"], [{"AttributeName": "pk", "KeyType": "HASH"}])
        self.assertTrue(table["TableArn"].endswith(":table/" + name))
        self.assertIn(name, [n for page in self.client.get_paginator("list_tables").paginate() for n in page["TableNames"]])
        self.fails("ResourceInUseException", "", self.client.create_table, TableName=name, BillingMode="PAY_PER_REQUEST",
                   AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                   KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])
        self.client.delete_table(TableName=name)
        self.client.get_waiter("table_not_exists").wait(TableName=name)
        self.fails("ResourceNotFoundException", "Requested resource not found", self.client.describe_table, TableName=name)

    def test_put_works_as_soon_as_create_table_returned(self):
        name = self.make_table()
        self.client.put_item(TableName=name, Item={"pk": {"S": "a"}})

    def test_indexes_and_stream_are_described(self):
        table = self.client.describe_table(TableName=self.make_events())["Table"]
        self.assertEqual([i["IndexName"] for i in table["GlobalSecondaryIndexes"]], ["by-kind"])
        self.assertEqual(table["GlobalSecondaryIndexes"][0]["IndexStatus"], "ACTIVE")
        self.assertEqual(table["LocalSecondaryIndexes"][0]["Projection"],
                         {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["kind"]})
        name = self.make_table(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
        table = self.client.describe_table(TableName=name)["Table"]
        self.assertEqual(table["StreamSpecification"], {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
        self.assertIn("/stream/", table["LatestStreamArn"])

    def test_time_to_live(self):
        name = self.make_table()
        spec = {"Enabled": True, "AttributeName": "ttl"}
        self.assertEqual(self.client.update_time_to_live(TableName=name, TimeToLiveSpecification=spec)
                         ["TimeToLiveSpecification"], spec)
        self.assertEqual(self.client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]["AttributeName"], "ttl")

    def test_bad_definitions(self):
        self.fails("ValidationException", "Member must not be null", self.client.create_table, TableName="abc",
                   BillingMode="PAY_PER_REQUEST")
        self.fails("ValidationException", "[B, N, S]", self.client.create_table, TableName="abc",
                   BillingMode="PAY_PER_REQUEST", AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "SS"}],
                   KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}])


class Items(Case):
    def test_all_ten_types_survive(self):
        table = self.resource.Table(self.make_table())
        item = {
            "pk": "täsk ✓ \"quoted\" \\ \n",
            "number": decimal.Decimal("-12345678901234567890.123456789012345678"),
            "small": decimal.Decimal("1E-130"),
            "binary": bytes(range(256)),
            "yes": True,
            "nothing": None,
            "map": {"deep": {"list": [decimal.Decimal(1), "two", [None, False]]}},
            "empty": {"s": "", "l": [], "m": {}, "b": b""},
            "strings": {"b", "a"},
            "numbers": {decimal.Decimal("1.5"), decimal.Decimal(2)},
            "binaries": {b"\x00", b"\xff"},
        }
        table.put_item(Item=item)
        got = table.get_item(Key={"pk": item["pk"]}, ConsistentRead=True)["Item"]
        got["binary"] = got["binary"].value
        got["binaries"] = {b.value for b in got["binaries"]}
        got["empty"]["b"] = got["empty"]["b"].value
        self.assertEqual(got, item)

    def test_conditional_put_update_delete(self):
        name = self.make_table()
        table = self.resource.Table(name)
        table.put_item(Item={"pk": "a", "v": 1}, ConditionExpression=Attr("pk").not_exists())
        put = dict(TableName=name, Item={"pk": {"S": "a"}}, ConditionExpression="attribute_not_exists(pk)")
        known = self.client.meta.service_model.operation_model("PutItem").input_shape.members
        if "ReturnValuesOnConditionCheckFailure" in known:  # Debian's boto3 is older than that.
            put["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        response = self.fails("ConditionalCheckFailedException", "The conditional request failed", self.client.put_item,
                              **put)
        if "ReturnValuesOnConditionCheckFailure" in put:
            self.assertEqual(response["Item"], {"pk": {"S": "a"}, "v": {"N": "1"}})
        updated = table.update_item(
            Key={"pk": "a"}, UpdateExpression="SET #v = #v + :one, taken = :t", ConditionExpression=Attr("v").eq(1),
            ExpressionAttributeNames={"#v": "v"}, ExpressionAttributeValues={":one": 1, ":t": "TAKEN"},
            ReturnValues="ALL_NEW")
        self.assertEqual(updated["Attributes"], {"pk": "a", "v": 2, "taken": "TAKEN"})
        self.fails("ConditionalCheckFailedException", "", self.client.delete_item, TableName=name, Key={"pk": {"S": "a"}},
                   ConditionExpression="v = :v", ExpressionAttributeValues={":v": {"N": "1"}})
        gone = table.delete_item(Key={"pk": "a"}, ReturnValues="ALL_OLD")
        self.assertEqual(gone["Attributes"]["v"], 2)
        self.assertNotIn("Item", table.get_item(Key={"pk": "a"}))

    def test_update_return_values(self):
        table = self.resource.Table(self.make_table())
        key = {"pk": "a"}
        self.assertNotIn("Attributes", table.update_item(Key=key, UpdateExpression="SET x = :x",
                                                         ExpressionAttributeValues={":x": 1}))
        more = dict(Key=key, UpdateExpression="ADD x :x SET y = :x", ExpressionAttributeValues={":x": 1})
        self.assertEqual(table.update_item(ReturnValues="UPDATED_OLD", **more)["Attributes"], {"x": 1})
        self.assertEqual(table.update_item(ReturnValues="UPDATED_NEW", **more)["Attributes"], {"x": 3, "y": 1})
        self.assertEqual(table.update_item(ReturnValues="ALL_OLD", **more)["Attributes"], {"pk": "a", "x": 3, "y": 1})

    def test_the_transition_of_the_queue_sample(self):
        """The sample's own update: lower-case keywords, mixed placeholders and names."""
        name = self.make_table()
        self.client.put_item(TableName=name, Item={"pk": {"S": "t"}, "taskStatus": {"S": "PENDING"}})
        take = dict(TableName=name, Key={"pk": {"S": "t"}},
                    UpdateExpression="set taskStatus = :toTaskStatus, taskUpdated = :taskUpdated",
                    ConditionExpression="taskStatus = :fromTaskStatus",
                    ExpressionAttributeValues={":toTaskStatus": {"S": "TAKEN"}, ":fromTaskStatus": {"S": "PENDING"},
                                               ":taskUpdated": {"N": "1"}})
        self.client.update_item(**take)
        self.fails("ConditionalCheckFailedException", "", self.client.update_item, **take)

    def test_projection(self):
        table = self.resource.Table(self.make_table())
        table.put_item(Item={"pk": "a", "m": {"x": [1, 2, 3], "y": 1}, "z": 1})
        got = table.get_item(Key={"pk": "a"}, ProjectionExpression="m.x[1], #z", ExpressionAttributeNames={"#z": "z"})
        self.assertEqual(got["Item"], {"m": {"x": [2]}, "z": 1})

    def test_errors(self):
        name = self.make_table()
        put = self.client.put_item
        self.fails("ValidationException", "Missing the key pk in the item", put, TableName=name, Item={"x": {"S": "a"}})
        self.fails("ValidationException", "Type mismatch for key pk", put, TableName=name, Item={"pk": {"N": "1"}})
        self.fails("ValidationException", "Item size has exceeded the maximum allowed size", put, TableName=name,
                   Item={"pk": {"S": "a"}, "x": {"S": "x" * (400 << 10)}})
        self.fails("ValidationException", "38 significant digits", put, TableName=name,
                   Item={"pk": {"S": "a"}, "n": {"N": "1" * 39}})
        self.fails("ValidationException", "empty", put, TableName=name, Item={"pk": {"S": "a"}, "s": {"SS": []}})
        self.fails("ValidationException", "exactly one of the supported datatypes", put, TableName=name,
                   Item={"pk": {"S": "a"}, "s": {}})
        self.fails("ValidationException", "Value null at 'tableName'", put, Item={"pk": {"S": "a"}})
        self.fails("SerializationException", "NUMBER_VALUE cannot be converted to String", put, TableName=name,
                   Item={"pk": {"S": 5}})
        self.fails("ResourceNotFoundException", "Requested resource not found", put, TableName="nowhere-" + name,
                   Item={"pk": {"S": "a"}})
        update = self.client.update_item
        self.fails("ValidationException", "Syntax error", update, TableName=name, Key={"pk": {"S": "a"}},
                   UpdateExpression="SET x =")
        self.fails("ValidationException", ":missing", update, TableName=name, Key={"pk": {"S": "a"}},
                   UpdateExpression="SET x = :missing")
        self.fails("ValidationException", "unused in expressions", update, TableName=name, Key={"pk": {"S": "a"}},
                   UpdateExpression="SET x = :a", ExpressionAttributeValues={":a": {"N": "1"}, ":b": {"N": "1"}})
        self.fails("ValidationException", "This attribute is part of the key", update, TableName=name,
                   Key={"pk": {"S": "a"}}, UpdateExpression="SET pk = :a", ExpressionAttributeValues={":a": {"S": "1"}})
        self.assertEqual(self.client.scan(TableName=name)["Count"], 0)

    def test_batches(self):
        name = self.make_table()
        table = self.resource.Table(name)
        with table.batch_writer() as batch:
            for i in range(60):
                batch.put_item(Item={"pk": str(i), "n": i})
            batch.delete_item(Key={"pk": "7"})
        keys = [{"pk": str(i)} for i in range(10)]
        got = self.resource.batch_get_item(RequestItems={name: {"Keys": keys}})
        self.assertEqual(sorted(item["pk"] for item in got["Responses"][name]), [str(i) for i in range(10) if i != 7])
        self.assertEqual(got["UnprocessedKeys"], {})

    def test_capacity(self):
        name = self.make_table()
        put = self.client.put_item(TableName=name, Item={"pk": {"S": "a"}, "x": {"S": "x" * 1500}},
                                   ReturnConsumedCapacity="TOTAL")
        self.assertEqual(put["ConsumedCapacity"], {"TableName": name, "CapacityUnits": 2.0})
        got = self.client.get_item(TableName=name, Key={"pk": {"S": "a"}}, ReturnConsumedCapacity="TOTAL")
        self.assertEqual(got["ConsumedCapacity"]["CapacityUnits"], 0.5)


class Pages(Case):
    def setUp(self):
        self.name = self.make_events()
        self.table = self.resource.Table(self.name)
        with self.table.batch_writer() as batch:
            for i in range(20):
                item = {"pk": "p" + str(i % 2), "sk": i, "kind": "odd" if i % 2 else "even", "body": "x" * 50}
                if i % 4 < 2:
                    item["rank"] = 100 - i  # Sparse in both indexes.
                batch.put_item(Item=item)

    def keys(self, page):
        return [int(item["sk"]) for item in page["Items"]]

    def test_key_conditions(self):
        query = self.table.query
        self.assertEqual(self.keys(query(KeyConditionExpression=Key("pk").eq("p0"))), list(range(0, 20, 2)))
        self.assertEqual(self.keys(query(KeyConditionExpression=Key("pk").eq("p0") & Key("sk").between(4, 8))), [4, 6, 8])
        self.assertEqual(self.keys(query(KeyConditionExpression=Key("pk").eq("p1") & Key("sk").gt(15))), [17, 19])
        self.assertEqual(self.keys(query(KeyConditionExpression=Key("pk").eq("p1"), ScanIndexForward=False, Limit=2)),
                         [19, 17])
        self.assertEqual(self.keys(query(KeyConditionExpression=Key("pk").eq("none"))), [])

    def test_pages_add_up_in_both_directions(self):
        for forward in (True, False):
            pages = self.client.get_paginator("query").paginate(
                TableName=self.name, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": {"S": "p0"}},
                ScanIndexForward=forward, PaginationConfig={"PageSize": 3})
            seen = [int(item["sk"]["N"]) for page in pages for item in page["Items"]]
            self.assertEqual(seen, sorted(range(0, 20, 2), reverse=not forward))

    def test_filter_counts_what_it_looked_at(self):
        page = self.table.query(KeyConditionExpression=Key("pk").eq("p0"), FilterExpression=Attr("rank").lte(92), Limit=6)
        self.assertEqual((page["Count"], page["ScannedCount"]), (1, 6))
        self.assertEqual(page["LastEvaluatedKey"], {"pk": "p0", "sk": 10})

    def test_indexes(self):
        ranks = self.table.query(IndexName="by-kind", KeyConditionExpression=Key("kind").eq("even"))
        self.assertEqual(self.keys(ranks), [16, 12, 8, 4, 0])
        page = self.table.query(IndexName="by-kind", KeyConditionExpression=Key("kind").eq("even"), Limit=2)
        self.assertEqual(set(page["LastEvaluatedKey"]), {"pk", "sk", "kind", "rank"})
        rest = self.table.query(IndexName="by-kind", KeyConditionExpression=Key("kind").eq("even"),
                                ExclusiveStartKey=page["LastEvaluatedKey"])
        self.assertEqual(self.keys(page) + self.keys(rest), [16, 12, 8, 4, 0])
        local = self.table.query(IndexName="by-rank", KeyConditionExpression=Key("pk").eq("p1"), ConsistentRead=True)
        self.assertEqual(self.keys(local), [17, 13, 9, 5, 1])
        self.assertNotIn("body", local["Items"][0])
        count = self.table.query(IndexName="by-kind", KeyConditionExpression=Key("kind").eq("odd"), Select="COUNT")
        self.assertEqual(count["Count"], 5)
        self.assertNotIn("Items", count)

    def test_scans(self):
        seen = []
        for segment in range(3):
            pages = self.client.get_paginator("scan").paginate(TableName=self.name, Segment=segment, TotalSegments=3,
                                                               PaginationConfig={"PageSize": 4})
            seen += [int(item["sk"]["N"]) for page in pages for item in page["Items"]]
        self.assertEqual(sorted(seen), list(range(20)))
        self.assertEqual(self.table.scan(IndexName="by-kind")["Count"], 10)
        self.assertEqual(self.table.scan(FilterExpression=Attr("kind").eq("odd") & ~Attr("rank").exists())["Count"], 5)

    def test_errors(self):
        query = self.client.query
        values = {":p": {"S": "p0"}}
        self.fails("ValidationException", "Either the KeyConditions or KeyConditionExpression", query, TableName=self.name)
        self.fails("ValidationException", "pk", query, TableName=self.name, KeyConditionExpression="sk = :p",
                   ExpressionAttributeValues={":p": {"N": "1"}})
        self.fails("ValidationException", "The table does not have the specified index", query, TableName=self.name,
                   IndexName="none-such", KeyConditionExpression="pk = :p", ExpressionAttributeValues=values)
        self.fails("ValidationException", "Consistent reads are not supported on global secondary indexes", query,
                   TableName=self.name, IndexName="by-kind", KeyConditionExpression="kind = :p",
                   ExpressionAttributeValues=values, ConsistentRead=True)
        self.fails("ValidationException", "starting key", query, TableName=self.name, KeyConditionExpression="pk = :p",
                   ExpressionAttributeValues=values, ExclusiveStartKey={"pk": {"S": "p0"}})
        self.fails("ValidationException", "greater than or equal to 1", self.client.scan, TableName=self.name, Limit=0)


class CommandLine(Case):
    """The aws CLI, as a person would use it."""

    def aws(self, *arguments, fails=False):
        done = endpoint.aws(SERVER.url, "dynamodb", *arguments)
        if fails:
            self.assertNotEqual(done.returncode, 0)
            return done.stderr
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout) if done.stdout.strip() else None

    @unittest.skipUnless(endpoint.HAS_AWS, endpoint.NO_AWS)
    def test_put_get_query(self):
        name = self.make_table()
        self.assertIsNone(self.aws("put-item", "--table-name", name, "--item", '{"pk":{"S":"a"},"n":{"N":"7"}}'))
        self.assertEqual(self.aws("get-item", "--table-name", name, "--key", '{"pk":{"S":"a"}}'),
                         {"Item": {"pk": {"S": "a"}, "n": {"N": "7"}}})
        page = self.aws("query", "--table-name", name, "--key-condition-expression", "pk = :p",
                        "--expression-attribute-values", '{":p":{"S":"a"}}')
        self.assertEqual(page["Count"], 1)
        refused = self.aws("put-item", "--table-name", name, "--item", '{"pk":{"S":"a"}}', "--condition-expression",
                           "attribute_not_exists(pk)", fails=True)
        self.assertIn("(ConditionalCheckFailedException)", refused)
        self.assertIn("The conditional request failed", refused)


class JavaScript(Case):
    """The JavaScript SDK v3; the checks are in sdk_v3.mjs."""

    @unittest.skipUnless(endpoint.HAS_NODE, endpoint.NO_NODE)
    def test_sdk_v3(self):
        done = endpoint.node(SERVER.url, "sdk_v3.mjs")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
