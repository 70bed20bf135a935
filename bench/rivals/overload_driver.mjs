// A rival under overload: drives another queue in the lab in real time (freshet bench overload --real --rival; what a driver is
// told is in app/lab/real/contender.h). Creates each task when it is due, however long the answers take, and calls the handler for
// it from LAB_SLOTS workers.
//
//   node overload_driver.mjs bullmq|beanstalkd|postgres PORT
//
// Each as its users would set it up for newest first:
//   bullmq      `lifo: true` on Redis
//   beanstalkd  priorities that fall with each task: the smallest number is reserved first
//   postgres    ORDER BY created DESC LIMIT 1 FOR UPDATE SKIP LOCKED over a partial index; an idle worker looks every 5 ms
// Packages come from NODE_RIVALS_DIR/node_modules (overload.sh installs them).
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import readline from 'node:readline';
import { createRequire } from 'node:module';

const load = createRequire(path.join(process.env.NODE_RIVALS_DIR, 'package.json'));
const [kind, port] = process.argv.slice(2);
const slots = Number(process.env.LAB_SLOTS);
const due = fs.readFileSync(process.env.LAB_ARRIVALS, 'utf8').trim().split('\n').map(line => Number(line.split(' ')[0]));
const agent = new http.Agent({ keepAlive: true, maxSockets: slots, noDelay: true });
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

function call(number) {
  const body = JSON.stringify({ taskId: String(number) });
  return new Promise((resolve, reject) => {
    const request = http.request(process.env.LAB_HANDLER, { method: 'POST', agent, headers: { 'Content-Length': body.length } }, answer => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
    });
    request.on('error', reject);
    request.end(body);
  });
}

// After the end of the run the handler turns everybody away: nobody calls any more.
async function serve(number) {
  if (await call(number) === 503) await new Promise(() => {});
}

async function bullmq() {
  const { Queue, Worker } = load('bullmq');
  const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue('q', { connection });
  await queue.obliterate({ force: true });
  const opts = { lifo: true, removeOnComplete: true };
  return {
    create: number => queue.add('t', { number }, opts),
    work: () => new Worker('q', job => serve(job.data.number), { connection, concurrency: slots }).waitUntilReady(),
  };
}

// A connection on which answers come in the order of the requests; `body(head)` says how long a body follows a line.
class Beanstalk {
  constructor() {
    this.waiting = [];
    this.buffer = Buffer.alloc(0);
    this.socket = net.connect({ host: '127.0.0.1', port: Number(port), noDelay: true });
    this.socket.on('data', part => {
      this.buffer = Buffer.concat([this.buffer, part]);
      while (this.take());
    });
  }
  take() {
    const end = this.buffer.indexOf('\r\n');
    if (end < 0) return false;
    const head = this.buffer.toString('latin1', 0, end).split(' ');
    const size = head[0] === 'RESERVED' ? Number(head[2]) + 2 : 0;
    if (this.buffer.length < end + 2 + size) return false;
    const body = this.buffer.toString('latin1', end + 2, end + 2 + Math.max(0, size - 2));
    this.buffer = this.buffer.subarray(end + 2 + size);
    this.waiting.shift()({ head, body });
    return true;
  }
  ask(text) {
    this.socket.write(text, 'latin1');
    return new Promise(resolve => this.waiting.push(resolve));
  }
}

async function beanstalkd() {
  const tube = `t${process.pid}`;
  const producer = new Beanstalk();
  await producer.ask(`use ${tube}\r\n`);
  const worker = async () => {
    const connection = new Beanstalk();
    await connection.ask(`watch ${tube}\r\n`);
    await connection.ask('ignore default\r\n');
    for (;;) {
      const { head, body } = await connection.ask('reserve\r\n');
      await serve(Number(body));
      await connection.ask(`delete ${head[1]}\r\n`);
    }
  };
  return {
    create: number => {
      const body = String(number);
      return producer.ask(`put ${2 ** 32 - 1 - number} 0 120 ${body.length}\r\n${body}\r\n`);
    },
    work: () => { for (let i = 0; i < slots; ++i) worker(); },
  };
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
  const worker = async () => {
    for (;;) {
      const { rows } = await workers.query(take);
      if (rows.length === 0) {
        await pause(5);
        continue;
      }
      await serve(rows[0].number);
      await workers.query({ name: 'done', text: "UPDATE tasks SET status = 'SUCCESS' WHERE id = $1", values: [rows[0].id] });
    }
  };
  return {
    create: number => producers.query({ name: 'put', text: 'INSERT INTO tasks(number) VALUES ($1)', values: [number] }),
    work: () => { for (let i = 0; i < slots; ++i) worker(); },
  };
}

const queue = await { bullmq, beanstalkd, postgres }[kind]();
await queue.work();
console.log('ready');
const lines = readline.createInterface({ input: process.stdin });
const [, epoch] = (await new Promise(resolve => lines.once('line', resolve))).split(' ').map(Number);
lines.once('close', () => process.exit(0));
for (let next = 0; next < due.length;) {
  const now = performance.timeOrigin + performance.now() - epoch;
  while (next < due.length && due[next] <= now) queue.create(next++);
  if (next < due.length) await pause(Math.max(0, due[next] - now));
}
