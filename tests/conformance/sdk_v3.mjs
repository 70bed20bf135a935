// The JavaScript SDK v3 against the endpoint of AWS_ENDPOINT_URL. Exit status 0 if all is as the service does it.
import assert from "node:assert/strict";
import {
  BatchGetItemCommand, BatchWriteItemCommand, ConditionalCheckFailedException, CreateTableCommand, DeleteItemCommand,
  DeleteTableCommand, DescribeTableCommand, DescribeTimeToLiveCommand, DynamoDBClient, GetItemCommand, ListTablesCommand,
  PutItemCommand, QueryCommand, ResourceNotFoundException, ScanCommand, UpdateItemCommand, UpdateTimeToLiveCommand,
  paginateQuery, waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";

const client = new DynamoDBClient({ endpoint: process.env.AWS_ENDPOINT_URL, region: "us-east-1" });
const TableName = `conformance-js-${process.pid}-${Date.now()}`;
const send = (command) => client.send(command);

await send(new CreateTableCommand({
  TableName,
  BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [
    { AttributeName: "taskId", AttributeType: "S" },
    { AttributeName: "taskStatus", AttributeType: "S" },
    { AttributeName: "taskCreated", AttributeType: "N" },
  ],
  KeySchema: [{ AttributeName: "taskId", KeyType: "HASH" }],
  GlobalSecondaryIndexes: [{
    IndexName: "task-status-created-index",
    KeySchema: [{ AttributeName: "taskStatus", KeyType: "HASH" }, { AttributeName: "taskCreated", KeyType: "RANGE" }],
    Projection: { ProjectionType: "ALL" },
  }],
}));
try {
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 }, { TableName });
  const described = await send(new DescribeTableCommand({ TableName }));
  assert.equal(described.Table.TableStatus, "ACTIVE");
  assert.ok(described.Table.CreationDateTime instanceof Date);
  assert.ok((await send(new ListTablesCommand({}))).TableNames.includes(TableName));

  for (let i = 0; i < 12; i++) {
    await send(new PutItemCommand({
      TableName,
      Item: {
        taskId: { S: `t${i}` }, taskStatus: { S: "PENDING" }, taskCreated: { N: String(1000 + i) },
        bytes: { B: new Uint8Array([0, 1, 255]) }, nested: { M: { list: { L: [{ BOOL: true }, { NULL: true }] } } },
      },
    }));
  }
  const got = await send(new GetItemCommand({ TableName, Key: { taskId: { S: "t3" } }, ConsistentRead: true }));
  assert.deepEqual(got.Item.nested, { M: { list: { L: [{ BOOL: true }, { NULL: true }] } } });
  assert.deepEqual([...got.Item.bytes.B], [0, 1, 255]);

  const newest = {
    TableName, IndexName: "task-status-created-index", KeyConditionExpression: "taskStatus = :taskStatus",
    ExpressionAttributeValues: { ":taskStatus": { S: "PENDING" } }, ScanIndexForward: false,
  };
  const page = await send(new QueryCommand({ ...newest, Limit: 10 }));
  assert.deepEqual(page.Items.map((item) => item.taskId.S), [11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((i) => `t${i}`));
  assert.ok(page.LastEvaluatedKey);
  let all = 0;
  for await (const part of paginateQuery({ client, pageSize: 5 }, newest)) all += part.Items.length;
  assert.equal(all, 12);

  const take = new UpdateItemCommand({
    TableName, Key: { taskId: { S: "t11" } },
    UpdateExpression: "set taskStatus = :toTaskStatus, taskUpdated = :taskUpdated",
    ConditionExpression: "taskStatus = :fromTaskStatus",
    ExpressionAttributeValues: {
      ":fromTaskStatus": { S: "PENDING" }, ":toTaskStatus": { S: "TAKEN" }, ":taskUpdated": { N: "1" },
    },
    ReturnValues: "ALL_NEW", ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  });
  assert.equal((await send(take)).Attributes.taskStatus.S, "TAKEN");
  await assert.rejects(send(take), (error) => {
    assert.ok(error instanceof ConditionalCheckFailedException);
    assert.equal(error.name, "ConditionalCheckFailedException");
    assert.equal(error.message, "The conditional request failed");
    assert.equal(error.Item.taskStatus.S, "TAKEN");
    assert.equal(error.$metadata.httpStatusCode, 400);
    assert.ok(error.$metadata.requestId);
    return true;
  });
  assert.equal((await send(new ScanCommand({ TableName, Select: "COUNT" }))).Count, 12);

  await send(new BatchWriteItemCommand({
    RequestItems: { [TableName]: [{ DeleteRequest: { Key: { taskId: { S: "t0" } } } }] },
  }));
  const batch = await send(new BatchGetItemCommand({
    RequestItems: { [TableName]: { Keys: [{ taskId: { S: "t0" } }, { taskId: { S: "t1" } }] } },
  }));
  assert.deepEqual(batch.Responses[TableName].map((item) => item.taskId.S), ["t1"]);
  assert.deepEqual(batch.UnprocessedKeys, {});

  await send(new UpdateTimeToLiveCommand({
    TableName, TimeToLiveSpecification: { AttributeName: "ttl", Enabled: true },
  }));
  assert.equal((await send(new DescribeTimeToLiveCommand({ TableName }))).TimeToLiveDescription.TimeToLiveStatus, "ENABLED");
  const gone = await send(new DeleteItemCommand({ TableName, Key: { taskId: { S: "t1" } }, ReturnValues: "ALL_OLD" }));
  assert.equal(gone.Attributes.taskId.S, "t1");

  await assert.rejects(send(new QueryCommand({ TableName, KeyConditionExpression: "taskId == :a",
    ExpressionAttributeValues: { ":a": { S: "a" } } })), (error) => {
    assert.equal(error.name, "ValidationException");
    assert.match(error.message, /Invalid KeyConditionExpression: Syntax error/);
    return true;
  });
} finally {
  await send(new DeleteTableCommand({ TableName }));
}
await assert.rejects(send(new DescribeTableCommand({ TableName })), ResourceNotFoundException);
client.destroy();
