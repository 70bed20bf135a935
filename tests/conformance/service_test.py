#!/usr/bin/env python3
"""Answers as they were recorded from the service, word by word: which errors are counted, how a constraint is told, tags,
indexes whose keys have several attributes, definitions, descriptions, transactions. Started like conformance_test.py.

Sources: the answers that public conformance suites have recorded from the service in 2026. It changes some of its words
region by region; docs/compatibility.md says which ones Freshet has.
"""
import concurrent.futures
import pathlib
import sys
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from conformance_test import setUpModule, tearDownModule  # noqa: E402, F401
from validation_test import COUNT, INVALID, MIXED, Raw, bound, n, s  # noqa: E402

VALUES = "ExpressionAttributeValues can only be specified when using expressions"
MANY = 64  # Calls at once.


class Counts(Raw):
    """Only violated constraints are counted."""

    def setUp(self):
        self.name = self.make_table()
        self.put = {"TableName": self.name, "Item": {"pk": s("a")}}
        self.key = {"TableName": self.name, "Key": {"pk": s("a")}}

    def test_values_that_no_item_holds(self):
        for value, text in (
                ({"SS": []}, INVALID + "An string set  may not be empty"),
                ({"SS": ["a", "a"]}, INVALID + "Input collection [a, a] contains duplicates."),
                ({"NULL": False}, INVALID + "Null attribute value types must have the value of true"),
                (n("x"), "The parameter cannot be converted to a numeric value: x")):
            self.check("PutItem", [({"Item": {"pk": s("a"), "x": value}}, text)], self.put)
            self.check("UpdateItem", [({"AttributeUpdates": {"x": {"Value": value}}}, text)], self.key)
            self.check("DeleteItem", [({"Key": {"pk": value}}, text)], self.key)

    def test_expressions(self):
        condition = {"ConditionExpression": "a = :v", "ExpressionAttributeValues": {":v": n(1), ":w": n(1)}}
        unused = "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"
        names = {"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeNames": {"#b": "b"}}
        mixed = {"ConditionExpression": "attribute_exists(a)", "Expected": {"a": {"Exists": False}}}
        for operation, base in (("PutItem", self.put), ("DeleteItem", self.key), ("UpdateItem", self.key)):
            self.check(operation, [
                (condition, unused),
                (names, "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}"),
                (mixed, MIXED % ("Expected", "ConditionExpression")),
                ({"ConditionExpression": ""}, "Invalid ConditionExpression: The expression can not be empty;"),
                ({"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeNames": {}},
                 "ExpressionAttributeNames must not be empty"),
            ], base)
        self.check("UpdateItem", [
            ({"UpdateExpression": "SET a = :a"}, "Invalid UpdateExpression: An expression attribute value used in expression "
                                                 "is not defined; attribute value: :a"),
            ({"UpdateExpression": "INVALID SYNTAX"},
             'Invalid UpdateExpression: Syntax error; token: "INVALID", near: "INVALID SYNTAX"')], self.key)
        self.check("DeleteItem", [({"ReturnValues": "ALL_NEW"}, "ReturnValues can only be ALL_OLD or NONE")], self.key)
        query = dict(TableName=self.name, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": s("a")})
        self.check("Query", [({"Select": "SPECIFIC_ATTRIBUTES"}, "Must specify the AttributesToGet or ProjectionExpression "
                                                                 "when choosing to get SPECIFIC_ATTRIBUTES")], query)

    def test_a_missing_expression_is_named(self):
        values = {"ExpressionAttributeValues": {":v": n(1)}}
        condition = VALUES + ": ConditionExpression is null"
        update = VALUES + ": UpdateExpression and ConditionExpression are null"
        for operation, base, text in (("PutItem", self.put, condition), ("DeleteItem", self.key, condition),
                                      ("UpdateItem", self.key, update)):
            self.check(operation, [
                (values, text), (dict(values, Expected={"a": {"Exists": False}}), text),
                ({"ExpressionAttributeNames": {"#a": "a"}},
                 "ExpressionAttributeNames can only be specified when using expressions")], base)
        self.check("Scan", [(values, VALUES + ": FilterExpression is null"),
                            (dict(values, ScanFilter={"a": {"ComparisonOperator": "NULL"}}),
                             VALUES + ": FilterExpression is null")], {"TableName": self.name})
        old = {"KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [s("a")]}}}
        self.check("Query", [(dict(values, **old), VALUES + ": FilterExpression and KeyConditionExpression are null")],
                   {"TableName": self.name})
        self.check("TransactWriteItems", [({"TransactItems": [{"Put": dict(self.put, **values)}]}, condition)])


class Constraints(Raw):
    """Where items are read and written, a bound is told without the value."""

    def setUp(self):
        self.name = self.make_table()

    def test_numbers(self):
        least = "have value greater than or equal to "
        query = dict(TableName=self.name, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": s("a")})
        self.check("Query", [({"Limit": 0}, bound("Limit", least + "1"))], query)
        self.check("Scan", [({"Limit": 0}, bound("Limit", least + "1")),
                            ({"Segment": -1, "TotalSegments": 4}, bound("Segment", least + "0")),
                            ({"Segment": 0, "TotalSegments": 1_000_001},
                             bound("TotalSegments", "have value less than or equal to 1000000"))], {"TableName": self.name})
        self.check("ListTables", [({"Limit": 0}, COUNT + "Value '0' at 'limit' failed to satisfy constraint: Member must "
                                                 "have value greater than or equal to 1")])

    def test_lengths(self):
        keys = f"RequestItems.{self.name}.member.Keys"
        self.check("BatchGetItem", [
            ({"RequestItems": {self.name: {"Keys": [{"pk": s(str(i))} for i in range(101)]}}},
             bound(keys, "have length less than or equal to 100")),
            ({"RequestItems": {self.name: {"Keys": []}}}, bound(keys, "have length greater than or equal to 1")),
            ({"RequestItems": {}}, "The requestItems parameter is required for BatchGetItem")])
        self.check("BatchWriteItem", [({"RequestItems": {}}, "The requestItems parameter is required for BatchWriteItem")])
        put = {"Put": {"TableName": self.name, "Item": {"pk": s("a")}}}
        for operation in ("TransactWriteItems", "TransactGetItems"):
            self.check(operation, [({"TransactItems": []}, bound("TransactItems", "have length greater than or equal to 1"))])
        self.check("TransactWriteItems", [
            ({"TransactItems": [put] * 101}, bound("TransactItems", "have length less than or equal to 100")),
            ({"TransactItems": [put], "ClientRequestToken": "x" * 37},
             bound("ClientRequestToken", "have length less than or equal to 36"))])
        self.check("GetItem", [
            ({"TableName": "", "Key": {"pk": s("a")}}, bound("TableName", "have length greater than or equal to 1")),
            ({"TableName": "a" * 256, "Key": {"pk": s("a")}}, COUNT + f"Value '{'a' * 256}' at 'tableName' failed to satisfy "
             "constraint: Member must have length less than or equal to 255")])

    def test_a_table_name_keeps_its_letters(self):
        name = "Ab.Cd.Ef"
        self.check("BatchGetItem", [({"RequestItems": {name: {"Keys": []}}},
                                     bound(f"RequestItems.{name}.member.Keys", "have length greater than or equal to 1"))])
        self.check("BatchGetItem", [({"RequestItems": {name: {}}}, COUNT + f"Value null at 'requestItems.{name}.member.keys' "
                                     "failed to satisfy constraint: Member must not be null")])

    def test_the_keys_of_a_table_are_shown(self):
        keys = [{"AttributeName": name, "KeyType": kind} for name, kind in (("a", "HASH"), ("b", "RANGE"), ("c", "RANGE"))]
        self.check("CreateTable", [({}, COUNT + (
            "Value '[KeySchemaElement(attributeName=a, keyType=HASH), KeySchemaElement(attributeName=b, keyType=RANGE), "
            "KeySchemaElement(attributeName=c, keyType=RANGE)]' at 'keySchema' failed to satisfy constraint: Member must have "
            "length less than or equal to 2"))],
            {"TableName": "conformance-" + uuid.uuid4().hex[:8], "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys,
             "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in "abc"]})

    def test_what_is_no_table_name(self):
        for name in ("bad name!", "a:b", "tâble", "arn:aws:dynamodb:us-east-1:000000000000:table/bad name",
                     "arn:aws:dynamodb:us-east-1:000000000000:table/", "arn:aws:sns:us-east-1:000000000000:table/abc"):
            rest = {"Key": {"pk": s("a")}, "Item": {"pk": s("a")}, "BackupName": "backup"}
            for operation in ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Scan", "DescribeTable", "DeleteTable",
                              "UpdateTable", "DescribeTimeToLive", "DescribeContinuousBackups", "CreateBackup",
                              "ListBackups"):
                said = self.said(operation, dict(rest, TableName=name))
                self.assertIn("[a-zA-Z0-9_.-]+", said, operation)
                self.assertFalse(said.startswith("ResourceNotFound"), said)


class Tags(Raw):
    def setUp(self):
        self.name = self.make_table()
        self.arn = self.client.describe_table(TableName=self.name)["Table"]["TableArn"]

    def tag(self, key, value):
        return {"ResourceArn": self.arn, "Tags": [{"Key": key, "Value": value}]}

    def tags(self):
        return {t["Key"]: t["Value"] for page in self.client.get_paginator("list_tags_of_resource").paginate(
            ResourceArn=self.arn) for t in page["Tags"]}

    def test_resources_that_are_not_there(self):
        denied = "AccessDeniedException: User is not authorized to perform: dynamodb:ListTagsOfResource on resource: "
        absent = self.arn + "x"
        for arn, shown in ((absent, absent), ("not-an-arn", "not-an-arn"), ("arn:not/an/arn", "arn:not/an/arn"), ("", "*")):
            self.check("ListTagsOfResource", [({"ResourceArn": arn}, denied + shown)])
        index = self.arn + "/index/by-kind"
        self.check("ListTagsOfResource", [
            ({"ResourceArn": index}, "Invalid TableArn: Invalid ResourceArn provided as input " + index)])
        tags = [{"Key": "a", "Value": "b"}]
        self.check("TagResource", [
            ({"ResourceArn": absent},
             f"ResourceNotFoundException: Requested resource not found: ResourcArn: {absent} not found"),
            ({"ResourceArn": "not-an-arn"}, INVALID + "ARNs must start with 'arn:': not-an-arn"),
            ({"ResourceArn": index}, "Invalid TableArn: Invalid ResourceArn provided as input " + index)], {"Tags": tags})

    def test_lengths_are_counted_in_characters(self):
        long_key, long_value = "א" * 128, "漢" * 256
        self.check("TagResource", [(self.tag(long_key, long_value), "")])
        self.assertEqual(self.tags(), {long_key: long_value})
        for key, value, where, most in ((long_key + "א", "x", "key", 128), ("k", long_value + "漢", "value", 256)):
            self.assertIn(f"at 'tags.1.member.{where}' failed to satisfy constraint: Member must have length less than or "
                          f"equal to {most}", self.said("TagResource", self.tag(key, value)))
        self.assertIn("greater than or equal to 1", self.said("TagResource", self.tag("", "x")))
        self.check("TagResource", [(self.tag("empty", ""), "")])

    def test_which_characters_there_may_be(self):
        for text in ("a b", "законные буквы", "ѮѮ Ѯ", "é1٣", "+-=._:/@"):
            self.check("TagResource", [(self.tag(text, text), "")])
        pattern = "satisfy regular expression pattern: ^([\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*)$"
        for text in ("hi!", "d%g", '"hello"', "#!%%^$$&", "->>;-)])", "☃", "a\tb"):
            for tag in (self.tag(text, "ok"), self.tag("ok", text)):
                self.assertIn(pattern, self.said("TagResource", tag))

    def test_many_calls_at_once(self):
        def call(i):
            tag = {"Key": f"k{i % 8}", "Value": str(i)}
            said = [self.said("TagResource", {"ResourceArn": self.arn, "Tags": [tag]}),
                    self.said("ListTagsOfResource", {"ResourceArn": self.arn}),
                    self.said("UntagResource", {"ResourceArn": self.arn, "TagKeys": [f"k{(i + 4) % 8}"]})]
            return said + [self.said("TagResource", {"ResourceArn": self.arn, "Tags": [{"Key": f"own{i % 30}", "Value": ""}]})]

        with concurrent.futures.ThreadPoolExecutor(MANY) as pool:
            answers = list(pool.map(call, range(4 * MANY)))
        self.assertEqual(answers, [["", "", "", ""]] * len(answers))
        self.assertLessEqual({f"own{i}" for i in range(30)}, set(self.tags()))


class CompositeKeys(Raw):
    """Indexes whose HASH or RANGE key has several attributes."""

    def keys(self, *kinds):
        return [{"AttributeName": name, "KeyType": kind} for name, kind in kinds]

    def request(self, kinds, **more):
        names = sorted({name for name, _ in kinds} | {"pk"})
        return dict(TableName="conformance-" + uuid.uuid4().hex[:12], BillingMode="PAY_PER_REQUEST",
                    KeySchema=self.keys(("pk", "HASH")),
                    AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
                    GlobalSecondaryIndexes=[{"IndexName": "deep", "KeySchema": self.keys(*kinds),
                                             "Projection": {"ProjectionType": "ALL"}}], **more)

    def test_schemas_that_are_refused(self):
        invalid = "Invalid KeySchema: "
        cases = [
            ([(c, "HASH") for c in "abcde"], invalid + "At most 4 HASH key attributes are allowed, but there are 5"),
            ([("a", "HASH")] + [(c, "RANGE") for c in "bcdef"],
             invalid + "At most 4 RANGE key attributes are allowed, but there are 5"),
            ([("a", "HASH"), ("b", "RANGE"), ("c", "HASH")],
             invalid + "HASH key attributes must precede RANGE key attributes"),
            ([("a", "RANGE"), ("b", "HASH")], invalid + "The first KeySchemaElement is not a HASH key type"),
            ([("a", "HASH"), ("a", "HASH")], invalid + "Two key attributes have the same name: a"),
            ([("a", "HASH"), ("b", "HASH"), ("a", "RANGE")], invalid + "Two key attributes have the same name: a"),
        ]
        self.check("CreateTable", [(self.request(kinds), text) for kinds, text in cases])
        name = self.make_table()
        for kinds, text in cases:
            request = self.request(kinds)
            self.check("UpdateTable", [({"TableName": name, "AttributeDefinitions": request["AttributeDefinitions"],
                                         "GlobalSecondaryIndexUpdates": [{"Create": request["GlobalSecondaryIndexes"][0]}]},
                                        text)])

    def make(self, kinds):
        request = self.request(kinds)
        self.assertEqual(self.said("CreateTable", request), "")
        self.addCleanup(self.client.delete_table, TableName=request["TableName"])
        return request["TableName"]

    def test_queries_that_are_refused(self):
        name = self.make([("h1", "HASH"), ("h2", "HASH"), ("r1", "RANGE"), ("r2", "RANGE"), ("r3", "RANGE")])

        def hashes(names):
            return f"HASH key attributes {names} must have equality conditions specified in the query"

        def ranges(names, last):
            return (f"RANGE key attributes {names} must have equality conditions specified in the query because a condition "
                    f"is present on key attribute {last}")

        both = "h1 = :v AND h2 = :v"
        self.check("Query", [({"KeyConditionExpression": text}, message) for text, message in (
            ("h1 = :v", hashes("h2")), ("r1 = :v", hashes("h1, h2")), ("h1 = :v AND h2 > :v", hashes("h2")),
            ("h1 = :v AND begins_with(h2, :v)", hashes("h2")), ("h1 BETWEEN :v AND :v AND h2 = :v", hashes("h1")),
            (both + " AND r2 = :v", ranges("r1", "r2")), (both + " AND r1 = :v AND r3 = :v", ranges("r2", "r3")),
            (both + " AND r3 > :v", ranges("r1, r2", "r3")), (both + " AND r1 > :v AND r2 = :v", ranges("r1", "r2")),
            (both + " AND begins_with(r1, :v) AND r2 > :v", ranges("r1", "r2")),
            (both + " AND r2 = :v AND r1 = :v", ""), (both, ""))],
            {"TableName": name, "IndexName": "deep", "ExpressionAttributeValues": {":v": s("v")}})
        is_v = {"ComparisonOperator": "EQ", "AttributeValueList": [s("v")]}
        self.check("Query", [({"KeyConditions": {"h1": is_v, "h2": is_v}},
                              INVALID + "KeyConditions is not supported for index deep, which has several HASH or RANGE key "
                                        "attributes: use KeyConditionExpression")], {"TableName": name, "IndexName": "deep"})
        self.check("Query", [({"KeyConditions": {"pk": is_v}}, "")], {"TableName": name})

    def test_keys_of_the_table_may_be_parts(self):
        kinds = [("a", "HASH"), ("pk", "HASH"), ("c", "RANGE"), ("b", "RANGE")]
        name = self.make(kinds)
        described = self.client.describe_table(TableName=name)["Table"]["GlobalSecondaryIndexes"][0]["KeySchema"]
        self.assertEqual([(key["AttributeName"], key["KeyType"]) for key in described], kinds)
        for pk, b, c in (("p", "1", "2"), ("q", "1", "1")):
            self.client.put_item(TableName=name, Item={"pk": s(pk), "a": s("a"), "b": s(b), "c": s(c)})
        page = self.client.query(TableName=name, IndexName="deep", Limit=1, ExpressionAttributeValues={":a": s("a"), ":p": s("p")},
                                 KeyConditionExpression="a = :a AND pk = :p")
        self.assertEqual([item["c"] for item in page["Items"]], [s("2")])
        start = page["LastEvaluatedKey"]
        self.assertEqual(set(start), {"pk", "a", "b", "c"})
        again = self.client.scan(TableName=name, IndexName="deep", ExclusiveStartKey=start)
        self.assertLessEqual(again["Count"], 1)
        self.assertEqual(self.client.scan(TableName=name, IndexName="deep")["Count"], 2)


class Definitions(Raw):
    def make(self, index=None, **more):
        request = {"TableName": "conformance-" + uuid.uuid4().hex[:12], "BillingMode": "PAY_PER_REQUEST",
                   "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "x", "AttributeType": "S"}],
                   "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                   "GlobalSecondaryIndexes": [dict({"IndexName": "index", "Projection": {"ProjectionType": "ALL"},
                                                    "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}]}, **(index or {}))]}
        return dict(request, **more)

    def test_definitions_that_are_refused(self):
        twice = {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b", "a"]}}
        types = [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "x", "AttributeType": "S"},
                 {"AttributeName": "x", "AttributeType": "N"}]
        name = self.make_table()
        for request, text in (
                (self.make(twice), "Duplicate name in NonKeyAttributes: a"),
                (self.make(AttributeDefinitions=types),
                 "Duplicate AttributeName with another AttributeType in AttributeDefinitions: x")):
            self.check("CreateTable", [(request, INVALID + text)])
            self.check("UpdateTable", [({"AttributeDefinitions": request["AttributeDefinitions"], "GlobalSecondaryIndexUpdates": [
                {"Create": request["GlobalSecondaryIndexes"][0]}]}, INVALID + text)], {"TableName": name})

    def test_index_keys_that_are_too_long(self):
        name = self.make_events()
        item = {"pk": s("p"), "sk": n(1), "rank": n(1)}
        long = INVALID + "Size limit exceeded for Index Key kind Actual Size: 2049 bytes Max Size: 2048 bytes IndexName: by-kind"
        put = dict(TableName=name, Item=dict(item, kind=s("k" * 2049)))
        key = {"pk": item["pk"], "sk": item["sk"]}
        update = dict(TableName=name, Key=key, UpdateExpression="SET kind = :v", ExpressionAttributeValues={":v": s("k" * 2049)})
        self.check("PutItem", [(put, long)])
        self.check("UpdateItem", [(update, long), ({"TableName": name, "Key": key, "AttributeUpdates": {
            "kind": {"Value": s("k" * 2049)}}}, long)])
        self.check("BatchWriteItem", [({"RequestItems": {name: [{"PutRequest": {"Item": put["Item"]}}]}}, long)])
        for action in ({"Put": put}, {"Update": update}):
            status, answer = self.send("TransactWriteItems", {"TransactItems": [action]})
            self.assertEqual((status, answer["CancellationReasons"][0].get("Message")), (400, long))
        self.check("Query", [({"KeyConditionExpression": "kind = :v"},
                              INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes")],
                   {"TableName": name, "IndexName": "by-kind", "ExpressionAttributeValues": {":v": s("k" * 2049)}})

    def test_sort_keys_of_indexes_that_are_too_long(self):
        keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "x", "KeyType": "RANGE"}]
        request = self.make({"KeySchema": keys})
        self.assertEqual(self.said("CreateTable", request), "")
        self.addCleanup(self.client.delete_table, TableName=request["TableName"])
        item = {"TableName": request["TableName"], "Item": {"pk": s("p"), "x": s("x" * 1025)}}
        self.check("PutItem", [(item, INVALID + "Size limit exceeded for Index Key x Actual Size: 1025 bytes Max Size: 1024 bytes "
                                                "IndexName: index")])
        query = {"TableName": request["TableName"], "IndexName": "index",
                 "ExpressionAttributeValues": {":p": s("p"), ":x": s("x" * 1025)}}
        long = INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
        self.check("Query", [({"KeyConditionExpression": f"pk = :p AND {condition}"}, long) for condition in
                             ("x = :x", "x > :x", "begins_with(x, :x)", "x BETWEEN :x AND :x")], query)

    def test_start_keys_of_indexes(self):
        name = self.make_events()
        start = {"pk": s("p"), "sk": n(1), "kind": s("k")}
        invalid = "The provided starting key is invalid"
        values = {":k": s("k")}
        query = {"TableName": name, "IndexName": "by-kind", "KeyConditionExpression": "kind = :k",
                 "ExpressionAttributeValues": values}
        self.check("Query", [({"ExclusiveStartKey": start}, invalid), ({"ExclusiveStartKey": dict(start, rank=n(1))}, "")], query)
        self.check("Scan", [({"ExclusiveStartKey": start}, invalid)], {"TableName": name, "IndexName": "by-kind"})
        local = {"TableName": name, "IndexName": "by-rank", "KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": values}
        self.check("Query", [({"ExclusiveStartKey": {"pk": s("k"), "sk": n(1)}}, invalid)], local)

    def test_billing_and_what_becomes_of_a_table(self):
        request = self.make()
        made = self.send("CreateTable", request)[1]["TableDescription"]
        self.assertEqual(made["BillingModeSummary"], {"BillingMode": "PAY_PER_REQUEST",
                                                      "LastUpdateToPayPerRequestDateTime": made["CreationDateTime"]})
        name = {"TableName": request["TableName"]}
        units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
        self.check("UpdateTable", [({"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "index", "ProvisionedThroughput": units}}],
                                     "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}, ""),
                                   ({"BillingMode": "PAY_PER_REQUEST"}, "")], name)
        billing = self.send("DescribeTable", name)[1]["Table"]["BillingModeSummary"]
        self.assertEqual(billing["BillingMode"], "PAY_PER_REQUEST")
        self.assertGreaterEqual(billing["LastUpdateToPayPerRequestDateTime"], made["CreationDateTime"])
        gone = self.send("DeleteTable", name)[1]["TableDescription"]
        self.assertEqual(gone["TableStatus"], "DELETING")
        self.assertEqual(set(gone), {"TableName", "TableStatus", "ProvisionedThroughput", "TableSizeBytes", "ItemCount", "TableArn",
                                     "TableId", "BillingModeSummary", "DeletionProtectionEnabled"})
        self.assertEqual(gone["BillingModeSummary"], billing)


class Updates(Raw):
    def test_wrong_types_and_sums(self):
        name = self.make_table()
        self.client.put_item(TableName=name, Item={"pk": s("a"), "text": s("x"), "set": {"SS": ["x"]}, "big": n("1e50")})
        base = {"TableName": name, "Key": {"pk": s("a")}}
        mismatch = "Type mismatch for attribute to update"

        def old(attribute, action, value):
            return {"AttributeUpdates": {attribute: {"Action": action, "Value": value}}}

        self.check("UpdateItem", [
            (old("text", "ADD", n(1)), mismatch), (old("set", "ADD", {"NS": ["1"]}), mismatch),
            (old("text", "DELETE", {"SS": ["x"]}), mismatch), (old("set", "DELETE", {"NS": ["1"]}), mismatch),
            (old("text", "ADD", {"L": [n(1)]}), mismatch)], base)
        overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range"
        self.check("UpdateItem", [({"UpdateExpression": text}, overflow) for text in
                                  ("SET big = big + :one", "SET big = big - :one", "ADD big :one")],
                   dict(base, ExpressionAttributeValues={":one": n(1)}))
        self.check("UpdateItem", [(old("big", "ADD", n(1)), overflow)], base)

    def test_conditions_that_are_no_key_conditions(self):
        name = self.make_events()
        text = "Query key condition not supported"
        values = {":v": s("v"), ":w": s("w")}
        self.check("Query", [({"KeyConditionExpression": condition, "ExpressionAttributeValues": {v: values[v] for v in used}}, text)
                             for condition, used in (("pk > :v", [":v"]), ("begins_with(pk, :v)", [":v"]),
                                                     ("pk BETWEEN :v AND :w", [":v", ":w"]))], {"TableName": name})
        for operator in ("LT", "LE", "GT", "GE", "BEGINS_WITH"):
            self.check("Query", [({"KeyConditions": {"pk": {"ComparisonOperator": operator, "AttributeValueList": [s("v")]}}},
                                  text)], {"TableName": name})
        table = self.make_table()  # With one key attribute.
        is_v = {"ComparisonOperator": "EQ", "AttributeValueList": [s("v")]}
        self.check("Query", [({"KeyConditions": {"pk": is_v, "sk": is_v}}, text)], {"TableName": table})


class Paths(Raw):
    """Paths into key attributes, and filters on what an index does not hold."""

    def test_paths_into_keys(self):
        name = self.make_events()  # Keys pk and sk, an index on kind.
        scalars = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
        key, values = {"pk": s("a"), "sk": n(1)}, {"ExpressionAttributeValues": {":v": s("a")}}
        base, query = {"TableName": name}, dict(values, TableName=name, KeyConditionExpression="pk = :v")
        for attribute, shown in (("pk", "Key: pk"), ("sk", "Key: sk"), ("kind", "IndexKey: kind")):
            text, condition = scalars + shown, dict(values, ConditionExpression=f"{attribute}.a = :v")
            update = dict(base, Key=key, UpdateExpression=f"SET b = {attribute}[1]")
            self.check("UpdateItem", [(request, text) for request in (
                {"UpdateExpression": f"REMOVE {attribute}[0]"}, update, dict(values, UpdateExpression=f"SET {attribute}.a = :v"),
                condition)], dict(base, Key=key))
            self.check("PutItem", [(condition, text)], dict(base, Item=key))
            self.check("GetItem", [({"ProjectionExpression": f"b, {attribute}.a"}, text)], dict(base, Key=key))
            self.check("BatchGetItem", [({"RequestItems": {name: {"Keys": [key], "ProjectionExpression": f"{attribute}[0]"}}},
                                         text)])
            self.check("Query", [({"FilterExpression": f"{attribute}.a = :v"}, text),
                                 ({"ProjectionExpression": f"{attribute}.a"}, text)], query)
            self.check("Scan", [({"FilterExpression": f"attribute_exists({attribute}[0])"}, text),
                                ({"FilterExpression": f"attribute_exists({attribute}[0])", "IndexName": "by-kind"}, text)], base)
            self.check("TransactWriteItems", [({"TransactItems": [{"Update": update}]}, text)])

    def test_a_fallback_is_another_attribute(self):
        distinct = ("Invalid UpdateExpression: The first operand must be distinct from the remaining operands for this operator "
                    "or function; operator: if_not_exists, first operand: [a, b]")
        self.check("UpdateItem", [
            ({"UpdateExpression": "SET c = if_not_exists(a.b, a.b)"}, distinct),
            ({"UpdateExpression": "SET c = if_not_exists(a.b, a.#b)", "ExpressionAttributeNames": {"#b": "b"}}, distinct)],
            {"TableName": self.make_table(), "Key": {"pk": s("a")}})

    def test_filters_of_scans_see_what_the_index_holds(self):
        name = "conformance-" + uuid.uuid4().hex[:12]
        self.client.create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": a, "AttributeType": "S"} for a in ("pk", "g")],
            GlobalSecondaryIndexes=[{"IndexName": "keys", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                     "Projection": {"ProjectionType": "KEYS_ONLY"}}])
        self.addCleanup(self.client.delete_table, TableName=name)
        self.client.put_item(TableName=name, Item={"pk": s("a"), "g": s("g"), "x": s("x")})
        for text, count in (("attribute_exists(x)", 0), ("attribute_not_exists(x)", 1), ("attribute_exists(g)", 1)):
            page = self.client.scan(TableName=name, IndexName="keys", FilterExpression=text)
            self.assertEqual((page["Count"], page["ScannedCount"]), (count, 1), text)
        self.check("Query", [({}, INVALID + "Global secondary index keys does not project x")],
                   {"TableName": name, "IndexName": "keys", "KeyConditionExpression": "g = :g",
                    "FilterExpression": "attribute_exists(x)", "ExpressionAttributeValues": {":g": s("g")}})


class Transactions(Raw):
    def setUp(self):
        self.name = self.make_table()

    def reasons(self, *actions):
        status, answer = self.send("TransactWriteItems", {"TransactItems": list(actions)})
        self.assertEqual(status, 400)
        self.assertTrue(answer["__type"].endswith("#TransactionCanceledException"), answer)
        self.assertIn("[" + ", ".join(r["Code"] for r in answer["CancellationReasons"]) + "]", answer["Message"])
        return answer["CancellationReasons"]

    def action(self, kind, pk, **more):
        keyed = {"Item": {"pk": pk}} if kind == "Put" else {"Key": {"pk": pk}}
        return {kind: dict(TableName=self.name, **keyed, **more)}

    def test_the_request_counts_and_not_the_items(self):
        large = "x" * 100_000
        with self.resource.Table(self.name).batch_writer() as batch:
            for i in range(50):
                batch.put_item(Item={"pk": str(i), "x": large})
        keys = [s(str(i)) for i in range(50)]
        tag = dict(UpdateExpression="SET y = :y", ExpressionAttributeValues={":y": n(1)})
        for actions in ([self.action("ConditionCheck", key, ConditionExpression="attribute_exists(x)") for key in keys],
                        [self.action("Update", key, **tag) for key in keys], [self.action("Delete", key) for key in keys]):
            self.check("TransactWriteItems", [({"TransactItems": actions}, "")])
        self.assertEqual(self.client.scan(TableName=self.name)["Count"], 0)
        puts = [{"Put": {"TableName": self.name, "Item": {"pk": key, "x": s(large)}}} for key in keys]
        sets = [self.action("Update", key, UpdateExpression="SET y = :y", ExpressionAttributeValues={":y": s(large)}) for key in keys]
        for actions in (puts, sets):
            self.assertIn("Transaction payload size cannot exceed 4 MB", self.said("TransactWriteItems", {"TransactItems": actions}))
            self.check("TransactWriteItems", [({"TransactItems": actions[:40]}, "")])

    def test_a_validation_error_stands_alone(self):
        wrong = [self.action("Put", n(7)), self.action("Put", n(8)),
                 self.action("Put", s("a"), ConditionExpression="attribute_exists(pk)")]
        for order in (wrong, wrong[::-1]):
            reasons = self.reasons(*order)
            first = next(i for i, action in enumerate(order) if "N" in action["Put"]["Item"]["pk"])
            self.assertEqual([r["Code"] for r in reasons], ["ValidationError" if i == first else "None" for i in range(3)])
            self.assertEqual([i for i, r in enumerate(reasons) if "Message" in r], [first])
        both = [self.action("Put", s(pk), ConditionExpression="attribute_exists(pk)") for pk in "ab"]
        self.assertEqual([r["Code"] for r in self.reasons(self.action("Put", s("c")), *both)],
                         ["None", "ConditionalCheckFailed", "ConditionalCheckFailed"])
        status, answer = self.send("TransactGetItems", {"TransactItems": [
            {"Get": {"TableName": self.name, "Key": {"pk": pk}}} for pk in (s("a"), n(1), n(2))]})
        self.assertEqual([r["Code"] for r in answer["CancellationReasons"]], ["None", "ValidationError", "None"])


if __name__ == "__main__":
    unittest.main()
