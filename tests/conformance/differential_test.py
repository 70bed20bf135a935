#!/usr/bin/env python3
"""The differential fuzzer by itself, with two sides that are made here: what it finds, what it makes of it, and what it lets pass."""
import pathlib
import random
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import differential  # noqa: E402
import differential_reasons  # noqa: E402
import differential_shrink  # noqa: E402
from differential_requests import Requests  # noqa: E402
from differential_sides import Answer, Sides, comparable  # noqa: E402


class Stub:
    """A side that answers all the same, but for what `refuses` says."""

    def __init__(self, refuses=lambda operation, body: None):
        self.refuses = refuses
        self.asked = []

    def send(self, operation, body):
        self.asked.append((operation, body))

    def receive(self):
        message = self.refuses(*self.asked[-1])
        return (400, {"__type": "a#ValidationException", "message": message}) if message else (200, {"Responses": {}})

    def once(self, operation, body):
        self.send(operation, body)
        return self.receive()

    def rest(self, operation, body, status, document):
        return status, document


def dislikes_add(operation, body):
    return "no ADD" if operation == "UpdateItem" and "ADD" in str(body.get("UpdateExpression")) else None


def requests(seed, prefix="d"):
    return Requests(random.Random(seed), prefix)


def first_difference(sides):
    source = requests(1)
    while True:
        creates, some = source.episode()
        found = differential.Episode(sides).run(creates + some)
        if found:
            return found


class Finding(unittest.TestCase):
    def test_a_difference_is_found_and_made_small(self):
        sides = Sides(Stub(), Stub(dislikes_add))
        found = first_difference(sides)
        self.assertEqual((found.operation, found.theirs.message), ("UpdateItem", "no ADD"))
        small = differential_shrink.shrink(found, lambda some: differential.Episode(sides).run(some))
        self.assertEqual((small.before, list(small.body)), ([], ["UpdateExpression"]))
        self.assertEqual(small.body["UpdateExpression"].split(" ")[0], "ADD")
        self.assertIn("Freshet:        {\"Responses\": {}}\n  DynamoDB Local: 400 ValidationException: no ADD", str(small))

    def test_equal_sides_have_none(self):
        sides = Sides(Stub(dislikes_add), Stub(dislikes_add))
        creates, some = requests(2).episode()
        episode = differential.Episode(sides)
        self.assertIsNone(episode.run(creates + some))
        self.assertEqual((episode.asked, episode.explained.total()), (len(creates + some), 0))

    def test_items_that_differ_at_the_end_are_one(self):
        sides = Sides(Stub(), Stub(lambda operation, body: "another item" if operation == "Scan" else None))
        found = differential.Episode(sides).run([("CreateTable", {"TableName": "t"}), ("PutItem", {"TableName": "t"})])
        self.assertEqual((found.operation, len(found.before)), ("Scan", 2))

    def test_a_seed_makes_the_same_requests(self):
        self.assertEqual(requests(3).episode(), requests(3).episode())
        self.assertNotEqual(requests(3).episode(), requests(4).episode())

    def test_every_operation_is_there(self):
        source = requests(5)
        seen = {operation for _ in range(30) for operation, _ in source.episode()[1]}
        self.assertLessEqual({"PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan", "TransactWriteItems", "TransactGetItems",
                              "BatchWriteItem", "BatchGetItem", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction",
                              "CreateTable", "DescribeTable", "DeleteTable", "UpdateTimeToLive", "DescribeTimeToLive"}, seen)


def error(message, kind="ValidationException"):
    return Answer(400, {"__type": kind, "message": message})


