"""Greets whom the event names, and remembers it."""
import os

import boto3

table = boto3.resource("dynamodb").Table(os.environ["TABLE"])


def handler(event, context):
    name = event["name"]
    table.update_item(
        Key={"name": name},
        UpdateExpression="ADD greeted :one",
        ExpressionAttributeValues={":one": 1},
    )
    print("greeted", name)
    return {"greeting": f"Hello, {name}!", "requestId": context.aws_request_id}
