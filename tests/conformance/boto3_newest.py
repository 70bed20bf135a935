"""The scenario of languages_test.py with the newest boto3, at the endpoint of AWS_ENDPOINT_URL."""
import base64
import sys

import boto3
from boto3.dynamodb.conditions import Key

TABLE = "from-boto3"


def check(wanted, got):
    if wanted != got:
        raise AssertionError(f"wanted {wanted}, got {got}")


def fails(kind, call, **members):
    try:
        call(**members)
    except kind as error:
        return error.response
    raise AssertionError(f"{kind} was not raised")


def task(number):
    return {"id": f"t{number}", "status": "PENDING", "created": number, "bytes": b"\0\xff"}


def create(store):
    table = store.create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind}
                              for name, kind in (("id", "S"), ("status", "S"), ("created", "N"))],
        GlobalSecondaryIndexes=[{"IndexName": "by-status", "Projection": {"ProjectionType": "ALL"}, "KeySchema": [
            {"AttributeName": "status", "KeyType": "HASH"}, {"AttributeName": "created", "KeyType": "RANGE"}]}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    table.wait_until_exists()
    return table


def items(table):
    client = table.meta.client
    with table.batch_writer() as batch:
        for number in range(5):
            batch.put_item(Item=task(number))
    check(task(3), dict(table.get_item(Key={"id": "t3"}, ConsistentRead=True)["Item"]))
    pages = client.get_paginator("query").paginate(
        TableName=TABLE, IndexName="by-status", ScanIndexForward=False, KeyConditionExpression=Key("status").eq("PENDING"),
        PaginationConfig={"PageSize": 2})
    check([f"t{number}" for number in (4, 3, 2, 1, 0)], [item["id"] for page in pages for item in page["Items"]])
    refused = fails(client.exceptions.ConditionalCheckFailedException, table.update_item, Key={"id": "t0"},
                    UpdateExpression="SET created = :c", ConditionExpression="attribute_not_exists(id)",
                    ExpressionAttributeValues={":c": 9}, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    check("The conditional request failed", refused["Error"]["Message"])
    check({"S": "t0"}, refused["Item"]["id"])


def transactions(table):
    client = table.meta.client
    put = lambda number, **more: {"Put": {"TableName": TABLE, "Item": task(number), **more}}  # noqa: E731
    new = {"ConditionExpression": "attribute_not_exists(id)"}
    client.transact_write_items(TransactItems=[put(5), put(6, **new)])
    cancelled = fails(client.exceptions.TransactionCanceledException, client.transact_write_items,
                      TransactItems=[put(7), put(6, **new)])
    check(["None", "ConditionalCheckFailed"], [reason["Code"] for reason in cancelled["CancellationReasons"]])
    check(7, table.scan()["Count"])
    table.delete_item(Key={"id": "t6"})


def stream(table):
    streams = boto3.client("dynamodbstreams")
    table.reload()
    arn = table.latest_stream_arn
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    place = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    records = []
    while len(records) < 8:
        page = streams.get_records(ShardIterator=place, Limit=3)
        records += page["Records"]
        place = page["NextShardIterator"]
    check(("INSERT", {"S": "t0"}), (records[0]["eventName"], records[0]["dynamodb"]["NewImage"]["id"]))
    check(("REMOVE", {"S": "t6"}), (records[7]["eventName"], records[7]["dynamodb"]["OldImage"]["id"]))


def topic():
    sns = boto3.client("sns")
    arn = sns.create_topic(Name="news")["TopicArn"]
    kind = {"DataType": "String", "StringValue": "a"}
    check(36, len(sns.publish(TopicArn=arn, Message=TABLE, Subject="<ä> & 'b'", MessageAttributes={"kind": kind})["MessageId"]))
    fails(sns.exceptions.NotFoundException, sns.publish, TopicArn=arn + "-none", Message="x")


def functions():
    client = boto3.client("lambda")
    answer = client.invoke(FunctionName="Echo", Payload='{"n": 1}', LogType="Tail")
    check(b'{"n": 1}', answer["Payload"].read())
    check(True, b"seen" in base64.b64decode(answer["LogResult"]))
    check("Unhandled", client.invoke(FunctionName="Echo", Payload="{}")["FunctionError"])
    check(202, client.invoke(FunctionName="Echo", InvocationType="Event", Payload='{"n": 2}')["StatusCode"])
    fails(client.exceptions.ResourceNotFoundException, client.invoke, FunctionName="Nobody")


def main():
    check(sys.argv[1], boto3.__version__)
    table = create(boto3.resource("dynamodb"))
    items(table)
    transactions(table)
    stream(table)
    topic()
    functions()
    print("done")


if __name__ == "__main__":
    main()
