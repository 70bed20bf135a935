// Makes the picture of the Recording view in docs/dashboard.md: an overloaded queue (overload.mjs) that begins in the order
// of arrival, is switched to newest first in the middle, and is looked at in its bad time.
//   node tests/ui/recording_picture.mjs [SECONDS]     FRESHET_BINARY names the binary; build/release/freshet else
import path from 'node:path';
import { limitedDownstream, overload } from './overload.mjs';
import { Browser, Daemon, QUEUE, ROOT, tools } from './world.mjs';

const SECONDS = Number(process.argv[2] ?? 300);
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

const downstream = await limitedDownstream();
const daemon = await new Daemon(process.env.FRESHET_BINARY ?? path.join(ROOT, 'build/release/freshet'),
  '--parameter', `TaskRunner=${downstream.url}`, '--parameter', 'RateLimit=adaptive').start();
const browser = await Browser.open(tools());
await daemon.queue('policy', { ORDER: 'fifo', DEADLINE_MARGIN: 'off' });
const load = overload(daemon);
await pause(SECONDS / 2);
const at = Date.now() - 5000;
await daemon.queue('policy', { ORDER: 'lifo', DEADLINE_MARGIN: 'p90' });
await pause(SECONDS / 2);
clearInterval(load);
const page = await browser.page(daemon, { width: 1200, height: 950 });
await page.show(`queues/${QUEUE}/recording?at=${Math.round(at / 1000) * 1000}`);
await page.getByRole('slider').waitFor();
await page.getByRole('slider').scrollIntoViewIfNeeded();
await page.waitForTimeout(1500);
await page.screenshot({ path: path.join(process.env.PICTURES ?? path.join(ROOT, 'docs/pictures'), 'dashboard-recording.png') });
await page.end();
await browser.close();
await daemon.remove();
downstream.close();
