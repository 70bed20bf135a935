// Makes the pictures of docs/dashboard.md from a running daemon: a downstream that takes 20 calls a second, of which
// the daemon is not told, and three times as many tasks with deadlines.
//   node tests/ui/pictures.mjs [SECONDS]     FRESHET_BINARY names the binary; build/release/freshet else
import http from 'node:http';
import path from 'node:path';
import { Browser, Daemon, QUEUE, ROOT, tools, until } from './world.mjs';

const SECONDS = Number(process.argv[2] ?? 100);
const LIMIT = 20;
const OFFERED = 60;
const GROUPS = ['acme', 'globex', 'initech'];

// Takes LIMIT calls in each second, and answers 429 to the others.
let second = 0;
let calls = 0;
const downstream = http.createServer((request, response) => {
  request.resume();
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) [second, calls] = [now, 0];
  const refused = ++calls > LIMIT;
  setTimeout(() => {
    response.writeHead(refused ? 429 : 200);
    response.end('{}');
  }, 30 + Math.random() * 60);
});
await new Promise((resolve) => downstream.listen(0, '127.0.0.1', resolve));

const daemon = await new Daemon(process.env.FRESHET_BINARY ?? path.join(ROOT, 'build/release/freshet'),
  '--parameter', `TaskRunner=http://127.0.0.1:${downstream.address().port}/`, '--parameter', 'RateLimit=adaptive').start();
const browser = await Browser.open(tools()); // Before the load: its start takes the time of this process.
let number = 0;
const load = setInterval(() => {
  const now = Date.now() / 1000;
  const few = Math.round((OFFERED / 5) * (0.75 + 0.5 * Math.sin(now / 9)));
  daemon.put(...Array.from({ length: few }, () => ({ taskId: `order-${++number}`, payload: { order: number, amount: 19.9 }, deadlineMs: 5000, group: GROUPS[number % 3] }))).catch(() => {});
}, 200);

await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
const picture = async (name, view, options, ready) => {
  const page = await browser.page(daemon, { width: 1200, height: 950, ...options });
  await page.show(view);
  await ready?.(page);
  await page.waitForTimeout(3500);
  await page.screenshot({ path: path.join(ROOT, 'docs/pictures', `dashboard-${name}.png`) });
  await page.end();
};
await picture('overview', '');
await picture('queue', `queues/${QUEUE}`);
await picture('dark', `queues/${QUEUE}`, { dark: true });
await picture('sheds', `queues/${QUEUE}/sheds`);
await picture('groups', `queues/${QUEUE}/groups`);
await picture('policy', `queues/${QUEUE}/policy`);
const shed = await until(async () => (await daemon.queue('sheds?limit=50')).sheds.find((line) => line.what === 'shed'), 'something is shed');
await picture('task', `queues/${QUEUE}/tasks/${encodeURIComponent(shed.taskId)}`, {}, (page) => page.has('shed'));
clearInterval(load);
await browser.close();
await daemon.remove();
downstream.closeAllConnections();
downstream.close();
