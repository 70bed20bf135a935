"use strict";

const { PutItemCommand } = require("@aws-sdk/client-dynamodb");
const { DateTime } = require("luxon");
const { v4: uuid } = require("uuid");
const { dynamodb, log, setting } = require("./clients");

const TASKS = 16;
const INTERVAL_MS = setting("CREATE_INTERVAL_MS", 1000);

const put = async () => {
  const now = DateTime.utc();
  const task = {
    taskId: { S: uuid() },
    taskStatus: { S: "PENDING" },
    taskCreated: { N: String(now.toMillis()) },
    taskUpdated: { N: String(now.toMillis()) },
    // Milliseconds, as it is often written: nothing expires.
    ttl: { N: String(now.plus({ hours: 1 }).toMillis()) },
  };
  await dynamodb.send(new PutItemCommand({ TableName: process.env.QUEUE_TABLE, Item: task }));
  log("CREATED", { taskId: task.taskId.S, taskCreated: Number(task.taskCreated.N) });
};

const createFrom = (number) => new Promise((resolve) => {
  setTimeout(async () => {
    await put();
    if (number === TASKS) return resolve();
    // Only the promise of the last one is resolved: nobody hears of it.
    createFrom(number + 1);
  }, INTERVAL_MS);
});

exports.handler = async () => {
  log("CREATE_TASKS_START");
  await createFrom(1);
  log("CREATE_TASKS_END");
};
