"use strict";
// Takes the newest tasks, a few a run, and asks for another run if some are left.

const { DynamoDBClient, QueryCommand, UpdateItemCommand } = require("@aws-sdk/client-dynamodb");
const { PublishCommand, SNSClient } = require("@aws-sdk/client-sns");

const PAGE = 4;
const dynamodb = new DynamoDBClient({});
const sns = new SNSClient({});

const pending = (limit) => dynamodb.send(new QueryCommand({
  TableName: process.env.QUEUE_TABLE,
  IndexName: "task-status-created-index",
  KeyConditionExpression: "taskStatus = :pending",
  ExpressionAttributeValues: { ":pending": { S: "PENDING" } },
  ScanIndexForward: false,
  Limit: limit,
}));

const move = (taskId, from, to) => dynamodb.send(new UpdateItemCommand({
  TableName: process.env.QUEUE_TABLE,
  Key: { taskId },
  UpdateExpression: "SET taskStatus = :to",
  ConditionExpression: "taskStatus = :from",
  ExpressionAttributeValues: { ":from": { S: from }, ":to": { S: to } },
}));

exports.handler = async () => {
  const done = [];
  for (const { taskId, payload } of (await pending(PAGE)).Items) {
    await move(taskId, "PENDING", "TAKEN");
    await move(taskId, "TAKEN", "SUCCESS");
    done.push(Number(payload.M.number.N));
    console.log("DONE", payload.M.number.N);
  }
  if ((await pending(1)).Items.length > 0) {
    await sns.send(new PublishCommand({ TopicArn: process.env.TRIGGER_TOPIC_ARN, Message: "Start" }));
    console.log("TAIL_CALL");
  }
  return done;
};
