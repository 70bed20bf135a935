#!/usr/bin/env python3
"""Transactions and batches through boto3. Started like conformance_test.py, with the same environment variables."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from conformance_test import Case, setUpModule, tearDownModule  # noqa: E402, F401


def key(pk):
    return {"pk": {"S": pk}}


class Transactions(Case):
    def setUp(self):
        self.name = self.make_table()

    def put(self, pk, **more):
        return {"Put": dict(TableName=self.name, Item=dict(key(pk), v={"N": "1"}), **more)}

    def get(self, pk):
        return self.client.get_item(TableName=self.name, Key=key(pk), ConsistentRead=True).get("Item")

    def reasons(self, actions, **more):
        response = self.fails("TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons",
                              self.client.transact_write_items, TransactItems=actions, **more)
        codes = [reason["Code"] for reason in response["CancellationReasons"]]
        self.assertIn("[" + ", ".join(codes) + "]", response["Error"]["Message"])
        return response["CancellationReasons"]

    def test_all_four_actions(self):
        for pk in ("update", "delete", "check"):
            self.client.put_item(TableName=self.name, Item=dict(key(pk), v={"N": "1"}))
        self.client.transact_write_items(TransactItems=[
            self.put("put"),
            {"Update": {"TableName": self.name, "Key": key("update"), "UpdateExpression": "SET v = v + :one",
                        "ExpressionAttributeValues": {":one": {"N": "1"}}}},
            {"Delete": {"TableName": self.name, "Key": key("delete"), "ConditionExpression": "attribute_exists(pk)"}},
            {"ConditionCheck": {"TableName": self.name, "Key": key("check"), "ConditionExpression": "#v = :one",
                                "ExpressionAttributeNames": {"#v": "v"}, "ExpressionAttributeValues": {":one": {"N": "1"}}}},
        ])
        got = self.client.transact_get_items(TransactItems=[
            {"Get": {"TableName": self.name, "Key": key(pk), "ProjectionExpression": "v"}}
            for pk in ("put", "update", "delete", "check")])["Responses"]
        self.assertEqual([r.get("Item") for r in got], [{"v": {"N": "1"}}, {"v": {"N": "2"}}, None, {"v": {"N": "1"}}])

    def test_cancellation_reasons(self):
        self.client.put_item(TableName=self.name, Item=dict(key("there"), v={"N": "1"}))
        taken = self.put("there", ConditionExpression="attribute_not_exists(pk)", ReturnValuesOnConditionCheckFailure="ALL_OLD")
        invalid = {"Update": {"TableName": self.name, "Key": key("other"), "UpdateExpression": "SET w = v + :one",
                              "ExpressionAttributeValues": {":one": {"N": "1"}}}}
        self.assertEqual(self.reasons([self.put("new"), taken]), [
            {"Code": "None"}, {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed",
                               "Item": dict(key("there"), v={"N": "1"})}])
        # An action that is invalid comes first and alone.
        absent = {"Code": "ValidationError",
                  "Message": "The provided expression refers to an attribute that does not exist in the item"}
        self.assertEqual(self.reasons([self.put("new"), taken, invalid]), [{"Code": "None"}, {"Code": "None"}, absent])
        self.assertIsNone(self.get("new"))

    def test_keys_of_wrong_types_cancel_and_empty_ones_are_refused(self):
        mistyped = {"Put": {"TableName": self.name, "Item": {"pk": {"N": "5"}}}}
        self.assertEqual(self.reasons([mistyped])[0]["Message"],
                         "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N")
        gone = {"Delete": {"TableName": self.name, "Key": {"pk": {"N": "5"}}}}
        self.assertEqual(self.reasons([gone])[0]["Message"], "The provided key element does not match the schema")
        self.fails("ValidationException", "cannot contain an empty string value. Key: pk",
                   self.client.transact_write_items, TransactItems=[self.put("")])

    def test_tokens(self):
        add = [{"Update": {"TableName": self.name, "Key": key("a"), "UpdateExpression": "ADD v :one",
                           "ExpressionAttributeValues": {":one": {"N": "1"}}}}]
        more = dict(ClientRequestToken="token-" + self.name[-12:], ReturnConsumedCapacity="TOTAL")
        first = self.client.transact_write_items(TransactItems=add, **more)
        self.assertEqual(first["ConsumedCapacity"],
                         [{"TableName": self.name, "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}])
        again = self.client.transact_write_items(TransactItems=add, **more)
        self.assertEqual(again["ConsumedCapacity"],
                         [{"TableName": self.name, "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}])
        self.assertEqual(self.get("a")["v"], {"N": "1"})
        self.fails("IdempotentParameterMismatchException", "", self.client.transact_write_items,
                   TransactItems=[self.put("a")], **more)
        self.client.transact_write_items(TransactItems=add)  # With a token of the SDK's own.
        self.assertEqual(self.get("a")["v"], {"N": "2"})

    def test_refused_requests(self):
        write = self.client.transact_write_items
        self.fails("ValidationException", "multiple operations on one item", write,
                   TransactItems=[self.put("a"), {"Delete": {"TableName": self.name, "Key": key("a")}}])
        self.fails("ValidationException", "less than or equal to 100", write,
                   TransactItems=[self.put(str(i)) for i in range(101)])
        self.fails("ValidationException", "greater than or equal to 1", write, TransactItems=[])
        self.fails("ValidationException", "can only contain one of Check, Put, Update or Delete", write,
                   TransactItems=[dict(self.put("a"), Delete={"TableName": self.name, "Key": key("b")})])
        self.fails("ResourceNotFoundException", "Requested resource not found", write,
                   TransactItems=[{"Delete": {"TableName": "nowhere-" + self.name, "Key": key("b")}}])
        self.fails("ValidationException", "unused in expressions", write,
                   TransactItems=[self.put("a", ConditionExpression="attribute_exists(pk)",
                                           ExpressionAttributeValues={":v": {"S": "x"}})])
        self.fails("ValidationException", "Item size has exceeded", write,
                   TransactItems=[{"Put": {"TableName": self.name, "Item": dict(key("a"), x={"S": "x" * (400 << 10)})}}])
        self.assertEqual(self.client.scan(TableName=self.name)["Count"], 0)

    def test_a_hundred_actions_and_more_than_four_megabytes(self):
        self.client.transact_write_items(TransactItems=[self.put(str(i)) for i in range(100)])
        self.assertEqual(self.client.scan(TableName=self.name)["Count"], 100)
        large = [{"Put": {"TableName": self.name, "Item": dict(key(str(i)), x={"S": "x" * (390 << 10)})}} for i in range(11)]
        self.fails("ValidationException", "4 MB", self.client.transact_write_items, TransactItems=large)
        self.client.transact_write_items(TransactItems=large[:10])


class Batches(Case):
    def test_batch_write(self):
        name = self.make_table()
        write = self.client.batch_write_item
        done = write(RequestItems={name: [{"PutRequest": {"Item": dict(key("a"), x={"S": "x" * 1500})}},
                                          {"DeleteRequest": {"Key": key("b")}}]}, ReturnConsumedCapacity="TOTAL")
        self.assertEqual(done["UnprocessedItems"], {})
        self.assertEqual(done["ConsumedCapacity"], [{"TableName": name, "CapacityUnits": 3.0}])
        puts = [{"PutRequest": {"Item": key(str(i))}} for i in range(26)]
        self.fails("ValidationException", "", write, RequestItems={name: puts})
        self.fails("ValidationException", "Provided list of item keys contains duplicates", write,
                   RequestItems={name: [puts[0], {"DeleteRequest": {"Key": key("0")}}]})
        self.fails("ValidationException", "The provided key element does not match the schema", write,
                   RequestItems={name: [puts[0], {"PutRequest": {"Item": {"pk": {"N": "5"}}}}]})
        self.fails("ResourceNotFoundException", "Requested resource not found", write,
                   RequestItems={name: puts[:1], "nowhere-" + name: puts[:1]})
        self.assertEqual(self.client.scan(TableName=name)["Count"], 1)

    def test_batch_get(self):
        name = self.make_table()
        for i in range(60):
            self.client.put_item(TableName=name, Item=dict(key(str(i)), x={"S": "x" * (300 << 10)}))
        wanted = {name: {"Keys": [key(str(i)) for i in range(60)], "ConsistentRead": True}}
        seen, rounds = set(), 0
        while wanted:  # One answer holds 16 MB.
            answer = self.client.batch_get_item(RequestItems=wanted, ReturnConsumedCapacity="TOTAL")
            got = {item["pk"]["S"] for item in answer["Responses"].get(name, [])}
            self.assertEqual(answer["ConsumedCapacity"][0]["CapacityUnits"], 76.0 * len(got))
            self.assertFalse(got & seen)
            seen |= got
            wanted, rounds = answer["UnprocessedKeys"], rounds + 1
        self.assertEqual((len(seen), rounds), (60, 2))
        get = self.client.batch_get_item
        self.fails("ValidationException", "", get, RequestItems={name: {"Keys": [key(str(i)) for i in range(101)]}})
        self.fails("ValidationException", "Provided list of item keys contains duplicates", get,
                   RequestItems={name: {"Keys": [key("a"), key("a")]}})

    def test_projections_are_charged_for_whole_items(self):
        name = self.make_table()
        self.client.put_item(TableName=name, Item=dict(key("a"), x={"S": "x" * 9000}))
        got = self.client.get_item(TableName=name, Key=key("a"), ProjectionExpression="pk", ReturnConsumedCapacity="TOTAL")
        self.assertEqual(got["ConsumedCapacity"]["CapacityUnits"], 1.5)
        batch = self.client.batch_get_item(RequestItems={name: {"Keys": [key("a")], "ProjectionExpression": "pk"}},
                                           ReturnConsumedCapacity="TOTAL")
        self.assertEqual(batch["ConsumedCapacity"][0]["CapacityUnits"], 1.5)


class Capacity(Case):
    def test_indexes(self):
        name = self.make_events()
        item = {"pk": {"S": "p"}, "sk": {"N": "1"}, "kind": {"S": "k"}, "rank": {"N": "1"}}
        put = self.client.put_item(TableName=name, Item=item, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
        self.assertEqual(put, {"TableName": name, "CapacityUnits": 3.0, "Table": {"CapacityUnits": 1.0},
                               "LocalSecondaryIndexes": {"by-rank": {"CapacityUnits": 1.0}},
                               "GlobalSecondaryIndexes": {"by-kind": {"CapacityUnits": 1.0}}})
        update = dict(TableName=name, Key={"pk": {"S": "p"}, "sk": {"N": "1"}}, ReturnConsumedCapacity="TOTAL")
        other = self.client.update_item(UpdateExpression="SET kind = :k", ExpressionAttributeValues={":k": {"S": "l"}},
                                        **update)
        # by-kind loses an entry and gets one, by-rank holds the attribute.
        self.assertEqual(other["ConsumedCapacity"], {"TableName": name, "CapacityUnits": 4.0})

    def test_item_collections(self):
        name = self.make_events()
        item = {"pk": {"S": "p"}, "sk": {"N": "1"}}
        put = self.client.put_item(TableName=name, Item=item, ReturnItemCollectionMetrics="SIZE")
        self.assertEqual(put["ItemCollectionMetrics"],
                         {"ItemCollectionKey": {"pk": {"S": "p"}}, "SizeEstimateRangeGB": [0.0, 1.0]})
        plain = self.client.put_item(TableName=self.make_table(), Item=key("a"), ReturnItemCollectionMetrics="SIZE")
        self.assertNotIn("ItemCollectionMetrics", plain)


if __name__ == "__main__":
    unittest.main()
