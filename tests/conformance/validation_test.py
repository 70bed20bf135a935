#!/usr/bin/env python3
"""Refused requests, with the service's names, words and order of checks; raw requests. Started like
conformance_test.py.

The words are those of the service: its documentation, and what others publicly report about it.
"""
import pathlib
import re
import sys
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import conformance_test  # noqa: E402
import endpoint  # noqa: E402
from conformance_test import Case, setUpModule, tearDownModule  # noqa: E402, F401

COUNT = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "
EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
MORE = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
NEST = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
NUMERIC = "The parameter cannot be converted to a numeric value"
MISMATCH = "The provided key element does not match the schema"
START = "The provided starting key is invalid"
NOT_FOUND = "Requested resource not found"
MIXED = ("Can not use both expression and non-expression parameters in the same request: Non-expression parameters: "
         "{%s} Expression parameters: {%s}")


def s(text):
    return {"S": text}


def n(number):
    return {"N": str(number)}


def deep(levels):
    value = s("leaf")
    for _ in range(levels):
        value = {"M": {"n": value}}
    return value


def constraint(value, path, rule):
    return f"Value {value} at '{path}' failed to satisfy constraint: Member must {rule}"


def bound(member, rule):
    """Length or range of a member, where items are read and written: without the value."""
    return f"{COUNT}Value at '{member}' failed to satisfy constraint: Member must {rule}"


