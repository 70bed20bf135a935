// What the rivals of `freshet demo limits` have in common (app/demo/contestant.h says what they are told): the tasks, the clients that
// create them, the call of the API, and dynalite.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import readline from 'node:readline';
import { createRequire } from 'node:module';

export const load = createRequire(path.join(process.env.NODE_RIVALS_DIR, 'package.json'));
const data = process.env.LAB_DATA;
export const slots = Number(process.env.LAB_SLOTS);
export const rate = Number(process.env.LAB_RATE);
export const tasks = fs.readFileSync(process.env.LAB_ARRIVALS, 'utf8').trim().split('\n').map(line => {
  const [at, deadline, tenant] = line.split(' ');
  return { at: Number(at), deadline: Number(deadline), tenant };
});
export const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
let epoch = 0;
export const now = () => performance.timeOrigin + performance.now() - epoch;
export const isLate = number => now() >= tasks[number].deadline;

const agent = new http.Agent({ keepAlive: true, maxSockets: slots, noDelay: true });

// How long to wait before another call, in ms; 0: the call was done.
export function call(number) {
  const body = JSON.stringify({ taskId: String(number) });
  return new Promise((resolve, reject) => {
    const request = http.request(process.env.LAB_HANDLER, { method: 'POST', agent, headers: { 'Content-Length': body.length } }, answer => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode === 200 ? 0 : 1000 * Number(answer.headers['retry-after'] ?? 1)));
    });
    request.on('error', reject);
    request.end(body);
  });
}

// The dynalite on that port, with the table of the LIFO sample. put() writes a task as the sample does; `client` is for workers.
export async function dynalite(port) {
  const { DynamoDBClient, CreateTableCommand, PutItemCommand } = load('@aws-sdk/client-dynamodb');
  const connect = () => new DynamoDBClient({
    endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 's' },
  });
  const producers = connect();
  const TableName = 'QueueTable';
  await producers.send(new CreateTableCommand({
    TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'taskId', KeyType: 'HASH' }],
    AttributeDefinitions: [['taskId', 'S'], ['taskStatus', 'S'], ['taskCreated', 'N']].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    GlobalSecondaryIndexes: [{
      IndexName: 'task-status-created-index', Projection: { ProjectionType: 'ALL' },
      KeySchema: [{ AttributeName: 'taskStatus', KeyType: 'HASH' }, { AttributeName: 'taskCreated', KeyType: 'RANGE' }],
    }],
  })).catch(error => { if (error.name !== 'ResourceInUseException') throw error; }); // It is there from before the kill.
  const put = (number, more) => {
    const at = { N: String(Date.now()) };
    const Item = { taskId: { S: String(number) }, taskStatus: { S: 'PENDING' }, taskCreated: at, taskUpdated: at, ...more };
    return producers.send(new PutItemCommand({ TableName, Item, ConditionExpression: 'attribute_not_exists(taskId)' }))
      .catch(error => { if (error.name !== 'ConditionalCheckFailedException') throw error; });
  };
  return { client: connect(), TableName, put };
}

// `queue` has create(number) and work(). Creates each task when it is due. Each acknowledged task is a line of a file, so that after
// a kill only the others are created again.
export async function run(queue) {
  const acknowledged = path.join(data, 'acknowledged');
  const earlier = fs.existsSync(acknowledged) ? fs.readFileSync(acknowledged, 'utf8').split('\n') : [];
  const before = new Set(earlier.filter(line => line !== '').map(Number));
  const file = fs.openSync(acknowledged, 'a');
  const create = async number => {
    await queue.create(number);
    fs.writeSync(file, `${number}\n`);
  };
  console.log('ready');
  const lines = readline.createInterface({ input: process.stdin });
  [, epoch] = (await new Promise(resolve => lines.once('line', resolve))).split(' ').map(Number);
  lines.once('close', () => process.exit(0));
  await queue.work();
  for (let next = 0; next < tasks.length;) {
    for (; next < tasks.length && tasks[next].at <= now(); ++next) if (!before.has(next)) create(next);
    if (next < tasks.length) await pause(Math.max(0, tasks[next].at - now()));
  }
}
