// The LIFO sample itself in front of an API with a limit (limits_clients.mjs): the files of the clone that $LIFO_SAMPLE names, as they
// are, on dynalite. What the sample's README says that everybody brings is ours: clients that create tasks, and the task runner, which
// calls the API; a refused call puts the task back to PENDING. What AWS does around it is here, as the sample's template sets it:
//   stream    dynalite has none, so each created task is an INSERT: TriggerFunction gets batches of 10, or what came in 10 s
//   topics    Publish on this process's port
//   Lambda    ProcessTasksFunction runs one at a time, for 120 s at most, in a process of its own that ends when nothing is left to
//             do; an event that has to wait for more than 60 s is dropped. TriggerFunction runs in this process
import http from 'node:http';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { dynalite, run } from './limits_clients.mjs';

const [, port] = process.argv.slice(2);
const app = path.resolve(process.env.LIFO_SAMPLE, 'app');
const topics = { process: 'arn:aws:sns:us-east-1:000000000000:ProcessTasksTopic', trigger: 'arn:aws:sns:us-east-1:000000000000:TriggerTopic' };
const kMostAge = 60_000, kTimeout = 120_000, kBatch = 10, kWindow = 10_000;

let waiting = []; // When each event for ProcessTasksFunction came.
let working = false;
function processTasks() {
  waiting = waiting.filter(at => Date.now() - at <= kMostAge);
  if (working || waiting.length === 0) return;
  working = true;
  waiting.shift();
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', process.execPath, path.join(path.dirname(fileURLToPath(import.meta.url)), 'limits_sample_process.cjs')],
    { stdio: ['ignore', 'ignore', 'inherit'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), kTimeout);
  child.on('exit', () => {
    clearTimeout(timer);
    working = false;
    processTasks();
  });
}

const sns = http.createServer((request, response) => {
  let body = '';
  request.on('data', part => { body += part; });
  request.on('end', () => {
    const topic = new URLSearchParams(body).get('TopicArn');
    if (topic === topics.process) {
      waiting.push(Date.now());
      processTasks();
    } else {
      trigger({ Records: [{ EventSource: 'aws:sns' }] });
    }
    response.setHeader('Content-Type', 'text/xml');
    response.end('<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>1</MessageId></PublishResult>' +
      '<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></PublishResponse>');
  });
});
await new Promise(resolve => sns.listen(0, '127.0.0.1', resolve));

Object.assign(process.env, {
  AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's', AWS_XRAY_CONTEXT_MISSING: 'IGNORE_ERROR', QUEUE_TABLE: 'QueueTable',
  AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${port}`, AWS_ENDPOINT_URL_SNS: `http://127.0.0.1:${sns.address().port}`,
  PROCESS_TASKS_TOPIC_ARN: topics.process, TRIGGER_TOPIC_ARN: topics.trigger, NODE_PATH: path.join(process.env.NODE_RIVALS_DIR, 'node_modules'),
});
const require = createRequire(path.join(app, 'trigger.js'));
require('node:module')._initPaths(); // NODE_PATH has just been set.
console.log = (log => (...words) => { if (words[0] === 'ready') log(...words); })(console.log); // The sample logs there.
const { handler: trigger } = require('./trigger.js');

let batch = 0;
function inserted() {
  if (++batch === 1) setTimeout(deliver, kWindow);
  if (batch >= kBatch) deliver();
}
function deliver() {
  if (batch > 0) trigger({ Records: Array.from({ length: batch }, () => ({ eventName: 'INSERT' })) });
  batch = 0;
}

const { put } = await dynalite(Number(port));
await run({
  create: async number => {
    await put(number, { ttl: { N: String(Math.floor(Date.now() / 1000) + 3600) } });
    inserted();
  },
  work: () => {},
});
