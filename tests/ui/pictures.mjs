// Makes the pictures of docs/dashboard.md from a running daemon with too much to do (overload.mjs).
//   node tests/ui/pictures.mjs [SECONDS]     FRESHET_BINARY names the binary; build/release/freshet else
import path from 'node:path';
import { limitedDownstream, overload } from './overload.mjs';
import { Browser, Daemon, QUEUE, ROOT, tools, until } from './world.mjs';

const SECONDS = Number(process.argv[2] ?? 100);

const downstream = await limitedDownstream();
const daemon = await new Daemon(process.env.FRESHET_BINARY ?? path.join(ROOT, 'build/release/freshet'),
  '--parameter', `TaskRunner=${downstream.url}`, '--parameter', 'RateLimit=adaptive').start();
const browser = await Browser.open(tools()); // Before the load: its start takes the time of this process.
const load = overload(daemon);

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
downstream.close();
