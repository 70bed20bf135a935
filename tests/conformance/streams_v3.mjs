// DynamoDB Streams through the JavaScript SDK v3: reads the stream named by the argument, in which streams_test.py has
// made an insert, a change and a delete. Exit status 0 if all is as the service does it.
import assert from "node:assert/strict";
import {
  DescribeStreamCommand, DynamoDBStreamsClient, ExpiredIteratorException, GetRecordsCommand, GetShardIteratorCommand,
  ListStreamsCommand, ResourceNotFoundException, TrimmedDataAccessException,
} from "@aws-sdk/client-dynamodb-streams";

const client = new DynamoDBStreamsClient({ endpoint: process.env.AWS_ENDPOINT_URL, region: "us-east-1" });
const StreamArn = process.argv[2];
const send = (command) => client.send(command);
assert.ok(ExpiredIteratorException);

const described = (await send(new DescribeStreamCommand({ StreamArn }))).StreamDescription;
assert.equal(described.StreamStatus, "ENABLED");
assert.ok(described.CreationRequestDateTime instanceof Date);
const listed = await send(new ListStreamsCommand({ TableName: described.TableName }));
assert.deepEqual(listed.Streams.map((stream) => stream.StreamArn), [StreamArn]);
const { ShardId } = described.Shards[0];
const children = await send(new DescribeStreamCommand({ StreamArn, ShardFilter: { Type: "CHILD_SHARDS", ShardId } }));
assert.deepEqual(children.StreamDescription.Shards, []);

const iterator = (more) => send(new GetShardIteratorCommand({ StreamArn, ShardId, ...more }));
const first = await iterator({ ShardIteratorType: "TRIM_HORIZON" });
const page = await send(new GetRecordsCommand({ ShardIterator: first.ShardIterator, Limit: 2 }));
const rest = await send(new GetRecordsCommand({ ShardIterator: page.NextShardIterator }));
const records = [...page.Records, ...rest.Records];
assert.deepEqual(records.map((record) => record.eventName), ["INSERT", "MODIFY", "REMOVE"]);
assert.deepEqual(records[1].dynamodb.OldImage.v, { S: "old" });
assert.deepEqual(records[1].dynamodb.NewImage.v, { S: "new" });
assert.ok(records[0].dynamodb.ApproximateCreationDateTime instanceof Date);
assert.ok(BigInt(records[0].dynamodb.SequenceNumber) < BigInt(records[1].dynamodb.SequenceNumber));

await assert.rejects(iterator({ ShardIteratorType: "AT_SEQUENCE_NUMBER", SequenceNumber: `1${"0".repeat(20)}` }),
  TrimmedDataAccessException);
await assert.rejects(send(new DescribeStreamCommand({ StreamArn: `${StreamArn}9` })), ResourceNotFoundException);
client.destroy();
