"""Puts as many PENDING tasks as the event says."""
import os
import time
import uuid

import boto3

table = boto3.resource("dynamodb").Table(os.environ["QUEUE_TABLE"])


def handler(event, context):
    ids = []
    first = int(time.time() * 1000) - event["tasks"]
    for number in range(event["tasks"]):
        ids.append(str(uuid.uuid4()))
        table.put_item(Item={"taskId": ids[-1], "taskStatus": "PENDING", "taskCreated": first + number,
                             "ttl": int(time.time()) + 3600, "payload": {"number": number}})
    return {"ids": ids}
