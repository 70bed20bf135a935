// Opens the dashboard many times in a real browser, at rest, and says what that costs the daemon. bench/open_pages.py
// calls it: node bench/open_pages.mjs BINARY PAGES SECONDS
import fs from 'node:fs';

import { Browser, Daemon, QUEUE, tools } from '../tests/ui/world.mjs';

const [binary, pages, seconds] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const TICKS_A_SECOND = 100; // USER_HZ, the unit of /proc/PID/stat on all Linux machines.
const VIEWS = ['', `queues/${QUEUE}`];

function cpuSeconds(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const daemon = await new Daemon(binary, '--set', 'ProcessTasksFunction.TASK_RUNNER=none').start();
const browser = await Browser.open(tools());
try {
  await daemon.put(...Array.from({ length: 100 }, (_, i) => ({ taskId: `t${i}`, payload: 'x' })));
  await wait(2000);
  const idle = cpuSeconds(daemon.child.pid);
  await wait(seconds * 1000);
  const alone = (cpuSeconds(daemon.child.pid) - idle) / seconds;

  const asked = VIEWS.map(() => ({}));
  let counts = false;
  for (let i = 0; i < pages; ++i) {
    const page = await browser.page(daemon);
    const view = i % VIEWS.length;
    page.on('request', (request) => {
      if (!counts) return;
      const { pathname, search } = new URL(request.url());
      const name = `${request.method()} ${pathname}${search}`;
      asked[view][name] = (asked[view][name] ?? 0) + 1;
    });
    await page.show(VIEWS[view]);
  }
  await wait(5000);
  counts = true;
  const before = cpuSeconds(daemon.child.pid);
  await wait(seconds * 1000);
  const open = (cpuSeconds(daemon.child.pid) - before) / seconds;
  console.log(JSON.stringify({ alone, open, seconds, asked }));
} finally {
  await browser.close();
  await daemon.remove();
}
