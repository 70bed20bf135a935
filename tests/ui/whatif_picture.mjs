// Makes the picture of "What if" in docs/dashboard.md: an overloaded queue (overload.mjs) that keeps to its downstream's
// limit in the order of arrival, and what the usual policies would have made of it.
//   node tests/ui/whatif_picture.mjs [SECONDS]     FRESHET_BINARY names the binary; build/release/freshet else
import path from 'node:path';
import { limitedDownstream, overload } from './overload.mjs';
import { Browser, Daemon, QUEUE, ROOT, check, tools } from './world.mjs';

const SECONDS = Number(process.argv[2] ?? 150);
const LIMIT = 8; // Calls a second: so few that all of it can be played within the budget.
const TRIES = 5; // A machine with other work leaves windows out; the picture has all of them.

const downstream = await limitedDownstream(LIMIT);
const daemon = await new Daemon(process.env.FRESHET_BINARY ?? path.join(ROOT, 'build/release/freshet'),
  '--parameter', `TaskRunner=${downstream.url}`, '--parameter', `RateLimit=${LIMIT - 1}`).start();
const browser = await Browser.open(tools());
await daemon.queue('policy', { ORDER: 'fifo', DEADLINE_MARGIN: 'off' });
const load = overload(daemon, LIMIT);
await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
clearInterval(load);
const page = await browser.page(daemon, { width: 1200, height: 1130 });
await page.show(`queues/${QUEUE}/recording`);
const whatIf = page.getByRole('region', { name: 'What if' }).first();
const table = page.getByRole('table', { name: 'What each policy would have come to' });
let isWhole = false;
for (let i = 0; i < TRIES && !isWhole; ++i) {
  await page.getByRole('button', { name: 'Compare' }).click();
  await table.waitFor({ timeout: 120_000 });
  isWhole = !(await whatIf.innerText()).includes('Left out:');
}
check(isWhole, 'the machine is too busy: some windows are left out');
await whatIf.evaluate((section) => scrollTo(0, section.getBoundingClientRect().top + scrollY));
await page.waitForTimeout(1500);
await page.screenshot({ path: path.join(process.env.PICTURES ?? path.join(ROOT, 'docs/pictures'), 'dashboard-whatif.png') });
await page.end();
await browser.close();
await daemon.remove();
downstream.close();
