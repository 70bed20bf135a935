"use strict";

const { PublishCommand } = require("@aws-sdk/client-sns");
const { log, sns } = require("./clients");

const wanted = (record) => record.eventName === "INSERT" || record.EventSource === "aws:sns";

exports.handler = async (event) => {
  if (!event.Records.some(wanted)) {
    log("TRIGGER_SKIPPED", { records: event.Records.length });
    return;
  }
  const sent = await sns.send(new PublishCommand({ TopicArn: process.env.PROCESS_TASKS_TOPIC_ARN, Message: "Start" }));
  log("TRIGGERED", { records: event.Records.length, source: event.Records[0].eventSource || event.Records[0].EventSource,
    messageId: sent.MessageId });
};
