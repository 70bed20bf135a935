// Parts of the service through the JavaScript SDK v3: the first argument names the part, the second a table that is
// there. Exit status 0 if all is as the service does it.
import assert from "node:assert/strict";
import {
  DescribeContinuousBackupsCommand, DescribeEndpointsCommand, DescribeLimitsCommand, DescribeTableCommand,
  DescribeTimeToLiveCommand, DynamoDBClient, GetItemCommand, IdempotentParameterMismatchException,
  ListTagsOfResourceCommand, PutItemCommand, QueryCommand, ResourceNotFoundException, ScanCommand, TagResourceCommand,
  TransactGetItemsCommand, TransactWriteItemsCommand, TransactionCanceledException, UntagResourceCommand,
  UpdateContinuousBackupsCommand, UpdateItemCommand, UpdateTableCommand, UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";

const PATIENCE_MS = 60_000; // For what comes by itself.
const client = new DynamoDBClient({ endpoint: process.env.AWS_ENDPOINT_URL, region: "us-east-1", maxAttempts: 2 });
const [part, TableName] = process.argv.slice(2);
const send = (command) => client.send(command);
const S = (text) => ({ S: text });
const N = (number) => ({ N: String(number) });

async function settled() {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const { Table } = await send(new DescribeTableCommand({ TableName }));
    const states = [Table.TableStatus, ...(Table.GlobalSecondaryIndexes ?? []).map((index) => index.IndexStatus)];
    if (states.every((state) => state === "ACTIVE") || Date.now() > deadline) return Table;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const parts = {
  async transactions() {
    const put = { Put: { TableName, Item: { pk: S("a"), v: N(1) } } };
    const once = { TransactItems: [put], ClientRequestToken: "once-js", ReturnConsumedCapacity: "TOTAL" };
    const first = await send(new TransactWriteItemsCommand(once));
    assert.equal(first.ConsumedCapacity[0].CapacityUnits, 2);
    assert.equal(first.ConsumedCapacity[0].WriteCapacityUnits, 2);
    await send(new TransactWriteItemsCommand(once));
    const other = { ...once, TransactItems: [{ Put: { TableName, Item: { pk: S("b") } } }] };
    await assert.rejects(send(new TransactWriteItemsCommand(other)), IdempotentParameterMismatchException);

    await send(new TransactWriteItemsCommand({ TransactItems: [
      { Update: { TableName, Key: { pk: S("a") }, UpdateExpression: "SET v = v + :one",
        ExpressionAttributeValues: { ":one": N(1) } } },
      { Put: { TableName, Item: { pk: S("b") } } },
      { ConditionCheck: { TableName, Key: { pk: S("c") }, ConditionExpression: "attribute_not_exists(pk)" } },
      { Delete: { TableName, Key: { pk: S("d") } } },
    ] }));
    const got = await send(new TransactGetItemsCommand({ TransactItems: [
      { Get: { TableName, Key: { pk: S("a") }, ProjectionExpression: "v" } }, { Get: { TableName, Key: { pk: S("none") } } },
    ] }));
    assert.deepEqual(got.Responses, [{ Item: { v: N(2) } }, {}]);

    const refused = { TransactItems: [
      { Put: { TableName, Item: { pk: S("new") } } },
      { Put: { TableName, Item: { pk: S("a") }, ConditionExpression: "attribute_not_exists(pk)",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD" } },
    ] };
    await assert.rejects(send(new TransactWriteItemsCommand(refused)), (error) => {
      assert.ok(error instanceof TransactionCanceledException);
      assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ["None", "ConditionalCheckFailed"]);
      assert.deepEqual(error.CancellationReasons[1].Item, { pk: S("a"), v: N(2) });
      assert.match(error.message, /specific reasons \[None, ConditionalCheckFailed\]$/);
      return true;
    });
    assert.equal((await send(new GetItemCommand({ TableName, Key: { pk: S("new") } }))).Item, undefined);
  },

  async capacity() {
    const Item = { pk: S("a"), sk: N(1), kind: S("k"), rank: N(1), body: S("x".repeat(1500)) };
    const put = await send(new PutItemCommand({ TableName, Item, ReturnConsumedCapacity: "INDEXES",
      ReturnItemCollectionMetrics: "SIZE" }));
    assert.equal(put.ConsumedCapacity.Table.CapacityUnits, 2);
    assert.deepEqual(Object.keys(put.ConsumedCapacity.GlobalSecondaryIndexes), ["by-kind"]);
    assert.deepEqual(Object.keys(put.ConsumedCapacity.LocalSecondaryIndexes), ["by-rank"]);
    assert.deepEqual(put.ItemCollectionMetrics.ItemCollectionKey, { pk: S("a") });
    const Key = { pk: S("a"), sk: N(1) };
    const units = async (more) =>
      (await send(new GetItemCommand({ TableName, Key, ReturnConsumedCapacity: "TOTAL", ...more }))).ConsumedCapacity;
    assert.deepEqual(await units({}), { TableName, CapacityUnits: 0.5 });
    assert.deepEqual(await units({ ConsistentRead: true }), { TableName, CapacityUnits: 1 });
    const scan = await send(new ScanCommand({ TableName, Select: "COUNT", ReturnConsumedCapacity: "TOTAL" }));
    assert.equal(scan.ConsumedCapacity.CapacityUnits, 0.5);
  },

  async legacy() {
    const put = (sk, more) => send(new PutItemCommand({ TableName, Item: { pk: S("a"), sk: N(sk), rank: N(9 - sk) }, ...more }));
    for (let sk = 0; sk < 4; sk++) await put(sk, { Expected: { pk: { Exists: false } } });
    await assert.rejects(put(0, { Expected: { pk: { Exists: false } } }), { name: "ConditionalCheckFailedException" });
    const mine = { pk: { ComparisonOperator: "EQ", AttributeValueList: [S("a")] } };
    const page = await send(new QueryCommand({ TableName, KeyConditions: mine, AttributesToGet: ["sk"],
      QueryFilter: { rank: { ComparisonOperator: "GT", AttributeValueList: [N(7)] } } }));
    assert.deepEqual(page.Items, [{ sk: N(0) }, { sk: N(1) }]);
    const mixed = await send(new QueryCommand({ TableName, KeyConditions: mine, FilterExpression: "#r > :r",
      ExpressionAttributeNames: { "#r": "rank" }, ExpressionAttributeValues: { ":r": N(7) } }));
    assert.equal(mixed.Count, 2);
    const changed = await send(new UpdateItemCommand({ TableName, Key: { pk: S("a"), sk: N(0) }, ReturnValues: "UPDATED_NEW",
      AttributeUpdates: { rank: { Action: "ADD", Value: N(1) } } }));
    assert.deepEqual(changed.Attributes, { rank: N(10) });
    const scan = await send(new ScanCommand({ TableName, ConditionalOperator: "OR", ScanFilter: {
      rank: { ComparisonOperator: "EQ", AttributeValueList: [N(10)] },
      sk: { ComparisonOperator: "EQ", AttributeValueList: [N(3)] },
    } }));
    assert.equal(scan.Count, 2);
  },

  async tables() {
    await send(new PutItemCommand({ TableName, Item: { pk: S("a"), kind: S("k") } }));
    const made = await send(new UpdateTableCommand({
      TableName, AttributeDefinitions: [{ AttributeName: "kind", AttributeType: "S" }],
      GlobalSecondaryIndexUpdates: [{ Create: { IndexName: "by-kind", Projection: { ProjectionType: "KEYS_ONLY" },
        KeySchema: [{ AttributeName: "kind", KeyType: "HASH" }] } }],
    }));
    assert.equal(made.TableDescription.TableStatus, "UPDATING");
    const table = await settled();
    assert.equal(table.GlobalSecondaryIndexes[0].IndexName, "by-kind");
    const found = await send(new QueryCommand({ TableName, IndexName: "by-kind", KeyConditionExpression: "kind = :k",
      ExpressionAttributeValues: { ":k": S("k") } }));
    assert.deepEqual(found.Items, [{ pk: S("a"), kind: S("k") }]);
    const StreamSpecification = { StreamEnabled: true, StreamViewType: "KEYS_ONLY" };
    const on = await send(new UpdateTableCommand({ TableName, StreamSpecification }));
    assert.deepEqual(on.TableDescription.StreamSpecification, StreamSpecification);
    await settled();
    await send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: true }));
    assert.equal((await settled()).DeletionProtectionEnabled, true);
    await send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: false }));
    await settled();
    await assert.rejects(send(new UpdateTableCommand({ TableName: "conformance-none", BillingMode: "PAY_PER_REQUEST" })),
      ResourceNotFoundException);
  },

  async settings() {
    const { TableArn: ResourceArn } = (await send(new DescribeTableCommand({ TableName }))).Table;
    await send(new TagResourceCommand({ ResourceArn, Tags: [{ Key: "team", Value: "blue" }, { Key: "cost", Value: "1" }] }));
    await send(new UntagResourceCommand({ ResourceArn, TagKeys: ["cost"] }));
    assert.deepEqual((await send(new ListTagsOfResourceCommand({ ResourceArn }))).Tags, [{ Key: "team", Value: "blue" }]);
    await send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName: "ttl", Enabled: true } }));
    const ttl = (await send(new DescribeTimeToLiveCommand({ TableName }))).TimeToLiveDescription;
    assert.deepEqual(ttl, { TimeToLiveStatus: "ENABLED", AttributeName: "ttl" });
    await send(new UpdateContinuousBackupsCommand({ TableName,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }));
    const backups = (await send(new DescribeContinuousBackupsCommand({ TableName }))).ContinuousBackupsDescription;
    assert.equal(backups.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus, "ENABLED");
    assert.ok((await send(new DescribeLimitsCommand({}))).TableMaxReadCapacityUnits > 0);
    assert.ok((await send(new DescribeEndpointsCommand({}))).Endpoints[0].Address);
  },
};

await parts[part]();
client.destroy();
