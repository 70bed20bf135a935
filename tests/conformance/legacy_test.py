#!/usr/bin/env python3
"""The parameters from before expressions, through boto3. Started like conformance_test.py."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from conformance_test import Case, setUpModule, tearDownModule  # noqa: E402, F401


def number(value):
    return {"N": str(value)}


class Legacy(Case):
    def setUp(self):
        self.name = self.make_events()
        for i in range(6):
            self.client.put_item(TableName=self.name, Item={
                "pk": {"S": "p"}, "sk": number(i), "kind": {"S": "even" if i % 2 == 0 else "odd"}, "rank": number(10 - i),
                "tags": {"SS": ["all", f"t{i}"]}})

    def key(self, sk):
        return {"pk": {"S": "p"}, "sk": number(sk)}

    def put(self, **more):
        self.client.put_item(TableName=self.name, Item=dict(self.key(1), kind={"S": "odd"}, rank=number(9)), **more)

    def test_expected(self):
        self.put(Expected={"kind": {"Value": {"S": "odd"}}, "none": {"Exists": False}})
        self.put(Expected={"rank": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [number(5), number(9)]},
                           "kind": {"ComparisonOperator": "IN", "AttributeValueList": [{"S": "odd"}, {"S": "none"}]}})
        refused = dict(Expected={"kind": {"Value": {"S": "even"}}, "rank": {"Value": number(9)}})
        self.fails("ConditionalCheckFailedException", "The conditional request failed", lambda: self.put(**refused))
        self.put(ConditionalOperator="OR", **refused)
        self.fails("ValidationException", "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: kind",
                   lambda: self.put(Expected={"kind": {"ComparisonOperator": "EQ"}}))
        self.fails("ValidationException", "Invalid number of argument(s) for the EQ ComparisonOperator",
                   lambda: self.put(Expected={"kind": {"ComparisonOperator": "EQ", "AttributeValueList": []}}))

    def test_attribute_updates(self):
        changed = self.client.update_item(TableName=self.name, Key=self.key(2), ReturnValues="ALL_NEW", AttributeUpdates={
            "rank": {"Action": "ADD", "Value": number(5)},
            "tags": {"Action": "DELETE", "Value": {"SS": ["all"]}},
            "kind": {"Action": "DELETE"},
            "new": {"Value": {"S": "x"}}})["Attributes"]
        self.assertEqual(changed, dict(self.key(2), rank=number(13), tags={"SS": ["t2"]}, new={"S": "x"}))
        self.fails("ValidationException", "This attribute is part of the key", self.client.update_item,
                   TableName=self.name, Key=self.key(2), AttributeUpdates={"pk": {"Value": {"S": "q"}}})

    def test_key_conditions_and_filters(self):
        mine = {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "p"}]}
        page = self.client.query(
            TableName=self.name, AttributesToGet=["sk"], ScanIndexForward=False,
            KeyConditions={"pk": mine, "sk": {"ComparisonOperator": "LE", "AttributeValueList": [number(4)]}},
            QueryFilter={"tags": {"ComparisonOperator": "NOT_CONTAINS", "AttributeValueList": [{"S": "t3"}]},
                         "kind": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "odd"}]}})
        self.assertEqual((page["Items"], page["ScannedCount"]), ([{"sk": number(1)}], 5))
        page = self.client.query(TableName=self.name, IndexName="by-rank", Select="COUNT",
                                 KeyConditions={"pk": mine, "rank": {"ComparisonOperator": "GT",
                                                                     "AttributeValueList": [number(7)]}})
        self.assertEqual(page["Count"], 3)
        scan = self.client.scan(TableName=self.name, ConditionalOperator="OR", ScanFilter={
            "sk": {"ComparisonOperator": "EQ", "AttributeValueList": [number(0)]},
            "kind": {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [{"S": "od"}]}})
        self.assertEqual(scan["Count"], 4)
        self.fails("ValidationException", "not an indexable operation", self.client.query, TableName=self.name,
                   KeyConditions={"pk": mine, "sk": {"ComparisonOperator": "NE", "AttributeValueList": [number(0)]}})

    def test_attributes_to_get(self):
        got = self.client.get_item(TableName=self.name, Key=self.key(0), AttributesToGet=["rank", "none"])
        self.assertEqual(got["Item"], {"rank": number(10)})
        batch = self.client.batch_get_item(RequestItems={self.name: {"Keys": [self.key(0)], "AttributesToGet": ["kind"]}})
        self.assertEqual(batch["Responses"][self.name], [{"kind": {"S": "even"}}])

    def test_no_mixing(self):
        message = "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: "
        self.fails("ValidationException", message + "{AttributesToGet} Expression parameters: {ProjectionExpression}",
                   self.client.get_item, TableName=self.name, Key=self.key(0), AttributesToGet=["kind"],
                   ProjectionExpression="kind")
        self.fails("ValidationException", message + "{ScanFilter} Expression parameters: {FilterExpression}",
                   self.client.scan, TableName=self.name, FilterExpression="attribute_exists(kind)",
                   ScanFilter={"kind": {"ComparisonOperator": "NOT_NULL"}})
        self.fails("ValidationException", "two or more elements", self.client.scan, TableName=self.name,
                   ConditionalOperator="AND", ScanFilter={"kind": {"ComparisonOperator": "NOT_NULL"}})


if __name__ == "__main__":
    unittest.main()
