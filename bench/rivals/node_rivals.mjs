// The whole life of a task in rivals that are used through a Node library. Same payload, checks and output as whole_life.cc.
//
//   node node_rivals.mjs bullmq|dynalite PORT TASKS CREATE_BATCH CREATES_IN_FLIGHT CONCURRENCY
//
// bullmq: `lifo` on Redis. dynalite: the pattern that the public sample application uses (put, query the index newest first,
// conditional PENDING -> TAKEN -> SUCCESS). Packages come from NODE_RIVALS_DIR/node_modules (run.sh installs them).
import { createRequire } from 'node:module';
import path from 'node:path';

const load = createRequire(path.join(process.env.NODE_RIVALS_DIR, 'package.json'));
const [kind, port, ...numbers] = process.argv.slice(2);
const [total, createBatch, inFlight, concurrency] = numbers.map(Number);
const seen = new Uint8Array(total);
let finished = 0, doubled = 0, allDone;
const everything = new Promise(resolve => { allDone = resolve; });

function done(number) {
  if (seen[number]++) doubled++;
  else if (++finished === total) allDone();
}
const payload = number => `${number} `.padEnd(100, 'abcdefghijklmnopqrstuvwxyz0123456789');

function bullmq() {
  const { Queue, Worker } = load('bullmq');
  const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue('q', { connection });
  const opts = { lifo: true, removeOnComplete: { count: 1000 } };
  return {
    create: batch => queue.addBulk(batch.map(number => ({ name: 't', data: { number, payload: payload(number) }, opts }))),
    work: () => {
      const worker = new Worker('q', async () => 'ok', { connection, concurrency });
      worker.on('completed', job => done(job.data.number));
    },
  };
}

async function dynalite() {
  const sdk = load('@aws-sdk/client-dynamodb');
  const client = new sdk.DynamoDBClient({
    endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const TableName = 'tasks', IndexName = 'task-status-created-index';
  await client.send(new sdk.CreateTableCommand({
    TableName, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [['taskId', 'S'], ['taskStatus', 'S'], ['taskCreated', 'N']].map(([AttributeName, AttributeType]) =>
      ({ AttributeName, AttributeType })),
    KeySchema: [{ AttributeName: 'taskId', KeyType: 'HASH' }],
    GlobalSecondaryIndexes: [{
      IndexName, Projection: { ProjectionType: 'ALL' },
      KeySchema: [{ AttributeName: 'taskStatus', KeyType: 'HASH' }, { AttributeName: 'taskCreated', KeyType: 'RANGE' }],
    }],
  }));
  await sdk.waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1 }, { TableName });
  const put = number => client.send(new sdk.PutItemCommand({
    TableName, Item: {
      taskId: { S: String(number) }, taskStatus: { S: 'PENDING' }, taskCreated: { N: String(Date.now()) },
      ttl: { N: String(Math.floor(Date.now() / 1000) + 3600) }, payload: { S: payload(number) },
    },
  }));
  const move = (id, from, to) => client.send(new sdk.UpdateItemCommand({
    TableName, Key: { taskId: { S: id } }, UpdateExpression: 'set taskStatus = :to, taskUpdated = :u',
    ConditionExpression: 'taskStatus = :f',
    ExpressionAttributeValues: { ':f': { S: from }, ':to': { S: to }, ':u': { N: String(Date.now()) } },
  })).then(() => true, error => {
    if (error.name !== 'ConditionalCheckFailedException') throw error;
    return false;
  });
  const step = async id => {
    if (await move(id, 'PENDING', 'TAKEN') && await move(id, 'TAKEN', 'SUCCESS')) done(Number(id));
  };
  const loop = async () => {
    while (finished < total) {
      const page = await client.send(new sdk.QueryCommand({
        TableName, IndexName, KeyConditionExpression: 'taskStatus = :s', Limit: concurrency, ScanIndexForward: false,
        ExpressionAttributeValues: { ':s': { S: 'PENDING' } },
      }));
      await Promise.all(page.Items.map(item => step(item.taskId.S)));
    }
  };
  return { create: batch => Promise.all(batch.map(put)), work: loop };
}

const store = await { bullmq, dynalite }[kind]();
const started = process.hrtime.bigint();
let next = 0;
async function produce() {
  while (next < total) {
    const first = next;
    next = Math.min(total, first + createBatch);
    await store.create(Array.from({ length: next - first }, (_, i) => first + i));
  }
}
store.work();
await Promise.all([everything, ...Array.from({ length: inFlight }, produce)]);
const seconds = Number(process.hrtime.bigint() - started) / 1e9;
console.log(JSON.stringify({
  kind, create_batch: createBatch, in_flight: inFlight, concurrency, tasks: total, tasks_per_s: Math.round(total / seconds),
  missing: total - finished, doubled, ok: finished === total && doubled === 0,
}));
process.exit(0);
