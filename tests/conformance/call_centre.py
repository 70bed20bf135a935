#!/usr/bin/env python3
"""A call centre's queues with boto3 alone, as the AWS post on filtered FIFO queues describes them: a program for AWS that
knows no endpoint. Each command is a process of its own; filtered_test.py runs them.

    call_centre.py create | pool NAME:GENDER:LANGUAGE,... ... | queue | assign QUEUE | reset | delete

Every request is the one that the post's own scripts make, in its form and order; those were run byte for byte against the
daemon, too (docs/filtered-queue.md). With BARRIER=FOLDER:N assign waits, after it has read and before it writes, until N of them have come that far.
"""
import datetime
import json
import os
import pathlib
import sys
import time
import uuid

import boto3
from boto3.dynamodb.conditions import Attr, Key

TABLE = "AgentQueueFIFO"
LANGUAGES = ("English", "French", "Spanish")
GENDERS = ("F", "M")
QUEUES = [f"Q#{language}#{gender}" for language in LANGUAGES for gender in GENDERS]


def text(value):
    return {"S": value}


def key(partition, sort):
    return {"pk": text(partition), "sk": text(sort)}


def create():
    boto3.client("dynamodb").create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")])
    print(f"created {TABLE}")


def pool(*agents):
    """Languages are a set in the order in which they come, not a sorted one."""
    client = boto3.client("dynamodb")
    for agent in agents:
        name, gender, languages = agent.split(":")
        client.put_item(TableName=TABLE, Item=dict(
            key("Agents", f"Agent#{name}"), AgentName=text(name), AgentID=text(str(uuid.uuid4())), Gender=text(gender),
            Languages={"SS": languages.split(",")}, AgentStatus=text("available")))
        print(f"added {name}")
    for queue in QUEUES:
        client.put_item(TableName=TABLE, Item=dict(key("AllQueues", queue), QueueVersionId={"N": "0"}, QueueDepth={"N": "0"}))


def agents_in(status, **options):
    return boto3.resource("dynamodb").Table(TABLE).query(
        KeyConditionExpression=Key("pk").eq("Agents"), FilterExpression=Attr("AgentStatus").eq(status), **options)["Items"]


def set_status(agent, status):
    """The third action of a transaction, behind those of the first language: it touches an item that they do not."""
    name = f":{status}"
    return {"Update": {"TableName": TABLE, "Key": key("Agents", f"Agent#{agent['AgentName']}"),
                       "UpdateExpression": f"SET AgentStatus = {name}", "ExpressionAttributeValues": {name: text(status)}}}


def queue():
    client = boto3.client("dynamodb")
    for agent in agents_in("available", ConsistentRead=True):
        now = datetime.datetime.now().strftime("%Y/%m/%d-%H:%M:%S.%f")
        actions = []
        for language in agent["Languages"]:
            name = f"Q#{language}#{agent['Gender']}"
            entry = dict(key(name, now), AgentName=text(agent["AgentName"]), AgentID=text(agent["AgentID"]),
                         Gender=text(agent["Gender"]), Languages={"SS": list(agent["Languages"])})
            actions.append({"Put": {"TableName": TABLE, "Item": entry}})
            actions.append({"Update": {
                "TableName": TABLE, "Key": key("AllQueues", name),
                "UpdateExpression": "SET QueueVersionId = if_not_exists(QueueVersionId, :zero) + :incr ADD QueueDepth :incr",
                "ExpressionAttributeValues": {":incr": {"N": "1"}, ":zero": {"N": "0"}}}})
            if len(actions) == 2:
                actions.append(set_status(agent, "queued"))
        client.transact_write_items(TransactItems=actions)
        print(f"queued {agent['AgentName']}")


def wait_for_others():
    folder, n = os.environ["BARRIER"].rsplit(":", 1)
    (pathlib.Path(folder) / str(os.getpid())).touch()
    while len(list(pathlib.Path(folder).iterdir())) < int(n):
        time.sleep(0.005)


def assign(name):
    client = boto3.client("dynamodb")
    answers = client.transact_get_items(TransactItems=[
        {"Get": {"TableName": TABLE, "Key": key("AllQueues", one)}} for one in QUEUES])["Responses"]
    seen = {answer["Item"]["sk"]["S"]: answer["Item"] for answer in answers}
    print(json.dumps({one: [item["QueueVersionId"]["N"], item["QueueDepth"]["N"]] for one, item in seen.items()}, sort_keys=True))
    found = boto3.resource("dynamodb").Table(TABLE).query(KeyConditionExpression=Key("pk").eq(name), ConsistentRead=True)["Items"]
    if "BARRIER" in os.environ:
        wait_for_others()
    if not found:
        print(f"nobody for {name}")
        return
    agent = found[0]
    actions = []
    for language in agent["Languages"]:
        one = f"Q#{language}#{agent['Gender']}"
        actions.append({"Delete": {"TableName": TABLE, "Key": key(one, agent["sk"])}})
        actions.append({"Update": {
            "TableName": TABLE, "Key": key("AllQueues", one),
            "UpdateExpression": "SET QueueVersionId = QueueVersionId + :incr ADD QueueDepth :decr",
            "ConditionExpression": "QueueVersionId = :lastKnownQueueVersionId",
            "ExpressionAttributeValues": {":incr": {"N": "1"}, ":decr": {"N": "-1"},
                                          ":lastKnownQueueVersionId": seen[one]["QueueVersionId"]}}})
        if len(actions) == 2:
            actions.append(set_status(agent, "attendingCall"))
    try:
        client.transact_write_items(TransactItems=actions)
        print(f"assigned {agent['AgentName']}")
    except client.exceptions.TransactionCanceledException as error:
        print(json.dumps({"code": error.response["Error"]["Code"], "message": error.response["Error"]["Message"],
                          "reasons": [reason["Code"] for reason in error.response["CancellationReasons"]]}))


def reset():
    table = boto3.resource("dynamodb").Table(TABLE)
    for agent in agents_in("attendingCall"):
        answer = table.update_item(Key={"pk": "Agents", "sk": agent["sk"]}, UpdateExpression="SET AgentStatus = :available",
                                   ExpressionAttributeValues={":available": "available"})
        print(sorted(answer))


def delete():
    boto3.client("dynamodb").delete_table(TableName=TABLE)
    print(f"deleted {TABLE}")


if __name__ == "__main__":
    {"create": create, "pool": pool, "queue": queue, "assign": assign, "reset": reset, "delete": delete}[sys.argv[1]](*sys.argv[2:])