class Raw(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.none = "conformance-none-" + uuid.uuid4().hex[:8]

    def send(self, operation, request):
        return endpoint.raw(conformance_test.SERVER.url, operation, request)

    def said(self, operation, request):
        """ "" if it is accepted, else the message; of errors other than validation with their name before."""
        status, answer = self.send(operation, request)
        if status == 200:
            return ""
        name = answer["__type"].split("#")[1]
        message = answer.get("message", answer.get("Message", ""))
        return message if name == "ValidationException" else f"{name}: {message}"

    def check(self, operation, cases, base=None):
        for request, expected in cases:
            with self.subTest(operation=operation, request=str(request)[:300]):
                self.assertEqual(self.said(operation, dict(base or {}, **request)), expected)


class Values(Raw):
    def setUp(self):
        self.name = self.make_table()

    def test_values_that_no_item_holds(self):
        cases = [
            ({}, EMPTY), ({"x": ""}, EMPTY), ({"S": None}, EMPTY), ({"S": "", "N": "1"}, MORE),
            ({"M": {"a": {}}}, EMPTY), ({"L": [{}]}, EMPTY),
            ({"NULL": False}, INVALID + "Null attribute value types must have the value of true"),
            ({"SS": []}, INVALID + "An string set  may not be empty"),
            ({"NS": []}, INVALID + "An number set  may not be empty"),
            ({"BS": []}, INVALID + "Binary sets should not be empty"),
            ({"SS": ["b", "a", "b"]}, INVALID + "Input collection [b, a, b] contains duplicates."),
            ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
            ({"BS": ["Yg==", "Yg=="]}, INVALID + "Input collection [Yg==, Yg==]of type BS contains duplicates."),
            (n("b"), NUMERIC + ": b"), (n(""), NUMERIC), (n(" 1"), NUMERIC + ":  1"), (n("0x10"), NUMERIC + ": 0x10"),
            (n("NaN"), NUMERIC + ": NaN"), (n("1e"), NUMERIC + ": 1e"), ({"NS": ["1", "b"]}, NUMERIC + ": b"),
            (n("1" * 39), "Attempting to store more than 38 significant digits in a Number"),
            (n("1e126"), "Number overflow. Attempting to store a number with magnitude larger than supported range"),
            (n("-1e126"), "Number overflow. Attempting to store a number with magnitude larger than supported range"),
            (n("1e-131"), "Number underflow. Attempting to store a number with magnitude smaller than supported range"),
            (deep(32), NEST),
        ]
        base = {"TableName": self.name}
        self.check("PutItem", [({"Item": {"pk": s("a"), "x": value}}, text) for value, text in cases], base)
        self.check("BatchWriteItem", [({"RequestItems": {self.name: [{"PutRequest": {"Item": {"pk": s("a"), "x": value}}}]}},
                                       text) for value, text in cases])
        self.check("TransactWriteItems", [({"TransactItems": [{"Put": dict(base, Item={"pk": s("a"), "x": value})}]}, text)
                                          for value, text in cases])
        self.check("Scan", [({"FilterExpression": "x = :v", "ExpressionAttributeValues": {":v": value}},
                             f"ExpressionAttributeValues contains invalid value: {text} for key :v")
                            for value, text in cases], base)

    def test_values_that_items_hold(self):
        for value in ({"SS": [""]}, {"BS": [""]}, s(""), {"B": ""}, {"L": []}, {"M": {}}, n("+1"), n(".5"), n("5."), n("-0"),
                      n("1e125"), n("1e-130"), n("1" + "0" * 125), n("9" * 38), deep(31)):
            self.check("PutItem", [({"TableName": self.name, "Item": {"pk": s("a"), "x": value}}, "")])

    def test_numbers_come_back_plain(self):
        for given, kept in (("+1", "1"), ("1.500", "1.5"), ("1e2", "100"), ("-0", "0"), ("00012", "12"),
                            ("0.00001", "0.00001"), ("1e-5", "0.00001"), ("123456789012345678901234567890", ) * 2):
            self.check("PutItem", [({"TableName": self.name, "Item": {"pk": s("a"), "x": n(given)}}, "")])
            _, answer = self.send("GetItem", {"TableName": self.name, "Key": {"pk": s("a")}})
            self.assertEqual(answer["Item"]["x"], n(kept))

    def test_names_and_sizes(self):
        base = {"TableName": self.name}
        self.check("PutItem", [
            ({"Item": {"pk": s("a"), "": s("x")}}, "Empty attribute name"),
            ({"Item": {"pk": s("a"), "x": s("x" * (400 << 10))}}, "Item size has exceeded the maximum allowed size"),
            ({"Item": {"pk": s("a"), "x": s("x" * ((400 << 10) - 4))}}, ""),  # With the names exactly 400 KB.
            ({"Item": {"pk": s("")}}, "One or more parameter values are not valid. The AttributeValue for a key attribute "
                                      "cannot contain an empty string value. Key: pk"),
            ({"Item": {"pk": s("a" * 2049)}},
             INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"),
            ({"Item": {"pk": s("a" * 2048)}}, ""),
            ({"Item": {"pk": n(1)}}, INVALID + "Type mismatch for key pk expected: S actual: N"),
            ({"Item": {"x": n(1)}}, INVALID + "Missing the key pk in the item"),
        ], base)
        for operation in ("GetItem", "DeleteItem", "UpdateItem"):
            self.check(operation, [
                ({"Key": {"pk": s("")}}, "One or more parameter values are not valid. The AttributeValue for a key "
                                         "attribute cannot contain an empty string value. Key: pk"),
                ({"Key": {"pk": s("a" * 2049)}},
                 INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"),
                ({"Key": {"pk": n(1)}}, MISMATCH), ({"Key": {}}, MISMATCH),
                ({"Key": {"pk": s("a"), "x": s("")}}, MISMATCH),
            ], base)
        self.check("Query", [({"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": s("a" * 2049)}},
                              INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes")], base)

    def test_keys_of_indexes(self):
        base = {"TableName": self.make_events()}
        key = {"pk": s("a"), "sk": n(1)}
        wrong = INVALID + "Type mismatch for Index Key kind Expected: S Actual: N IndexName: by-kind"
        long = INVALID + "Size limit exceeded for Index Key kind Actual Size: 2049 bytes Max Size: 2048 bytes IndexName: by-kind"
        self.check("PutItem", [
            ({"Item": dict(key, kind=n(1))}, wrong), ({"Item": dict(key, kind=s("k" * 2049))}, long),
            ({"Item": dict(key, kind=s(""))},
             "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
             "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: by-kind, IndexKey: "
             "kind"),
        ], base)
        empty = ("One or more parameter values are not valid. The update expression attempted to update a secondary index "
                 "key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty "
                 "string value.")
        updates = [(n(1), wrong), (s("k" * 2049), long), (s(""), empty)]
        self.check("UpdateItem", [({"Key": key, "UpdateExpression": "SET kind = :v", "ExpressionAttributeValues": {":v": v}},
                                   text) for v, text in updates], base)
        update = dict(base, Key=key, UpdateExpression="SET kind = :v", ExpressionAttributeValues={":v": s("")})
        self.check("TransactWriteItems", [({"TransactItems": [{"Update": update}]}, empty)])


class Order(Raw):
    """A fault of the request itself is reported before a fault of its table or keys."""

    def setUp(self):
        self.name = self.make_table()

    def test_constraints_come_first(self):
        self.check("PutItem", [
            ({}, "2 validation errors detected: " + constraint("null", "tableName", "not be null") + "; " +
             constraint("null", "item", "not be null")),
            ({"TableName": "", "Item": {}},
             bound("TableName", "have length greater than or equal to 1")),
            ({"TableName": "a", "Item": {"pk": s("a")}}, "ResourceNotFoundException: " + NOT_FOUND),
            ({"TableName": "a" * 256, "Item": {}},
             COUNT + constraint(f"'{'a' * 256}'", "tableName", "have length less than or equal to 255")),
            ({"TableName": "bad table!", "Item": {}},
             COUNT + constraint("'bad table!'", "tableName", "satisfy regular expression pattern: [a-zA-Z0-9_.-]+")),
            ({"TableName": self.name, "Item": {}, "ReturnValues": "x"},
             COUNT + constraint("'x'", "returnValues", "satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, "
                                "UPDATED_NEW]")),
            ({"TableName": self.name, "Item": {}, "ReturnConsumedCapacity": "x"},
             COUNT + constraint("'x'", "returnConsumedCapacity", "satisfy enum value set: [INDEXES, TOTAL, NONE]")),
            ({"TableName": self.name, "Item": {}, "ReturnItemCollectionMetrics": "x"},
             COUNT + constraint("'x'", "returnItemCollectionMetrics", "satisfy enum value set: [SIZE, NONE]")),
        ])

    def test_expressions_come_before_the_table(self):
        for operation, keyed in (("PutItem", "Item"), ("DeleteItem", "Key"), ("UpdateItem", "Key")):
            base = {"TableName": self.none, keyed: {}}
            self.check(operation, [
                ({}, "ResourceNotFoundException: " + NOT_FOUND),
                ({"ConditionExpression": ""}, "Invalid ConditionExpression: The expression can not be empty;"),
                ({"ConditionExpression": "a == b"},
                 'Invalid ConditionExpression: Syntax error; token: "=", near: "== b"'),
                ({"ConditionExpression": "a = :a"}, "Invalid ConditionExpression: An expression attribute value used in "
                                                    "expression is not defined; attribute value: :a"),
                ({"ConditionExpression": "a = :a", "ExpressionAttributeValues": {":a": n(1), ":b": n(1)}},
                 "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}"),
                ({"ExpressionAttributeValues": {":a": n(1)}},
                 "ExpressionAttributeValues can only be specified when using expressions: " +
                 ("UpdateExpression and ConditionExpression are null" if operation == "UpdateItem"
                  else "ConditionExpression is null")),
                ({"ExpressionAttributeNames": {"#a": "a"}},
                 "ExpressionAttributeNames can only be specified when using expressions"),
                ({"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeValues": {}},
                 "ExpressionAttributeValues must not be empty"),
                ({"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeNames": {}},
                 "ExpressionAttributeNames must not be empty"),
                ({"ConditionExpression": "attribute_exists(a)", "Expected": {"a": {"Exists": False}}},
                 MIXED % ("Expected", "ConditionExpression")),
            ], base)
        self.check("UpdateItem", [
            ({"UpdateExpression": "SET a = :a"}, "Invalid UpdateExpression: An expression attribute value used in "
                                                 "expression is not defined; attribute value: :a"),
            ({"UpdateExpression": "INVALID SYNTAX HERE"},
             'Invalid UpdateExpression: Syntax error; token: "INVALID", near: "INVALID SYNTAX"'),
        ], {"TableName": self.none, "Key": {}})
        overlap = ("Invalid ProjectionExpression: Two document paths overlap with each other; must remove or rewrite one of "
                   "these paths; path one: [a], path two: [a]")
        self.check("GetItem", [({"ProjectionExpression": "a, a"}, overlap)], {"TableName": self.none, "Key": {}})
        self.check("BatchGetItem", [({"RequestItems": {self.none: {"Keys": [{}], "ProjectionExpression": "a, a"}}}, overlap)])
        self.check("Scan", [({"FilterExpression": "a == b"},
                             'Invalid FilterExpression: Syntax error; token: "=", near: "== b"'),
                            ({}, "ResourceNotFoundException: " + NOT_FOUND)], {"TableName": self.none})
        operand = ("Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: "
                   "begins_with, operand type: N")
        self.check("Query", [
            ({"KeyConditionExpression": "pk = :p AND begins_with(sk, :n)",
              "ExpressionAttributeValues": {":p": s("p"), ":n": n(1)}}, operand),
            ({"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": s("p")}},
             "ResourceNotFoundException: " + NOT_FOUND),
        ], {"TableName": self.none})

    def test_transactions_look_at_all_actions_first(self):
        missing = {"Put": {"TableName": self.none, "Item": {"pk": s("a")}}}
        check = {"ConditionCheck": {"TableName": self.name, "Key": {"pk": s("a")},
                                    "ConditionExpression": "attribute_not_exists("}}
        unused = {"ConditionCheck": {"TableName": self.name, "Key": {"pk": s("a")},
                                     "ConditionExpression": "attribute_not_exists(pk)",
                                     "ExpressionAttributeValues": {":v": s("x")}}}
        unused_text = "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"
        put = {"Put": {"TableName": self.name, "Item": {"pk": s("a")}}}
        self.check("TransactWriteItems", [
            ({"TransactItems": [missing]}, "ResourceNotFoundException: " + NOT_FOUND),
            ({"TransactItems": [missing, check]}, 'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "("'),
            ({"TransactItems": [missing, unused]}, unused_text), ({"TransactItems": [unused, missing]}, unused_text),
            ({"TransactItems": [put, unused]}, unused_text),
            ({"TransactItems": [put, put]}, "Transaction request cannot include multiple operations on one item"),
            ({"TransactItems": [dict(put, Delete={"TableName": self.name, "Key": {"pk": s("a")}})]},
             "TransactItems can only contain one of Check, Put, Update or Delete"),
            ({"TransactItems": [missing], "ReturnConsumedCapacity": "x"},
             COUNT + constraint("'x'", "returnConsumedCapacity", "satisfy enum value set: [INDEXES, TOTAL, NONE]")),
        ])


class Pages(Raw):
    def setUp(self):
        self.name = self.make_events()
        for i in range(5):
            self.client.put_item(TableName=self.name, Item={"pk": s("a"), "sk": n(i), "kind": s("k"), "rank": n(i),
                                                            "body": s("x")})

    def test_key_conditions(self):
        invalid = "Invalid KeyConditionExpression: "
        schema = INVALID + "Condition parameter type does not match schema type"

        def conditions(*cases):
            self.check("Query", [({"KeyConditionExpression": text, "ExpressionAttributeValues": values}, message)
                                 for text, values, message in cases], {"TableName": self.name})

        a, one, two, three = s("a"), n(1), n(2), n(3)
        conditions(
            ("sk = :b", {":b": one}, "Query condition missed key schema element: pk"),
            ("pk = :a AND foo = :b", {":a": a, ":b": one}, "Query condition missed key schema element: sk"),
            ("pk > :a", {":a": a}, "Query key condition not supported"),
            ("pk = :a AND sk > :b AND foo = :c", {":a": a, ":b": one, ":c": two},
             "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)"),
            ("pk = :a AND sk > :b AND sk < :c", {":a": a, ":b": one, ":c": two},
             invalid + "KeyConditionExpressions must only contain one condition per key"),
            ("pk = :a AND sk.x = :b", {":a": a, ":b": one},
             invalid + "KeyConditionExpressions cannot have conditions on nested attributes"),
            ("pk = :a AND size(sk) = :b", {":a": a, ":b": one},
             invalid + "KeyConditionExpressions cannot contain nested operations"),
            ("pk = :a OR sk = :b", {":a": a, ":b": one}, invalid + "Invalid operator used in KeyConditionExpression: OR"),
            ("pk = :a", {":a": one}, schema), ("pk = :a AND sk = :b", {":a": a, ":b": a}, schema),
            ("pk = :a AND sk = :b", {":a": a, ":b": {"BOOL": True}}, schema),
            ("pk = :a AND begins_with(sk, :b)", {":a": a, ":b": a}, schema),
            ("pk = :a AND sk BETWEEN :c AND :b", {":a": a, ":b": one, ":c": three},
             invalid + "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound "
             "operand: AttributeValue: {N:3}, upper bound operand: AttributeValue: {N:1}"),
            ("(pk = :a) AND (:b <= sk)", {":a": a, ":b": three}, ""),
            ("pk = :a", {":a": s("")}, "One or more parameter values are not valid. The AttributeValue for a key attribute "
                                       "cannot contain an empty string value. Key: pk"),
        )
        self.check("Query", [({}, "Either the KeyConditions or KeyConditionExpression parameter must be specified in the "
                                  "request."),
                             ({"KeyConditionExpression": ""}, invalid + "The expression can not be empty;")],
                   {"TableName": self.name})

    def test_start_keys(self):
        query = {"TableName": self.name, "KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": s("a")}}
        self.check("Query", [({"ExclusiveStartKey": key}, text) for key, text in (
            ({}, START), ({"pk": s("a")}, START), ({"pk": s("a"), "x": n(1)}, START),
            ({"pk": s("a"), "sk": n(1), "x": n(1)}, START), ({"pk": s("a"), "sk": s("1")}, MISMATCH),
            ({"pk": s("b"), "sk": n(1)}, "The provided starting key is outside query boundaries based on provided conditions"),
            ({"pk": s("a"), "sk": n(99)}, ""), ({"pk": s("a"), "sk": {}}, f"{START}: {EMPTY}"),
            ({"pk": s("a"), "sk": n("x")}, NUMERIC + ": x"))], query)
        ranged = dict(query, KeyConditionExpression="pk = :a AND sk > :b",
                      ExpressionAttributeValues={":a": s("a"), ":b": n(3)})
        self.check("Query", [({"ExclusiveStartKey": {"pk": s("a"), "sk": n(1)}},
                              "The provided starting key does not match the range key predicate")], ranged)
        scan = {"TableName": self.name}
        schema = f"{START}: {MISMATCH}"
        self.check("Scan", [({"ExclusiveStartKey": key}, text) for key, text in (
            ({}, schema), ({"pk": s("a")}, schema), ({"pk": s("a"), "sk": s("1")}, schema),
            ({"pk": s("a"), "sk": n(99)}, ""))], scan)
        full = {"pk": s("a"), "sk": n(1), "kind": s("k"), "rank": n(1)}
        self.check("Scan", [({"ExclusiveStartKey": key}, text) for key, text in (
            ({"pk": s("a"), "sk": n(1)}, START), (dict(full, rank=s("1")), MISMATCH), (dict(full, sk=s("1")), schema),
            (full, ""))], dict(scan, IndexName="by-kind"))
        wrong = [self.said("Scan", dict(scan, Segment=i, TotalSegments=7, ExclusiveStartKey={"pk": s("a"), "sk": n(1)}))
                 for i in range(7)]
        self.assertEqual(sorted(wrong)[0], "")
        self.assertEqual({re.sub(r"Segment: \d", "Segment: N", text) for text in wrong if text},
                         {START + ": Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
                                  "TotalSegments: 7 Segment: N"})

    def test_select_and_limits(self):
        at_least_one = bound("Limit", "have value greater than or equal to 1")
        cases = [
            ({"Limit": 0}, at_least_one),
            ({"Select": "x"}, COUNT + constraint("'x'", "select", "satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, "
                                                 "ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]")),
            ({"Select": "ALL_PROJECTED_ATTRIBUTES"},
             "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"),
            ({"Select": "SPECIFIC_ATTRIBUTES"},
             "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"),
            ({"Select": "COUNT", "ProjectionExpression": "body"},
             "Cannot specify the ProjectionExpression when choosing to get only the Count"),
            ({"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "body"},
             "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES"),
            ({"IndexName": "none"}, "The table does not have the specified index: none"),
            ({"ProjectionExpression": "body, body.x"},
             "Invalid ProjectionExpression: Two document paths overlap with each other; must remove or rewrite one of these "
             "paths; path one: [body], path two: [body, x]"),
        ]
        query = {"TableName": self.name, "KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": s("a")}}
        self.check("Query", cases, query)
        self.check("Scan", cases, {"TableName": self.name})
        self.check("Query", [({"FilterExpression": "sk > foo"}, "Filter Expression can only contain non-primary key "
                                                                "attributes: Primary key attribute: sk")], query)
        self.check("Scan", [
            ({"FilterExpression": "sk > foo"}, ""),
            ({"IndexName": "by-kind", "ConsistentRead": True},
             "Consistent reads are not supported on global secondary indexes"),
            ({"Segment": 0}, "The TotalSegments parameter is required but was not present in the request when Segment "
                             "parameter is present"),
            ({"TotalSegments": 4}, "The Segment parameter is required but was not present in the request when parameter "
                                   "TotalSegments is present"),
            ({"Segment": 5, "TotalSegments": 5}, "The Segment parameter is zero-based and must be less than parameter "
                                                 "TotalSegments: Segment: 5 is not less than TotalSegments: 5"),
        ], {"TableName": self.name})

    def test_old_key_conditions_beside_expressions(self):
        mine = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [s("a")]}}
        request = {"TableName": self.name, "KeyConditions": mine, "FilterExpression": "#n0 > :v0",
                   "ExpressionAttributeNames": {"#n0": "rank"}, "ExpressionAttributeValues": {":v0": n(2)}}
        status, answer = self.send("Query", request)
        self.assertEqual((status, answer.get("Count"), answer.get("ScannedCount")), (200, 2, 5), answer)
        self.check("Query", [
            ({"KeyConditionExpression": "pk = :v0"},
             MIXED % ("KeyConditions", "FilterExpression, KeyConditionExpression")),
            ({"QueryFilter": {"body": {"ComparisonOperator": "NOT_NULL"}}}, MIXED % ("QueryFilter", "FilterExpression")),
        ], request)


class Legacy(Raw):
    def test_conditions_of_old(self):
        base = {"TableName": self.none, "Item": {"pk": s("a")}}
        place = " for Attribute: a"

        def expected(condition, message):
            return {"Expected": {"a": condition}}, INVALID + message

        eq = {"ComparisonOperator": "EQ"}
        self.check("PutItem", [
            expected({"Exists": True}, "Value must be provided when Exists is true" + place),
            expected({}, "Value must be provided when Exists is null" + place),
            expected({"Exists": False, "Value": s("x")}, "Value cannot be used when Exists is false" + place),
            expected(dict(eq, Value=s("x"), AttributeValueList=[s("x")]),
                     "Value and AttributeValueList cannot be used together" + place),
            expected(eq, "Value or AttributeValueList must be used with ComparisonOperator: EQ" + place),
            expected(dict(eq, Exists=True, Value=s("x")), "Exists and ComparisonOperator cannot be used together" + place),
            expected({"AttributeValueList": [s("x")]}, "AttributeValueList can only be used with a ComparisonOperator" + place),
            expected({"ComparisonOperator": "BETWEEN", "AttributeValueList": [s("x")]},
                     "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
            ({"Expected": {"a": {"Exists": False}}, "ConditionalOperator": "AND"},
             "ConditionalOperator can only be used when Filter or Expected has two or more elements"),
            ({"Expected": {"a": {"Exists": False}}}, "ResourceNotFoundException: " + NOT_FOUND),
        ], base)


class Batches(Raw):
    def setUp(self):
        self.name = self.make_table()
        self.keys = ("Map keys must satisfy constraint: [Member must have length less than or equal to 255, Member must "
                     "have length greater than or equal to 3, Member must satisfy regular expression pattern: "
                     "[a-zA-Z0-9_.-]+]")

    def test_reads(self):
        def keys(*pks):
            return {"RequestItems": {self.name: {"Keys": [{"pk": s(pk)} for pk in pks]}}}

        self.check("BatchGetItem", [
            (keys("a", "a"), "Provided list of item keys contains duplicates"),
            ({"RequestItems": {self.none: {"Keys": [{"pk": s("a")}]}}}, "ResourceNotFoundException: " + NOT_FOUND),
            ({"RequestItems": {self.name: {"Keys": [{"pk": n(1)}]}}}, MISMATCH),
        ])
        self.assertIn(self.keys, self.said("BatchGetItem", {"RequestItems": {"bad!name": {"Keys": [{"pk": s("a")}]}}}))
        self.assertIn("Member must have length less than or equal to 100", self.said("BatchGetItem", keys(*map(str, range(101)))))
        self.assertIn("Member must have length greater than or equal to 1", self.said("BatchGetItem", keys()))

    def test_writes(self):
        def put(item):
            return {"PutRequest": {"Item": item}}

        def requests(*all_of_them):
            return {"RequestItems": {self.name: list(all_of_them)}}

        delete = {"DeleteRequest": {"Key": {"pk": s("a")}}}
        self.check("BatchWriteItem", [
            (requests(put({"pk": s("a")}), delete), "Provided list of item keys contains duplicates"),
            (requests(put({"pk": n(1)})), MISMATCH), (requests(put({"x": n(1)})), MISMATCH),
            (requests({"DeleteRequest": {"Key": {"x": s("a")}}}), MISMATCH),
            (requests({}), MORE), (requests(dict(put({"pk": s("a")}), **delete)), MORE),
            ({"RequestItems": {self.none: [delete]}}, "ResourceNotFoundException: " + NOT_FOUND),
            (requests(), COUNT + f"Value '{{{self.name}=[]}}' at 'requestItems' failed to satisfy constraint: Map value must "
                         "satisfy constraint: [Member must have length less than or equal to 25, Member must have length "
                         "greater than or equal to 1]"),
        ])
        self.assertIn("Map value must satisfy constraint: [Member must have length less than or equal to 25",
                      self.said("BatchWriteItem", requests(*[put({"pk": s(str(i))}) for i in range(26)])))
        self.assertIn(self.keys, self.said("BatchWriteItem", {"RequestItems": {"bad!name": [delete]}}))

    def test_tables_by_their_arn(self):
        arn = self.client.describe_table(TableName=self.name)["Table"]["TableArn"]
        self.check("BatchWriteItem", [({"RequestItems": {arn: [{"PutRequest": {"Item": {"pk": s("a")}}}]}}, "")])
        _, answer = self.send("BatchGetItem", {"RequestItems": {arn: {"Keys": [{"pk": s("a")}]}}})
        self.assertEqual(answer["Responses"], {arn: [{"pk": s("a")}]})
        self.check("GetItem", [({"TableName": arn, "Key": {"pk": s("a")}}, "")])


class Tables(Raw):
    def make(self, **more):
        request = {"TableName": "conformance-" + uuid.uuid4().hex[:12], "BillingMode": "PAY_PER_REQUEST",
                   "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
                   "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}]}
        request.update(more)
        said = self.said("CreateTable", {name: value for name, value in request.items() if value is not None})
        if not said:
            self.client.delete_table(TableName=request["TableName"])
        return said

    def index(self, *keys, **more):
        kinds = ("HASH", "RANGE")
        return dict({"IndexName": "index", "Projection": {"ProjectionType": "ALL"},
                     "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, kinds)]}, **more)

    def keys(self, *names):
        return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"))]

    def attributes(self, *names):
        return [{"AttributeName": name, "AttributeType": "S"} for name in names]

    def test_names(self):
        required = "The parameter 'TableName' is required but was not present in the request"
        self.assertEqual(self.make(TableName=None), required)
        for operation in ("DescribeTable", "DeleteTable", "UpdateTable", "DescribeTimeToLive"):
            self.check(operation, [({}, required)])
        self.assertEqual(self.make(TableName="ab"),
                         COUNT + constraint("'ab'", "tableName", "have length greater than or equal to 3"))
        self.check("DescribeTable", [({"TableName": self.none},
                                      f"ResourceNotFoundException: Requested resource not found: Table: {self.none} not found")])

    def test_keys_and_attributes(self):
        undefined = INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: [%s]"
        count = INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"
        for request, text in (
                (dict(KeySchema=self.keys("a", "a")), "Invalid KeySchema: Some index key attribute have no definition"),
                (dict(KeySchema=self.keys("a", "a"), AttributeDefinitions=self.attributes("a", "b")),
                 "Both the Hash Key and the Range Key element in the KeySchema have the same name"),
                (dict(KeySchema=self.keys("a", "b"), AttributeDefinitions=self.attributes("a", "c")), undefined % ("a, b", "a, c")),
                (dict(KeySchema=[{"AttributeName": "a", "KeyType": "RANGE"}]),
                 "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
                (dict(KeySchema=self.keys("a") + self.keys("b"), AttributeDefinitions=self.attributes("a", "b")),
                 "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"),
                (dict(AttributeDefinitions=self.attributes("a", "b")), count),
                (dict(AttributeDefinitions=self.attributes("a", "a")), count),
                (dict(GlobalSecondaryIndexes=[self.index("b")]), undefined % ("b", "a")),
                (dict(GlobalSecondaryIndexes=[]), INVALID + "List of GlobalSecondaryIndexes is empty"),
                (dict(LocalSecondaryIndexes=[self.index("a", "b")], AttributeDefinitions=self.attributes("a", "b")),
                 INVALID + "Table KeySchema does not have a range key, which is required when specifying a "
                 "LocalSecondaryIndex"),
                (dict(KeySchema=[{"AttributeName": "a", "KeyType": "X"}]),
                 COUNT + constraint("'X'", "keySchema.1.member.keyType", "satisfy enum value set: [HASH, RANGE]")),
        ):
            with self.subTest(request=str(request)[:200]):
                self.assertEqual(self.make(**request), text)

    def test_projections(self):
        for projection, text in (
                ({}, "Unknown ProjectionType: null"),
                ({"ProjectionType": "ALL", "NonKeyAttributes": ["x"]}, "ProjectionType is ALL, but NonKeyAttributes is specified"),
                ({"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["x"]},
                 "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified"),
                ({"ProjectionType": "INCLUDE"}, "ProjectionType is INCLUDE, but NonKeyAttributes is not specified")):
            self.assertEqual(self.make(GlobalSecondaryIndexes=[self.index("a", Projection=projection)]), INVALID + text)
        self.assertEqual(self.make(GlobalSecondaryIndexes=[self.index("a"), self.index("a")]),
                         INVALID + "Duplicate index name: index")

    def test_throughput(self):
        units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
        self.assertEqual(self.make(BillingMode=None), INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be "
                                                                "specified when BillingMode is PROVISIONED")
        self.assertEqual(self.make(ProvisionedThroughput=units),
                         INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
                         "PAY_PER_REQUEST")
        self.assertEqual(self.make(BillingMode=None, ProvisionedThroughput=dict(units, ReadCapacityUnits=10**12 + 1)),
                         "Given value 1000000000001 for ReadCapacityUnits is out of bounds")
        self.assertEqual(self.make(GlobalSecondaryIndexes=[self.index("a", ProvisionedThroughput=units)]),
                         INVALID + "ProvisionedThroughput should not be specified for index: index when BillingMode is "
                         "PAY_PER_REQUEST")
        self.assertEqual(self.make(BillingMode=None, ProvisionedThroughput=units, GlobalSecondaryIndexes=[self.index("a")]),
                         INVALID + "ProvisionedThroughput is not specified for index: index")

    def test_streams_and_settings(self):
        self.assertEqual(self.make(StreamSpecification={"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}),
                         INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified")
        self.assertIn("[AES256, KMS]", self.make(SSESpecification={"Enabled": True, "SSEType": "x"}))
        self.assertEqual(self.make(SSESpecification={"Enabled": True}, OnDemandThroughput={"MaxReadRequestUnits": 10},
                                   WarmThroughput={"ReadUnitsPerSecond": 12000}), "")

    def test_changes(self):
        name = self.make_table()
        self.check("UpdateTable", [
            ({"GlobalSecondaryIndexUpdates": [{}]},
             INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
             "GlobalSecondaryIndexUpdate.Delete must not be null"),
            ({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "one"}}, {"Delete": {"IndexName": "one"}}]},
             INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: one"),
            ({"BillingMode": "PAY_PER_REQUEST"}, ""),
        ], {"TableName": name})


if __name__ == "__main__":
    unittest.main()
