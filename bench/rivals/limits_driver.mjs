// A rival in front of an API with a limit: the driver that `freshet demo limits --against` runs (app/demo/contestant.h says what it
// is told). Creates each task when it is due and calls the API for it.
//
//   node limits_driver.mjs bullmq|postgres|sqs-pattern PORT
//
// Each knows the limit that the API starts with, skips tasks whose deadline has passed, and waits as long as Retry-After says:
//   bullmq       `lifo: true` on Redis, a Worker with `limiter: {max, duration: 1000}`; a 429 is worker.rateLimit() and RateLimitError,
//                as its documentation has it
//   postgres     ORDER BY created DESC LIMIT 1 FOR UPDATE SKIP LOCKED over a partial index, behind a token bucket
//   sqs-pattern  the loop of the LIFO sample on dynalite: a page of the newest PENDING tasks, each claimed by a conditional
//                update, and the next page when all of them have ended. The sample knows no limit
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import readline from 'node:readline';
import { createRequire } from 'node:module';

const load = createRequire(path.join(process.env.NODE_RIVALS_DIR, 'package.json'));
const [kind, port] = process.argv.slice(2);
const slots = Number(process.env.LAB_SLOTS);
const rate = Number(process.env.LAB_RATE);
const tasks = fs.readFileSync(process.env.LAB_ARRIVALS, 'utf8').trim().split('\n').map(line => {
  const [at, deadline, tenant] = line.split(' ');
  return { at: Number(at), deadline: Number(deadline), tenant };
});
const agent = new http.Agent({ keepAlive: true, maxSockets: slots, noDelay: true });
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
let epoch = 0;
const now = () => performance.timeOrigin + performance.now() - epoch;
const isLate = number => now() >= tasks[number].deadline;

// How long to wait before another call, in ms; 0: the call was done.
function call(number) {
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

async function bullmq() {
  const { Queue, Worker, RateLimitError } = load('bullmq');
  const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue('q', { connection });
  await queue.obliterate({ force: true });
  const opts = { lifo: true, removeOnComplete: true, removeOnFail: true };
  return {
    create: number => queue.add('t', { number }, opts),
    work: () => {
      const worker = new Worker('q', async job => {
        if (isLate(job.data.number)) return;
        const wait = await call(job.data.number);
        if (wait === 0) return;
        await worker.rateLimit(wait);
        throw new (RateLimitError ?? Worker.RateLimitError)();
      }, { connection, concurrency: slots, limiter: { max: rate, duration: 1000 } });
      return worker.waitUntilReady();
    },
  };
}

// A call a token, `rate` of them a second, one at once.
class Tokens {
  constructor() { this.next = 0; }
  async take() {
    const at = Math.max(this.next, performance.now());
    this.next = at + 1000 / rate;
    await pause(at - performance.now());
  }
  hold(ms) { this.next = Math.max(this.next, performance.now() + ms); }
}

async function postgres() {
  const { Pool } = load('pg');
  const options = { host: '127.0.0.1', port: Number(port), user: 'postgres', database: 'postgres' };
  const producers = new Pool({ ...options, max: 16 });
  const workers = new Pool({ ...options, max: slots });
  await producers.query('DROP TABLE IF EXISTS tasks');
  await producers.query(`CREATE TABLE tasks(id bigserial PRIMARY KEY, number int NOT NULL, status text NOT NULL DEFAULT 'PENDING',
                         created timestamptz NOT NULL DEFAULT clock_timestamp())`);
  await producers.query("CREATE INDEX tasks_pending ON tasks(created DESC) WHERE status = 'PENDING'");
  const take = {
    name: 'take', text: `UPDATE tasks SET status = 'TAKEN' WHERE id = (SELECT id FROM tasks WHERE status = 'PENDING'
                         ORDER BY created DESC LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, number`,
  };
  const set = (id, status) => workers.query({ name: 'set', text: 'UPDATE tasks SET status = $2 WHERE id = $1', values: [id, status] });
  const tokens = new Tokens();
  const worker = async () => {
    for (;;) {
      await tokens.take();
      let row;
      for (;;) {
        const { rows } = await workers.query(take);
        row = rows[0];
        if (row === undefined) await pause(5);
        else if (isLate(row.number)) await set(row.id, 'SHED');
        else break;
      }
      const wait = await call(row.number);
      if (wait > 0) tokens.hold(wait);
      await set(row.id, wait === 0 ? 'SUCCESS' : 'PENDING');
    }
  };
  return {
    create: number => producers.query({ name: 'put', text: 'INSERT INTO tasks(number) VALUES ($1)', values: [number] }),
    work: () => { for (let i = 0; i < slots; ++i) worker(); },
  };
}

async function sqsPattern() {
  const server = load('dynalite')({ createTableMs: 0 });
  await new Promise(resolve => server.listen(Number(port), '127.0.0.1', resolve));
  const { DynamoDBClient, CreateTableCommand, PutItemCommand, QueryCommand, UpdateItemCommand } = load('@aws-sdk/client-dynamodb');
  const client = new DynamoDBClient({
    endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 's' },
  });
  const TableName = 'QueueTable';
  await client.send(new CreateTableCommand({
    TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'taskId', KeyType: 'HASH' }],
    AttributeDefinitions: [['taskId', 'S'], ['taskStatus', 'S'], ['taskCreated', 'N']].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    GlobalSecondaryIndexes: [{
      IndexName: 'task-status-created-index', Projection: { ProjectionType: 'ALL' },
      KeySchema: [{ AttributeName: 'taskStatus', KeyType: 'HASH' }, { AttributeName: 'taskCreated', KeyType: 'RANGE' }],
    }],
  }));
  const move = (taskId, from, to) => client.send(new UpdateItemCommand({
    TableName, Key: { taskId }, UpdateExpression: 'SET taskStatus = :to', ConditionExpression: 'taskStatus = :from',
    ExpressionAttributeValues: { ':to': { S: to }, ':from': { S: from } },
  })).then(() => true, () => false);
  const work = async item => {
    if (!await move(item.taskId, 'PENDING', 'TAKEN')) return;
    const wait = await call(Number(item.taskId.S));
    await move(item.taskId, 'TAKEN', wait === 0 ? 'SUCCESS' : 'PENDING');
    if (wait > 0) await pause(wait);
  };
  const loop = async () => {
    for (;;) {
      const { Items } = await client.send(new QueryCommand({
        TableName, IndexName: 'task-status-created-index', ScanIndexForward: false, Limit: slots, KeyConditionExpression: 'taskStatus = :p',
        FilterExpression: 'deadline > :now', ExpressionAttributeValues: { ':p': { S: 'PENDING' }, ':now': { N: String(now()) } },
      }));
      if (Items.length === 0) await pause(50);
      await Promise.all(Items.map(work));
    }
  };
  return {
    create: number => client.send(new PutItemCommand({
      TableName,
      Item: { taskId: { S: String(number) }, taskStatus: { S: 'PENDING' }, taskCreated: { N: String(Math.round(now())) }, deadline: { N: String(tasks[number].deadline) } },
    })),
    work: () => { loop(); },
  };
}

const queue = await { bullmq, postgres, 'sqs-pattern': sqsPattern }[kind]();
console.log('ready');
const lines = readline.createInterface({ input: process.stdin });
[, epoch] = (await new Promise(resolve => lines.once('line', resolve))).split(' ').map(Number);
lines.once('close', () => process.exit(0));
await queue.work();
for (let next = 0; next < tasks.length;) {
  while (next < tasks.length && tasks[next].at <= now()) queue.create(next++);
  if (next < tasks.length) await pause(Math.max(0, tasks[next].at - now()));
}
