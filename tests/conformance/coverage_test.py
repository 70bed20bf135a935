#!/usr/bin/env python3
"""Holds the table of docs/compatibility.md against the service's model, the suites and the server.

Every operation of the model and every member of its input has a row, what is said to be there is exercised by some
suite, and what is said to be absent is refused. Started like conformance_test.py.
"""
import pathlib
import re
import sys
import unittest

import botocore.session

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import conformance_test  # noqa: E402
import endpoint  # noqa: E402
from conformance_test import setUpModule, tearDownModule  # noqa: E402, F401

HERE = pathlib.Path(__file__).parent
PAGE = endpoint.ROOT / "docs" / "compatibility.md"
STATES = ("works", "differs", "no effect", "absent")
PREFIXES = {"dynamodb": "DynamoDB_20120810", "dynamodbstreams": "DynamoDBStreams_20120810"}

# Members of npm's SDK types; Debian's model is older than these.
NEWER = {
    "CreateTable": ["DeletionProtectionEnabled", "OnDemandThroughput", "WarmThroughput", "ResourcePolicy",
                    "GlobalTableSourceArn", "GlobalTableSettingsReplicationMode"],
    "DeleteItem": ["ReturnValuesOnConditionCheckFailure"],
    "DeleteResourcePolicy": ["ResourceArn", "ExpectedRevisionId"],
    "DescribeStream": ["ShardFilter"],
    "DisableKinesisStreamingDestination": ["EnableKinesisStreamingConfiguration"],
    "EnableKinesisStreamingDestination": ["EnableKinesisStreamingConfiguration"],
    "ExecuteStatement": ["ReturnValuesOnConditionCheckFailure"],
    "ExportTableToPointInTime": ["ExportType", "IncrementalExportSpecification"],
    "GetResourcePolicy": ["ResourceArn"],
    "PutItem": ["ReturnValuesOnConditionCheckFailure"],
    "PutResourcePolicy": ["ResourceArn", "Policy", "ExpectedRevisionId", "ConfirmRemoveSelfResourceAccess"],
    "RestoreTableFromBackup": ["OnDemandThroughputOverride"],
    "RestoreTableToPointInTime": ["OnDemandThroughputOverride"],
    "UpdateContributorInsights": ["ContributorInsightsMode"],
    "UpdateItem": ["ReturnValuesOnConditionCheckFailure"],
    "UpdateKinesisStreamingDestination": ["TableName", "StreamArn", "UpdateKinesisStreamingConfiguration"],
    "UpdateTable": ["DeletionProtectionEnabled", "OnDemandThroughput", "WarmThroughput", "MultiRegionConsistency",
                    "GlobalTableWitnessUpdates", "GlobalTableSettingsReplicationMode"],
}


def model():
    """Operation to (its target's prefix, the names of its input's members)."""
    known = {}
    for service, prefix in PREFIXES.items():
        described = botocore.session.get_session().get_service_model(service)
        for name in described.operation_names:
            shape = described.operation_model(name).input_shape
            known[name] = (prefix, set(shape.members if shape else ()))
    for name, members in NEWER.items():
        known.setdefault(name, (PREFIXES["dynamodb"], set()))[1].update(members)
    return known


def rows():
    """(operation, parameters, state, remark) of every row of the page's table."""
    found = []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 4 and re.fullmatch(r"[A-Z][A-Za-z]+", cells[0]) and cells[2] in STATES:
            found.append((cells[0], re.findall(r"`([^`]+)`", cells[1]), cells[2], cells[3]))
    return found


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Coverage(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.model = model()
        self.rows = rows()

    def states(self, operation):
        return [state for name, _, state, _ in self.rows if name == operation]

    def test_every_operation_and_parameter_has_a_row(self):
        listed = {}
        for operation, parameters, _, _ in self.rows:
            for parameter in parameters or [""]:
                self.assertNotIn(parameter, listed.setdefault(operation, []), f"{operation} names {parameter} twice")
                listed[operation].append(parameter)
        missing = {name: sorted(members - set(listed.get(name, ())))
                   for name, (_, members) in self.model.items()
                   if name not in listed or members - set(listed[name])}
        self.assertEqual(missing, {})
        unknown = {name: [one for one in parameters if one and one.split(".")[0] not in self.model.get(name, ("", ()))[1]]
                   for name, parameters in listed.items()}
        self.assertEqual({name: one for name, one in unknown.items() if one or name not in self.model}, {})

    def test_what_differs_or_is_absent_says_why(self):
        silent = [row[:3] for row in self.rows if row[2] != "works" and not row[3]]
        self.assertEqual(silent, [])

    def test_every_operation_that_is_there_is_exercised(self):
        suites = "".join(path.read_text() for path in sorted(HERE.glob("*_test.py")) + sorted(HERE.glob("*.mjs"))
                         if path != pathlib.Path(__file__).resolve())
        for operation in self.model:
            if set(self.states(operation)) == {"absent"}:
                continue
            used = re.search(rf"\b{snake(operation)}\b|\b{operation}Command\b|\"{operation}\"", suites)
            self.assertIsNotNone(used, f"no suite calls {operation}")

    def test_the_server_has_what_the_table_says(self):
        for operation, (prefix, _) in sorted(self.model.items()):
            absent = set(self.states(operation)) == {"absent"}
            _, answer = endpoint.raw(conformance_test.SERVER.url, operation, {}, prefix)
            refused = str(answer.get("__type", "")).endswith("#UnknownOperationException")
            self.assertEqual(refused, absent, f"{operation}: {answer}")
            if refused:
                self.assertIn(operation, answer.get("Message", answer.get("message", "")))

    def test_absent_parameters_of_operations_that_are_there_are_refused(self):
        for operation, parameters, state, _ in self.rows:
            if state != "absent" or set(self.states(operation)) == {"absent"}:
                continue
            for parameter in parameters:
                request = {"TableName": "conformance-none", "BillingMode": "PAY_PER_REQUEST", parameter: "x"}
                if operation == "CreateTable":
                    request.update(AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                                   KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])
                _, answer = endpoint.raw(conformance_test.SERVER.url, operation, request)
                self.assertIn("#ValidationException", str(answer.get("__type")), parameter)
                self.assertIn(parameter, answer["message"])


if __name__ == "__main__":
    unittest.main()
