// Makes the README's pictures from `freshet demo limits` in its second minute: the queue, and a task that was shed, explained.
//   node tests/ui/demo_picture.mjs [SECONDS]     FRESHET_BINARY names the binary; build/release/freshet else
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Browser, ROOT, tools, until } from './world.mjs';

const SECONDS = Number(process.argv[2] ?? 110);
const LATER = 12; // The task was shed that many seconds before.
const binary = process.env.FRESHET_BINARY ?? path.join(ROOT, 'build/release/freshet');

const demo = spawn(binary, ['demo', 'limits'], { stdio: 'ignore' });
const ended = new Promise((resolve) => demo.once('exit', resolve));
const browser = await Browser.open(tools());

// The demo's daemon listens on a port of its own, and on another one after the kill.
function urlOfDaemon() {
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].startsWith(`S ${demo.pid} `)) continue;
      const words = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const at = words.indexOf('--ready-file');
      if (at >= 0) return fs.readFileSync(words[at + 1], 'utf8').trim();
    } catch {
      // The process has ended meanwhile.
    }
  }
  return '';
}

const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
await sleep(SECONDS - LATER);
const daemon = { url: await until(urlOfDaemon, 'the demo has a daemon') };
const get = async (target) => (await fetch(daemon.url + target)).json();
const [name] = (await get('/queues')).queues;
const shed = (await get(`/queues/${name}/sheds?limit=50`)).sheds.find((line) => line.what === 'shed');
await sleep(LATER);

const page = await browser.page(daemon, { width: 1200, height: 950 });
const picture = async (file, height) => {
  await page.waitForTimeout(2500);
  await page.screenshot({ path: path.join(ROOT, 'docs/pictures', file), clip: { x: 0, y: 0, width: 1200, height } });
};
await page.show(`queues/${name}`);
await picture('demo-queue.png', 950);
await page.show(`queues/${name}/tasks/${encodeURIComponent(shed.taskId)}`);
await page.has('shed');
await picture('demo-shed.png', 730);
await page.end();
await browser.close();
await ended;