class Reasons(unittest.TestCase):
    def settle(self, ours, theirs, operation="PutItem", body=None):
        return differential_reasons.settle(operation, body or {}, ours, theirs)

    def test_there_are_not_many_and_each_says_why(self):
        names = [one.name for one in differential_reasons.REASONS]
        self.assertLessEqual(len(names), 30)
        self.assertEqual(len(set(names)), len(names))
        for one in differential_reasons.REASONS:
            self.assertGreater(len(one.why.split()), 5, one.name)

    def test_what_no_reason_is_for(self):
        item = Answer(200, {"Item": {"pk": {"S": "a"}}})
        for ours, theirs in ((item, Answer(200, {"Item": {"pk": {"S": "b"}}})), (item, Answer(200, {})), (item, error("anything")),
                             (error("anything"), Answer(200, {})), (error("anything"), error("another")),
                             (error("The conditional request failed", "ConditionalCheckFailedException"), Answer(200, {})),
                             (error("", "InternalServerError"), error("anything"))):
            self.assertIsNone(self.settle(ours, theirs), (str(ours), str(theirs)))
            self.assertIsNone(self.settle(ours, theirs, "Query"), (str(ours), str(theirs)))

    def test_the_rest_of_an_answer_still_counts(self):
        number = lambda text, more: Answer(200, {"Item": {"n": {"N": text}, **more}})  # noqa: E731
        self.assertEqual(self.settle(number("0.1", {}), number("0.10", {})), ["number spelling"])
        self.assertIsNone(self.settle(number("0.1", {}), number("0.11", {})))
        self.assertIsNone(self.settle(number("0.1", {}), number("0.10", {"a": {"S": ""}})))

    def test_parts_of_a_batch_each_need_a_reason(self):
        part = lambda message: {"Error": {"Code": "ValidationError", "Message": message}}  # noqa: E731
        ours = Answer(200, {"Responses": [part("The provided key element does not match the schema"), {}]})
        body = {"Statements": [{}, {}]}
        theirs = [part("Key attribute should be present in the item: Key pk"), {}]
        self.assertEqual(self.settle(ours, Answer(200, {"Responses": theirs}), "BatchExecuteStatement", body), ["keys"])
        theirs = [part("Key attribute should be present in the item: Key pk"), {"Item": {"pk": {"S": "a"}}}]
        self.assertIsNone(self.settle(ours, Answer(200, {"Responses": theirs}), "BatchExecuteStatement", body))

    def test_a_reason_that_was_made_wider_is_still_narrow(self):
        batch = lambda message: Answer(200, {"Responses": [{"Error": {"Code": "ValidationError", "Message": message}}]})  # noqa: E731
        digits, theirs = "Attempting to store more than 38 significant digits in a Number", error("DynamoDB only supports precision up to 38 digits")
        self.assertEqual(self.settle(batch(digits), theirs, "BatchExecuteStatement"), ["batches of statements"])
        self.assertIsNone(self.settle(batch("anything"), theirs, "BatchExecuteStatement"))
        short = error("1 validation error detected: Value at 'IndexName' failed to satisfy constraint: Member must have length greater than or equal to 3")
        self.assertEqual(self.settle(short, error("The table does not have the specified index: x")), ["constraints"])
        self.assertIsNone(self.settle(short, error("The table does not have the specified index: index")))
        new = lambda document: Answer(200, document)  # noqa: E731
        asked = {"UpdateExpression": "ADD l[4] :v", "ReturnValues": "UPDATED_NEW"}
        self.assertEqual(self.settle(new({"Attributes": {"l": {"L": [{"N": "1"}]}}}), new({}), "UpdateItem", asked), ["updated values"])
        self.assertIsNone(self.settle(new({"Attributes": {"l": {"L": [{"N": "1"}]}}}), new({"Attributes": {"l": {"L": [{"N": "2"}]}}}),
                                      "UpdateItem", asked))
        token = error("", "IdempotentParameterMismatchException")
        self.assertEqual(self.settle(error("ExpressionAttributeNames can only be specified when using expressions"), token), ["requests first"])
        self.assertIsNone(self.settle(error("anything"), token))
        empty = error("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk")
        digits = error("DynamoDB only supports precision up to 38 digits")
        cancelled = lambda code: Answer(400, {"__type": "TransactionCanceledException", "message": "", "CancellationReasons": [  # noqa: E731
            {"Code": code}, {"Code": "None"}]})
        for theirs in (digits, cancelled("ConditionalCheckFailed")):
            self.assertEqual(self.settle(empty, theirs, "TransactWriteItems"), ["requests first"])
            self.assertIsNone(self.settle(error("anything"), theirs, "TransactWriteItems"))
        self.assertIsNone(self.settle(empty, cancelled("DuplicateItem"), "TransactWriteItems"))
        only = error("ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null")
        unused = error("Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}")
        self.assertEqual(self.settle(unused, only), ["one of several"])
        self.assertIsNone(self.settle(error("anything"), only))

    def test_what_statements_are_refused_for(self):
        here = lambda message: error("Validation failed in TransactStatements[1]: " + message)  # noqa: E731
        missing = "MISSING must be compared using IS operator"
        malformed = "Statement wasn't well formed, can't be processed: Unexpected keyword at 1:57:3"
        for ours, theirs in ((malformed, missing), (malformed, "Unexpected path component at 1:8:3"),
                             (malformed, "Incorrect number of operands for operator or function; operator or function: +, number of operands: 1")):
            for one, two in ((error(ours), error(theirs)), (here(ours), here(theirs)), (error(ours), here(theirs))):
                self.assertEqual(self.settle(one, two, "ExecuteTransaction")[-1:], ["statements"], (str(one), str(two)))
            self.assertIsNone(self.settle(error("anything"), error(theirs), "ExecuteStatement"))
        self.assertIsNone(self.settle(error(malformed), error("Incorrect number of operands for operator or function; operator or "
                                                              "function: size, number of operands: 1"), "ExecuteStatement"))
        value = error("Unsupported expression: a condition stands where a value should at 1:42:2")
        nothing, found = Answer(200, {"Items": []}), Answer(200, {"Items": [{"pk": {"S": "a"}}]})
        self.assertEqual(self.settle(value, nothing, "ExecuteStatement"), ["refused statements"])
        self.assertIsNone(self.settle(value, found, "ExecuteStatement"))
        self.assertIsNone(self.settle(error(malformed), nothing, "ExecuteStatement"))

    def test_what_has_no_order(self):
        answer = lambda *items: comparable("Scan", {}, 200, {"Items": list(items)})  # noqa: E731
        one, two = {"s": {"SS": ["a", "b"]}}, {"n": {"N": "1"}}
        self.assertTrue(answer(one, two).same(answer(two, {"s": {"SS": ["b", "a"]}})))
        self.assertFalse(comparable("Query", {}, 200, {"Items": [one, two]}).same(comparable("Query", {}, 200, {"Items": [two, one]})))
        self.assertFalse(answer({"l": {"L": [one, two]}}).same(answer({"l": {"L": [two, one]}})))


class AtTheEnd(unittest.TestCase):
    def test_a_difference_of_the_items_at_the_end_is_made_small(self):
        def episode(requests):
            needed = [one for one in requests if one[1].get("Item") == "needed"]
            return differential.Difference(list(requests), "Scan", {}, "ours", "theirs", at_end=True) if needed else None

        def kind(self):
            return "the items differ"

        puts = [("PutItem", {"Item": str(number)}) for number in range(20)]
        found = differential.Difference(puts + [("PutItem", {"Item": "needed"})] + puts, "Scan", {}, "ours", "theirs", at_end=True)
        with unittest.mock.patch.object(differential.Difference, "kind", kind):
            small = differential_shrink.shrink(found, episode)
        self.assertEqual(small.before, [("PutItem", {"Item": "needed"})])


if __name__ == "__main__":
    unittest.main()
