// "What if" in the Recording view: what is asked, what is shown of the answer, and a policy that is applied under guard.
import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { Browser, Daemon, QUEUE, check, equal, run, tools, until } from './world.mjs';

const found = tools();
const browser = await Browser.open(found);
const daemon = await new Daemon(process.env.FRESHET_BINARY).start();
const MARKUP = '<img src=x onerror=alert(1)>';
// A guard compares with twenty tasks that ended in the last minute.
await daemon.put(...Array.from({ length: 25 }, (_, i) => ({ taskId: `ended-${i}`, deadlineMs: 60_000 })));
for (const task of await daemon.take(25)) await daemon.settle(task, 'complete');
await daemon.put({ taskId: 'one', deadlineMs: 60_000 }, { taskId: 'two', deadlineMs: 60_000 });
const [taken] = await daemon.take();
await daemon.settle(taken, 'complete');
await daemon.recorded();

// An answer as docs/task-api.md has it, in the place of the route's: its figures are known, and its texts are what nobody
// would write. The last test asks the route itself.
const minute = 60_000;
const from = Math.floor(Date.now() / minute - 10) * minute;
const windows = (regrets) => regrets.map((regret, i) => ({ at: from + i * minute, tasks: 100, percent: 90 - regret, low: 88 - regret, high: 92 - regret, regret }));
const ANSWER = {
  queue: QUEUE, from, to: from + 3 * minute, windowMs: minute, seed: 1, assumes: `The downstream would have been the same ${MARKUP}`,
  recorded: { tasks: 300, inTime: 200, percent: 66.7 },
  policies: [
    { name: 'in force', settings: {}, inForce: true, tasks: 300, inTime: 201, percent: 67, low: 64.5, high: 70.25, regret: 23, windows: windows([20, 25, 24]) },
    { name: `ORDER=deadline ${MARKUP}`, settings: { ORDER: 'deadline' }, inForce: false, tasks: 300, inTime: 260, percent: 86.7, low: 84, high: 89, regret: 3.3, windows: windows([3, 4, 2.9]) },
  ],
  bestKnown: { percent: 90, windows: [] },
  skipped: [{ from, to: from + minute, why: MARKUP }],
};

async function shown(test, options) {
  const page = await browser.page(daemon, options);
  try {
    await test(page);
    await page.end();
  } catch (error) {
    console.log((await page.locator('body').innerText().catch(() => '')).slice(-2500));
    throw error;
  }
}
const form = (page) => page.getByRole('region', { name: 'What if' }).first();
const table = (page) => page.getByRole('table', { name: 'What each policy would have come to' });

// Opens the view with ORDER=deadline chosen. `asked` gets the bodies of the questions.
async function choose(page, asked = []) {
  await page.route('**/whatif', (route) => {
    asked.push(JSON.parse(route.request().postData()));
    return route.fulfill({ status: 200, contentType: 'application/json', body: JSON.stringify(ANSWER) });
  });
  await page.show(`queues/${QUEUE}/recording`);
  await page.getByLabel('Setting for policy 1').selectOption('ORDER');
  await form(page).locator('select#whatif-1-ORDER').selectOption('deadline');
  return asked;
}

