// Amazon SNS through the JavaScript SDK v3. Exit status 0 if all is as the service does it.
import assert from "node:assert/strict";
import http from "node:http";
import {
  ConfirmSubscriptionCommand, CreateTopicCommand, DeleteTopicCommand, GetTopicAttributesCommand,
  InvalidParameterException, ListTopicsCommand, NotFoundException, PublishBatchCommand, PublishCommand,
  SetSubscriptionAttributesCommand, SNSClient, SubscribeCommand,
} from "@aws-sdk/client-sns";

const client = new SNSClient({ endpoint: process.env.AWS_ENDPOINT_URL, region: "us-east-1" });
const send = (command) => client.send(command);

const received = [];
let arrived = () => {};
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  response.end();
  received.push({ type: request.headers["x-amz-sns-message-type"], body });
  arrived();
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const next = async () => {
  while (received.length === 0) await new Promise((done) => { arrived = done; });
  return received.shift();
};

const { TopicArn } = await send(new CreateTopicCommand({ Name: "from-js", Tags: [{ Key: "a", Value: "b" }] }));
const { SubscriptionArn } = await send(new SubscribeCommand({
  TopicArn, Protocol: "http", Endpoint: `http://127.0.0.1:${server.address().port}/`, ReturnSubscriptionArn: true,
  Attributes: { RawMessageDelivery: "true", FilterPolicy: JSON.stringify({ kind: ["a"] }) },
}));
const asked = await next();
assert.equal(asked.type, "SubscriptionConfirmation");
const confirmed = await send(new ConfirmSubscriptionCommand({ TopicArn, Token: JSON.parse(asked.body).Token }));
assert.equal(confirmed.SubscriptionArn, SubscriptionArn);

const kind = (StringValue) => ({ kind: { DataType: "String", StringValue } });
await send(new PublishCommand({ TopicArn, Message: "other", MessageAttributes: kind("b") }));
const { MessageId } = await send(new PublishCommand({ TopicArn, Message: "<ä> & 'b'", MessageAttributes: kind("a") }));
assert.match(MessageId, /^[0-9a-f-]{36}$/);
assert.equal((await next()).body, "<ä> & 'b'");
await send(new SetSubscriptionAttributesCommand({
  SubscriptionArn, AttributeName: "FilterPolicy", AttributeValue: "{}",
}));
const batch = await send(new PublishBatchCommand({
  TopicArn, PublishBatchRequestEntries: [{ Id: "1", Message: "one" }, { Id: "2", Message: "" }],
}));
assert.deepEqual(batch.Successful.map((entry) => entry.Id), ["1"]);
assert.deepEqual(batch.Failed.map((entry) => entry.Code), ["InvalidParameter"]);
assert.equal((await next()).body, "one");

const fifo = (await send(new CreateTopicCommand({ Name: "from-js.fifo", Attributes: { FifoTopic: "true" } }))).TopicArn;
const ordered = (MessageDeduplicationId) => send(new PublishCommand({
  TopicArn: fifo, Message: "x", MessageGroupId: "g", MessageDeduplicationId,
}));
const [one, two, again] = [await ordered("1"), await ordered("2"), await ordered("1")];
assert.match(one.SequenceNumber, /^\d{20}$/);
assert.ok(one.SequenceNumber < two.SequenceNumber);
assert.equal(again.MessageId, one.MessageId);
await assert.rejects(send(new PublishCommand({ TopicArn: fifo, Message: "x" })), InvalidParameterException);
await send(new DeleteTopicCommand({ TopicArn: fifo }));

assert.ok((await send(new ListTopicsCommand({}))).Topics.some((topic) => topic.TopicArn === TopicArn));
assert.equal((await send(new GetTopicAttributesCommand({ TopicArn }))).Attributes.SubscriptionsConfirmed, "1");
await send(new DeleteTopicCommand({ TopicArn }));
await assert.rejects(send(new PublishCommand({ TopicArn, Message: "x" })), NotFoundException);
server.close();
server.closeAllConnections?.();
