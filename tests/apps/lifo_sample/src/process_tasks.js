"use strict";

const { QueryCommand, UpdateItemCommand } = require("@aws-sdk/client-dynamodb");
const { PublishCommand } = require("@aws-sdk/client-sns");
const { dynamodb, log, setting, sns } = require("./clients");

const PAGE = 10;
const SLOTS = 3;
const STEP_MS = setting("STEP_MS", 200);
const TASK_MS = setting("TASK_MS", 15000);
const PAUSE_MS = setting("PAUSE_MS", 500);
const ACTIVE_MS = setting("ACTIVE_MS", 59000);

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const newest = async () => {
  const page = await dynamodb.send(new QueryCommand({
    TableName: process.env.QUEUE_TABLE,
    IndexName: "task-status-created-index",
    KeyConditionExpression: "taskStatus = :taskStatus",
    ExpressionAttributeValues: { ":taskStatus": { S: "PENDING" } },
    Limit: PAGE,
    ScanIndexForward: false,
  }));
  return page.Items;
};

const move = async (task, from, to) => {
  try {
    await dynamodb.send(new UpdateItemCommand({
      TableName: process.env.QUEUE_TABLE,
      Key: { taskId: task.taskId },
      UpdateExpression: "set taskStatus = :toTaskStatus, taskUpdated = :taskUpdated",
      ConditionExpression: "taskStatus = :fromTaskStatus",
      ExpressionAttributeValues: {
        ":fromTaskStatus": { S: from },
        ":toTaskStatus": { S: to },
        ":taskUpdated": { N: String(Date.now()) },
      },
    }));
    log(to, { taskId: task.taskId.S, taskCreated: Number(task.taskCreated.N) });
    return true;
  } catch (error) {
    log("NOT_MOVED", { taskId: task.taskId.S, from, to, error: error.name });
    return false;
  }
};

let working = 0;

const work = async (task) => {
  ++working;
  await wait(TASK_MS);
  await move(task, "TAKEN", "SUCCESS");
  --working;
};

// Each is taken; those without a slot go back.
const workOff = async (tasks) => {
  const all = [];
  for (const task of tasks) {
    if (await move(task, "PENDING", "TAKEN")) {
      if (working < SLOTS) all.push(work(task));
      else await move(task, "TAKEN", "PENDING");
    }
    await wait(STEP_MS);
  }
  await Promise.all(all);
};

const processUntil = (end) => new Promise((resolve) => {
  setTimeout(async () => {
    const tasks = await newest();
    log("PAGE", { tasks: tasks.map((task) => Number(task.taskCreated.N)) });
    if (tasks.length === 0) return resolve();
    if (Date.now() >= end) {
      await sns.send(new PublishCommand({ TopicArn: process.env.TRIGGER_TOPIC_ARN, Message: "Start" }));
      log("TAIL_CALL", { left: tasks.length });
      return resolve();
    }
    await workOff(tasks);
    processUntil(end);
  }, PAUSE_MS);
});

exports.handler = async () => {
  log("PROCESS_TASKS_START");
  await processUntil(Date.now() + ACTIVE_MS);
  log("PROCESS_TASKS_END");
};