const tests = {
  'the settings that differ are asked for, each policy by itself': () => shown(async (page) => {
    const asked = await choose(page);
    await page.getByRole('button', { name: 'Another policy' }).click();
    await page.getByLabel('Setting for policy 2').selectOption('RATE_LIMIT');
    await form(page).locator('#whatif-2-RATE_LIMIT').fill('15');
    await page.getByLabel('Setting for policy 2').selectOption('CONCURRENCY');
    await form(page).locator('#whatif-2-CONCURRENCY').fill('3');
    await page.getByRole('button', { name: 'Take CONCURRENCY out of policy 2' }).click();
    await page.getByRole('combobox', { name: /^The last/ }).selectOption({ label: '30 minutes' });
    await page.getByRole('button', { name: 'Compare' }).click();
    await table(page).waitFor();
    await page.getByRole('button', { name: 'Take ORDER out of policy 1' }).click();
    await page.getByRole('button', { name: 'Take RATE_LIMIT out of policy 2' }).click();
    await page.has('the usual policies are compared');
    await page.getByRole('button', { name: 'Compare' }).click();
    await until(() => asked.length === 2, 'it asks again');
    await page.getByLabel('Limiter behind the queue').fill(' token-bucket 20/s ');
    await page.getByRole('button', { name: 'Compare' }).click();
    await until(() => asked.length === 3, 'it asks with the limiter');
    equal(asked, [{ lastMs: 1_800_000, settings: [{ ORDER: 'deadline' }, { RATE_LIMIT: '15' }] }, { lastMs: 1_800_000 }, { lastMs: 1_800_000, downstream: 'token-bucket 20/s' }]);
  }),

  'the answer is shown with its intervals, its regret and what it assumes': () => shown(async (page) => {
    await choose(page);
    await page.getByRole('button', { name: 'Compare' }).click();
    await table(page).waitFor();
    const rows = await table(page).locator('tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].slice(0, 5).map((cell) => cell.innerText.trim())));
    equal(rows, [
      ['As it was', '300', '66.7 %', '', ''],
      ['In force', '300', '67.0 %', '64.5 % to 70.3 %', '23.0'],
      [`ORDER=deadline ${MARKUP}`, '300', '86.7 %', '84.0 % to 89.0 %', '3.3'],
      ['The best known knows what comes', '', '90.0 %', '', ''],
    ]);
    await page.has('The downstream would have been the same <img');
    const chart = page.getByRole('img', { name: /^Regret/ });
    check((await chart.getAttribute('aria-label')).includes(`in force 24.0, ORDER=deadline ${MARKUP} 2.9`), await chart.getAttribute('aria-label'));
    equal(await page.locator('#app img').count(), 0);
    equal(await table(page).getByRole('button', { name: 'Apply' }).count(), 1);
    equal(await browser.violations(page), []);
  }),

  'a policy is applied under guard': () => shown(async (page) => {
    await choose(page);
    await page.getByRole('button', { name: 'Compare' }).click();
    await table(page).getByRole('button', { name: 'Apply' }).click();
    const dialog = page.getByRole('dialog');
    check(/ORDER\s+lifo\s+deadline/.test(await dialog.innerText()), await dialog.innerText());
    equal(await browser.violations(page), []);
    await dialog.getByLabel('Points').fill('7');
    await dialog.getByLabel('Minutes').fill('5');
    const [sent] = await Promise.all([page.waitForRequest((request) => request.method() === 'POST' && !request.postData().includes('dryRun')), dialog.getByRole('button', { name: 'Apply' }).click()]);
    equal(JSON.parse(sent.postData()), { ORDER: 'deadline', guard: { points: 7, withinMs: 300_000 } });
    await until(async () => (await daemon.queue('policy')).ORDER === 'deadline', 'the policy is another');
    const { policyGuard } = await daemon.queue('stats');
    equal([policyGuard.points, policyGuard.withinMs], [7, 300_000]);
    await page.has('it goes back by itself if the share in time falls by more than 7 points');
    await page.has('It was 100 % before');
    await page.getByRole('button', { name: 'Keep the policy' }).click();
    await until(async () => !(await daemon.queue('stats')).policyGuard, 'the guard has ended');
    equal((await daemon.queue('policy')).ORDER, 'deadline');
    await daemon.queue('policy', { ORDER: 'lifo' });
  }),

  'without a guard the policy just changes, and Undo brings it back': () => shown(async (page) => {
    await choose(page);
    await page.getByRole('button', { name: 'Compare' }).click();
    await table(page).getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('dialog').getByLabel('Go back by itself').uncheck();
    await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
    await until(async () => (await daemon.queue('policy')).ORDER === 'deadline', 'the policy is another');
    equal((await daemon.queue('stats')).policyGuard, undefined);
    await page.getByRole('button', { name: 'Undo' }).click();
    await until(async () => (await daemon.queue('policy')).ORDER === 'lifo', 'it is back');
  }),

  'a refusal is shown': () => shown(async (page) => {
    await page.show(`queues/${QUEUE}/recording`);
    await page.route('**/whatif', (route) => route.fulfill({ status: 400, contentType: 'application/json', body: JSON.stringify({ error: { code: 'ValidationException', message: `no ${MARKUP}` } }) }));
    await page.getByLabel('Setting for policy 1').selectOption('ORDER');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.has(`no ${MARKUP}`);
    equal(await page.locator('#app img').count(), 0);
  }),
};
tests['nothing is wider than a narrow screen'] = () => shown(async (page) => {
  await choose(page);
  await page.getByRole('button', { name: 'Compare' }).click();
  await table(page).waitFor();
  await page.fits();
}, { width: 390 });

tests['the daemon itself is asked'] = () => shown(async (page) => {
  // Work that comes and ends, by workers: half of it too late.
  for (let i = 0; i < 30; ++i) {
    await daemon.put({ taskId: `w-${i}`, deadlineMs: i % 2 ? 60_000 : 1 });
    for (const task of await daemon.take(4)) await daemon.settle(task, 'complete');
  }
  await page.show(`queues/${QUEUE}/recording`);
  await page.getByLabel('Setting for policy 1').selectOption('ORDER');
  await form(page).locator('select#whatif-1-ORDER').selectOption('fifo');
  const [response] = await Promise.all([page.waitForResponse((one) => one.url().endsWith('/whatif'), { timeout: 90_000 }), page.getByRole('button', { name: 'Compare' }).click()]);
  const answer = await response.json();
  equal(response.status(), 200, answer);
  await table(page).waitFor();
  const rows = await table(page).locator('tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));
  equal(rows[0].slice(1, 3), [String(answer.recorded.tasks), `${answer.recorded.percent.toFixed(1)} %`]);
  equal(rows.slice(1, -1).map((row) => row[0]).sort(), ['In force', 'ORDER=fifo']);
  for (const policy of answer.policies) {
    const row = rows.find(([name]) => name === (policy.inForce ? 'In force' : policy.name));
    equal(row.slice(1, 3), [String(policy.tasks), `${policy.percent.toFixed(1)} %`]);
  }
  equal(rows.at(-1)[2], `${answer.bestKnown.percent.toFixed(1)} %`);
  await page.has(answer.assumes.slice(0, 60));
  await inAFile();
});

// The same of a saved recording, in freshet ui.
async function inAFile() {
  const file = path.join(daemon.folder, 'saved.jsonl');
  const saved = spawnSync(daemon.binary, ['recording', 'save', file, '--queue', QUEUE, '--url', daemon.url], { encoding: 'utf8' });
  equal(saved.status, 0, saved.stderr);
  const child = spawn(daemon.binary, ['ui', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  let url = '';
  child.stdout.on('data', (data) => { url += data; });
  await until(() => url.includes('\n'), 'freshet ui says where it is');
  const page = await browser.page({ url: new URL(url.trim()).origin });
  try {
    await page.goto(url.trim());
    await page.getByLabel('Setting for policy 1').selectOption('ORDER');
    await form(page).locator('#whatif-1-ORDER').fill('fifo');
    await page.getByRole('button', { name: 'Compare' }).click();
    await table(page).waitFor({ timeout: 90_000 });
    const names = await table(page).locator('tbody tr').evaluateAll((all) => all.map((row) => row.cells[0].innerText.trim()));
    equal(names.slice(1, -1).sort(), ['In force', 'ORDER=fifo']);
    equal(await table(page).getByRole('columnheader').count(), 5, 'there is nothing to apply a policy to');
    equal(await browser.violations(page), []);
    await page.end();
  } finally {
    child.kill('SIGINT');
    equal(await ended, 0);
  }
}

const failed = await run(tests);
await browser.close();
await daemon.remove();
process.exit(failed ? 1 : 0);
