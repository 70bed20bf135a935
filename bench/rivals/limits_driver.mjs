// A rival in front of an API with a limit: the driver that `freshet demo limits --against` runs (app/demo/contestant.h says what it
// is told). Creates each task when it is due and calls the API for it.
//
//   node limits_driver.mjs bullmq|postgres|sqs-pattern PORT
//
// Each knows the limit that the API starts with, skips tasks whose deadline has passed, and waits as long as Retry-After says, a
// second if the API does not say. Killed with its server in the middle and started again in $LAB_DATA, each goes on: the clients
// create again what nobody has acknowledged, and what was in work is done as the queue has it:
//   bullmq       `lifo: true` on Redis, a Worker with `limiter: {max, duration: 1000}`; a 429 is worker.rateLimit() and RateLimitError,
//                as its documentation has it; its check for stalled jobs brings back what was in work
//   postgres     ORDER BY created DESC LIMIT 1 FOR UPDATE SKIP LOCKED over a partial index, behind a token bucket; a start brings
//                back what was in work
//   sqs-pattern  the loop of the LIFO sample on dynalite: a page of the newest PENDING tasks, each claimed by a conditional
//                update, and the next page when all of them have ended. The sample knows no limit, and what was in work is lost.
//                This is its loop without its waits; lifo-sample (limits_sample.mjs) runs its own files
import { call, dynalite, isLate, load, now, pause, rate, run, slots, tasks } from './limits_clients.mjs';

const [kind, port] = process.argv.slice(2);

async function bullmq() {
  const { Queue, Worker, RateLimitError } = load('bullmq');
  const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue('q', { connection });
  const opts = { lifo: true, removeOnComplete: true, removeOnFail: true };
  return {
    create: number => queue.add('t', { number }, { ...opts, jobId: `task-${number}` }),
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
  await producers.query(`CREATE TABLE IF NOT EXISTS tasks(id bigserial PRIMARY KEY, number int NOT NULL UNIQUE,
                         status text NOT NULL DEFAULT 'PENDING', created timestamptz NOT NULL DEFAULT clock_timestamp())`);
  await producers.query("CREATE INDEX IF NOT EXISTS tasks_pending ON tasks(created DESC) WHERE status = 'PENDING'");
  await producers.query("UPDATE tasks SET status = 'PENDING' WHERE status = 'TAKEN'");
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
    create: number => producers.query({ name: 'put', text: 'INSERT INTO tasks(number) VALUES ($1) ON CONFLICT DO NOTHING', values: [number] }),
    work: () => { for (let i = 0; i < slots; ++i) worker(); },
  };
}

async function sqsPattern() {
  const { client, TableName, put } = await dynalite(Number(port));
  const { QueryCommand, UpdateItemCommand } = load('@aws-sdk/client-dynamodb');
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
    create: number => put(number, { deadline: { N: String(tasks[number].deadline) } }),
    work: () => { loop(); },
  };
}

await run(await { bullmq, postgres, 'sqs-pattern': sqsPattern }[kind]());
