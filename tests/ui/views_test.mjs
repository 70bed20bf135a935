// Each view shows what the API says, and each action of it is checked through the API; in a real Chromium.
import { Browser, Daemon, QUEUE, check, equal, run, tools, until } from './world.mjs';

const found = tools();
const daemon = await new Daemon(process.env.FRESHET_BINARY).start();
const browser = await Browser.open(found);
const MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>';

async function shown(test, options) {
  const page = await browser.page(daemon, options);
  try {
    await test(page);
    await page.end();
  } catch (error) {
    console.log((await page.locator('body').innerText().catch(() => '')).slice(0, 1500));
    throw error;
  }
}
const depth = async (state) => (await daemon.queue('stats')).depth[state];
const button = (page, name) => page.getByRole('button', { name, exact: false }).first();
const dialog = (page, name) => page.getByRole('dialog').getByRole('button', { name });

// 120 tasks of two groups, one of them with another word.
async function hayAndNeedle() {
  await daemon.purge();
  await daemon.put(...Array.from({ length: 120 }, (_, i) => ({ taskId: `t-${i}`, group: i % 2 ? 'odd' : 'even', payload: { word: i === 77 ? 'needle' : 'hay' } })));
}

const tests = {
  'the overview says of a queue what the API says': () => shown(async (page) => {
    await daemon.put(...Array.from({ length: 7 }, (_, i) => ({ taskId: `seen-${i}`, deadlineMs: 600_000 })));
    const [one] = await daemon.take();
    await daemon.settle(one, 'complete');
    await page.show('');
    const queue = (await daemon.call('GET', '/queues')).details[0];
    equal([queue.pending, queue.lastMinute.inTime, queue.booksBalance], [6, 1, true]);
    const card = page.getByRole('article', { name: `Queue ${QUEUE}` });
    await until(async () => /Waiting\s+6\b/.test(await card.innerText()), 'six wait');
    const text = await card.innerText();
    check(/100 %/.test(text) && /of 1 task that ended/.test(text) && /Books\s+balance/.test(text), text);
    await page.has('Commit p99');
    const own = await daemon.call('GET', '/daemon');
    check((await page.text()).includes(own.version) && own.commits.reduce((sum, one) => sum + one.count, 0) > 0, JSON.stringify(own));
    check(/Memory\s+[\d.]+ [KM]iB/.test(await page.text()) && /Connections\s+\d/.test(await page.text()), await page.text());
  }),

  'a queue is paused and resumed': () => shown(async (page) => {
    await page.show('');
    await button(page, `Pause ${QUEUE}`).click();
    await page.getByLabel('Why').fill('the database is moved');
    await dialog(page, 'Pause').click();
    const pauses = await until(async () => (await daemon.queue('stats')).pauses, 'it is paused');
    equal([pauses[0].of, pauses[0].reason], ['queue', 'the database is moved']);
    await page.show(`queues/${QUEUE}`);
    await page.has('the database is moved');
    await button(page, 'Resume the whole queue').click();
    await until(async () => !(await daemon.queue('stats')).pauses, 'it goes on');
    const lines = (await daemon.call('GET', '/audit')).lines.map((line) => line.what);
    equal(lines.slice(0, 2), ['resume', 'pause']);
  }),

  'the charts show the history and move': () => shown(async (page) => {
    await page.show(`queues/${QUEUE}`);
    const plot = page.getByRole('img', { name: /^Waiting and in work/ });
    await plot.waitFor();
    const before = await depth('PENDING');
    await daemon.put({ taskId: 'moves' });
    await until(async () => (await plot.getAttribute('aria-label')).includes(`waiting ${before + 1}`), 'the chart has the new task');
    await until(async () => (await page.locator('.plot canvas').count()) === 4, 'there are four charts');
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByRole('link', { name: '1 hour' }).click();
    await until(() => asked.some((url) => url.includes('limit=3600')), 'the hour is asked for whole');
    const series = await daemon.queue('series?limit=60');
    equal(series.pending.length, series.points);
    check(series.offered.reduce((sum, one) => sum + (one ?? 0), 0) >= 1, series);
    for (const range of ['1 hour', '24 hours']) {
      await page.getByRole('link', { name: range }).click();
      await plot.waitFor();
    }
    check(page.url().endsWith('range=24h'), page.url());
  }),

  'ages of any size are drawn': () => shown(async (page) => {
    for (const minutes of [20, 600, 100_000]) {
      const item = { taskId: { S: `old-${minutes}` }, taskStatus: { S: 'PENDING' }, taskCreated: { N: String(Date.now() - minutes * 60_000) } };
      const put = await fetch(`${daemon.url}/`, {
        method: 'POST',
        headers: { 'X-Amz-Target': 'DynamoDB_20120810.PutItem', 'Content-Type': 'application/x-amz-json-1.0' },
        body: JSON.stringify({ TableName: QUEUE, Item: item }),
      });
      check(put.ok, await put.text());
      await daemon.put({ taskId: `young-${minutes}` });
      await page.show(`queues/${QUEUE}`);
      const plot = page.getByRole('img', { name: /^Age/ });
      const words = { 20: '20 min', 600: '10 h', 100_000: '69 d' }[minutes];
      await until(async () => (await plot.getAttribute('aria-label')).includes(`oldest that waits ${words}`), `the oldest is ${words} old`);
    }
  }),

  'groups are counted, paused and resumed': () => shown(async (page) => {
    await daemon.purge();
    await daemon.put(...Array.from({ length: 3 }, (_, i) => ({ taskId: `acme-${i}`, group: 'acme' })), { taskId: 'eu-1', group: 'eu' });
    await page.show(`queues/${QUEUE}/groups`);
    const row = (name) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
    await until(async () => /\b3\b/.test(await row('acme').innerText()), 'acme has three');
    const groups = (await daemon.queue('groups')).groups;
    equal(groups.find((one) => one.name === 'acme').waiting, 3);
    await button(page, 'Pause group acme').click();
    await dialog(page, 'Pause').click();
    await until(async () => (await daemon.queue('groups')).groups.find((one) => one.name === 'acme').paused, 'acme is paused');
    equal((await daemon.take(9)).map((task) => task.taskId), ['eu-1']);
    await button(page, 'Resume group acme').click();
    await until(async () => !(await daemon.queue('stats')).pauses, 'acme goes on');
  }),

  'who holds tasks is named': () => shown(async (page) => {
    await daemon.put({ taskId: 'held', key: 'k-1' });
    await daemon.take(1, 'worker-7');
    await page.show(`queues/${QUEUE}/holders`);
    await page.has('worker-7');
    const { tasks } = await daemon.queue('holders');
    equal(tasks.find((task) => task.holder === 'worker-7').taskId, 'held');
    await page.has('held');
  }),

  'sheds have their reasons and ages': () => shown(async (page) => {
    await daemon.put({ taskId: 'too-late', deadlineMs: 30 });
    await until(async () => (await daemon.queue('sheds')).total > 0, 'it is shed');
    await page.show(`queues/${QUEUE}/sheds`);
    await page.has('too-late');
    const [line] = (await daemon.queue('sheds')).sheds;
    await page.has(line.reason);
    await page.locator('.histogram tr').first().waitFor();
  }),

  'the policy is looked at, applied and undone': () => shown(async (page) => {
    await page.show(`queues/${QUEUE}/policy`);
    const before = (await daemon.queue('policy')).ORDER;
    await page.getByLabel('ORDER', { exact: true }).selectOption('fifo');
    await button(page, 'Look at the change').click();
    await until(async () => /ORDER\s+lifo\s+fifo/.test(await page.getByRole('dialog').innerText()), 'the change is shown');
    equal((await daemon.queue('policy')).ORDER, before);
    await dialog(page, 'Apply').click();
    await until(async () => (await daemon.queue('policy')).ORDER === 'fifo', 'it is applied');
    await button(page, 'Undo').click();
    await until(async () => (await daemon.queue('policy')).ORDER === before, 'it is undone');
    await page.getByLabel('MAX_ATTEMPTS', { exact: true }).fill('many');
    await button(page, 'Look at the change').click();
    await until(async () => /MAX_ATTEMPTS/.test(await page.getByRole('alert').innerText()), 'a wrong value is refused in words');
  }),

  'a task is explained, with its exact numbers': () => shown(async (page) => {
    const body = `{"taskId":"exact","payload":{"n":12345678901234567890123456789.25},"delayMs":600000}`;
    await fetch(`${daemon.url}/queues/${QUEUE}/tasks`, { method: 'POST', body });
    await page.show(`queues/${QUEUE}/tasks/exact`);
    const { reasons, life } = await daemon.queue('tasks/exact/explain');
    await page.has('12345678901234567890123456789.25');
    await page.has(life[0].message);
    await page.has(reasons[0].message.slice(0, 20));
    await button(page, 'Run now').click();
    await until(async () => (await daemon.queue('tasks/exact')).taskStatus === 'PENDING', 'it is due');
    await button(page, 'Duplicate').click();
    await dialog(page, 'Create').click();
    await until(() => !page.url().endsWith('/exact'), 'the new one is shown');
    const id = decodeURIComponent(page.url().split('/').at(-1));
    const copy = await (await daemon.raw('GET', `/queues/${QUEUE}/tasks/${id}`)).text();
    check(copy.includes('12345678901234567890123456789.25'), copy);
    await button(page, 'Cancel').click();
    await dialog(page, 'Cancel the task').click();
    await until(async () => (await daemon.queue(`tasks/${id}`)).taskStatus === 'CANCELLED', 'it is cancelled');
    await button(page, 'Put back').click();
    await until(async () => (await daemon.queue(`tasks/${id}`)).taskStatus === 'PENDING', 'it is put back');
  }),

  'a dead task is retried': () => shown(async (page) => {
    await daemon.put({ taskId: 'dies', maxAttempts: 1, priority: 100 });
    const [task] = await daemon.take();
    await daemon.settle(task, 'fail', { error: `no stock ${MARKUP}` });
    await page.show(`queues/${QUEUE}/tasks/dies`);
    await page.has(MARKUP);
    await button(page, 'Retry').click();
    await until(async () => (await daemon.queue('tasks/dies')).taskStatus === 'PENDING', 'it waits again');
  }),

  'tasks are found by state, attribute, age and text, and the address says so': () => shown(async (page) => {
    await hayAndNeedle();
    await page.show(`queues/${QUEUE}/tasks`);
    await page.has('t-119');
    await page.getByLabel('Text').fill('needle');
    await page.getByLabel('Text').press('Enter');
    await until(async () => (await page.locator('tbody tr').count()) === 1, 'one is left');
    check(page.url().includes('text=needle'), page.url());
    await page.show(`queues/${QUEUE}/tasks?state=PENDING&where.group=odd`);
    await until(async () => (await page.locator('tbody tr').count()) === 50, 'a page of them');
    check(!(await page.locator('tbody').innerText()).includes('even'), 'only those');
    await page.getByRole('link', { name: 'Look further' }).click();
    await until(async () => (await page.locator('tbody tr').count()) === 10, 'the last page');
  }),

  'marked tasks are cancelled, and all that match, counted first': () => shown(async (page) => {
    await hayAndNeedle();
    await page.show(`queues/${QUEUE}/tasks?state=PENDING&where.group=even`);
    await page.getByLabel('Mark t-118').check();
    await page.getByLabel('Mark t-116').check();
    await button(page, 'Cancel 2').click();
    await until(async () => /\b2\s+tasks match/.test(await page.getByRole('dialog').innerText()), 'they are counted');
    equal(await depth('CANCELLED'), 0);
    await dialog(page, 'Cancel 2').click();
    await until(async () => (await depth('CANCELLED')) === 2, 'two are cancelled');
    await dialog(page, 'Close').click();
    await button(page, 'Cancel all that match').click();
    await until(async () => /\b58\s+tasks match/.test(await page.getByRole('dialog').innerText()), 'they are counted');
    equal(await depth('CANCELLED'), 2);
    await dialog(page, 'Cancel 58').click();
    await until(async () => (await depth('CANCELLED')) === 60, 'they are cancelled');
    await dialog(page, 'Close').click();
    await page.show(`queues/${QUEUE}/tasks?state=CANCELLED`);
    await button(page, 'Redrive all that match').click();
    await page.getByLabel(/^At most so many a second/).fill('500');
    const isJob = (request) => request.method() === 'POST' && request.url().endsWith('/jobs') && !request.postData().includes('dryRun');
    const [sent] = await Promise.all([page.waitForRequest(isJob), dialog(page, 'Redrive 60').click()]);
    equal(JSON.parse(sent.postData()).ratePerSecond, 500);
    await until(async () => (await depth('PENDING')) === 120, 'they are back');
  }),

  'marked tasks that are delayed run now': () => shown(async (page) => {
    await daemon.purge();
    await daemon.put(...['x', 'y', 'z'].map((taskId) => ({ taskId, delayMs: 600_000 })));
    await page.show(`queues/${QUEUE}/tasks?state=DELAYED`);
    await page.getByLabel('Mark x').check();
    await page.getByLabel('Mark z').check();
    await button(page, 'Run now: 2').click();
    await until(async () => /\b2\s+tasks match/.test(await page.getByRole('dialog').innerText()), 'they are counted');
    await dialog(page, 'Run now: 2').click();
    await until(async () => (await depth('PENDING')) === 2, 'two are due');
    equal((await daemon.queue('tasks/y')).taskStatus, 'DELAYED');
  }),

  'a task that was shed is created again': () => shown(async (page) => {
    await daemon.purge();
    await daemon.put({ taskId: 'shed', delayMs: 50, deadlineMs: 51 });
    await until(async () => (await depth('SHED')) === 1, 'it is shed');
    await page.show(`queues/${QUEUE}/tasks/shed`);
    await button(page, 'Duplicate').click();
    await dialog(page, 'Create').click();
    await until(async () => (await depth('PENDING')) === 1, 'there is a new one');
  }),

  'all delayed tasks that match run now': () => shown(async (page) => {
    await daemon.purge();
    await daemon.put(...['a', 'b', 'c'].map((taskId) => ({ taskId, group: taskId === 'c' ? 'us' : 'eu', delayMs: 600_000 })));
    await page.show(`queues/${QUEUE}/tasks?state=DELAYED&where.group=eu`);
    await button(page, 'Run now: all that match').click();
    await until(async () => /\b2\s+tasks match/.test(await page.getByRole('dialog').innerText()), 'they are counted');
    equal(await depth('DELAYED'), 3);
    await dialog(page, 'Run now: 2').click();
    await until(async () => (await depth('PENDING')) === 2, 'two are due');
    equal((await daemon.queue('tasks/c')).taskStatus, 'DELAYED');
  }),

  'tasks are duplicated with changes: marked ones, and all that match': () => shown(async (page) => {
    await daemon.purge();
    await daemon.put(...['a', 'b', 'c'].map((taskId) => ({ taskId, payload: { of: taskId }, group: 'eu', key: `key-${taskId}` })));
    await page.show(`queues/${QUEUE}/tasks?state=PENDING`);
    await page.getByLabel('Mark a').check();
    await page.getByLabel('Mark c').check();
    await button(page, 'Duplicate 2').click();
    await page.getByLabel(/^Set in each copy/).fill('["no object"]');
    await dialog(page, 'Duplicate 2').click();
    await until(async () => /must be an object/.test(await page.getByRole('alert').innerText()), 'what is wrong is said');
    equal(await depth('PENDING'), 3);
    await page.getByLabel(/^Set in each copy/).fill('{"group": "us", "attributes": {"n": 12345678901234567890123456789.25}}');
    await dialog(page, 'Duplicate 2').click();
    await until(async () => (await depth('PENDING')) === 5, 'two more wait');
    const tasks = async (where) => (await daemon.queue(`tasks?state=PENDING&${where}`)).tasks;
    const copies = await tasks('where.group=us');
    equal(copies.map((task) => task.payload.of).sort().join(), 'a,c');
    check(copies.every((task) => !task.key), 'no copy has a key');
    const text = await (await daemon.raw('GET', `/queues/${QUEUE}/tasks/${copies[0].taskId}`)).text();
    check(text.includes('12345678901234567890123456789.25'), text);
    await dialog(page, 'Close').click();
    await page.show(`queues/${QUEUE}/tasks?state=PENDING&where.group=eu`);
    await button(page, 'Duplicate all that match').click();
    await dialog(page, 'Duplicate 3').click();
    await until(async () => (await tasks('where.group=eu')).length === 6, 'all have a copy');
  }),

  'ten thousand tasks are cancelled': () => shown(async (page) => {
    for (let i = 0; i < 10; ++i) await daemon.put(...Array.from({ length: 1000 }, (_, j) => ({ taskId: `many-${i}-${j}`, group: 'many' })));
    await page.show(`queues/${QUEUE}/tasks?state=PENDING&where.group=many`);
    await button(page, 'Cancel all that match').click();
    await dialog(page, 'Cancel 10,000').click();
    await until(async () => (await depth('CANCELLED')) === 10_000, 'they are cancelled', 60_000);
  }),

  'a purge needs the name of the queue': () => shown(async (page) => {
    await page.show(`queues/${QUEUE}`);
    await button(page, 'Purge').click();
    await page.getByLabel('CANCELLED', { exact: true }).check();
    await dialog(page, 'Count them').click();
    const remove = dialog(page, /^Remove for good/);
    await until(async () => /10,000\s+tasks match/.test(await page.getByRole('dialog').innerText()), 'they are counted');
    check(await remove.isDisabled(), 'the name is not typed yet');
    await page.getByLabel(/^Type/).fill(QUEUE);
    await remove.click();
    await until(async () => (await depth('CANCELLED')) === 0, 'they are gone', 60_000);
  }),

  'names, errors and payloads with markup stay text': () => shown(async (page) => {
    await daemon.put({ taskId: MARKUP, group: MARKUP.slice(0, 60), key: MARKUP, payload: { html: MARKUP }, attributes: { note: MARKUP } });
    await daemon.queue('pause', { group: 'eu', reason: MARKUP });
    for (const view of ['', `queues/${QUEUE}`, `queues/${QUEUE}/tasks`, `queues/${QUEUE}/groups`, `queues/${QUEUE}/tasks/${encodeURIComponent(MARKUP)}`, `queues/${encodeURIComponent(MARKUP)}`, 'audit']) {
      await page.show(view);
      await page.settled();
      equal(await page.locator('#app img, #app script').count(), 0, view);
    }
    await page.show(`queues/${QUEUE}/tasks/${encodeURIComponent(MARKUP)}`);
    await page.has(MARKUP);
    await daemon.queue('resume', { group: 'eu' });
  }),

  'a keyboard is enough': () => shown(async (page) => {
    await page.show('');
    await page.locator('article').first().waitFor();
    await page.keyboard.press('Tab');
    equal(await page.evaluate(() => document.activeElement.textContent), 'To the content');
    await page.keyboard.press('Enter');
    equal(await page.evaluate(() => document.activeElement.id), 'main');
    await page.getByRole('button', { name: `Pause ${QUEUE}` }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await until(async () => (await page.getByRole('dialog').count()) === 0, 'Escape closes it');
    // The browser gives the keyboard back in its next frame.
    await until(() => page.evaluate((name) => document.activeElement.getAttribute('aria-label') === name, `Pause ${QUEUE}`), 'the button has the keyboard again');
  }),
};

const VIEWS = ['', `queues/${QUEUE}`, ...['groups', 'holders', 'sheds', 'tasks', 'recording', 'policy', 'audit'].map((tab) => `queues/${QUEUE}/${tab}`), `queues/${QUEUE}/tasks/t-1`, 'audit', 'schedules'];
tests['each view is right for every eye, in light and dark and at every width'] = () => shown(async (page) => {
  for (const view of VIEWS) {
    await page.show(view);
    await browser.looksRight(page, `#/${view}`);
  }
});
tests['and so is a dialog'] = () => shown(async (page) => {
  await page.show(`queues/${QUEUE}`);
  await button(page, 'Purge').click();
  await browser.looksRight(page, 'a dialog');
});
tests['an address without a page says so'] = () => shown(async (page) => {
  for (const view of ['frobnicate', `queues/${QUEUE}/frobnicate`]) {
    await page.show(view);
    await page.has('There is no page at this address');
  }
  await page.show('queues');
  await page.has('Commit p99');
});

tests['the daemon dies and comes back, and the page goes on'] = () => shown(async (page) => {
  await page.show(`queues/${QUEUE}`);
  await page.getByRole('img', { name: /^Waiting/ }).waitFor();
  await daemon.kill();
  await page.getByText('The daemon has not answered').waitFor();
  await daemon.start();
  await until(async () => (await page.getByText('The daemon has not answered').count()) === 0, 'the message goes');
  await daemon.put({ taskId: 'after' });
  const waiting = await depth('PENDING');
  await until(async () => (await page.getByRole('img', { name: /^Waiting/ }).getAttribute('aria-label')).includes(`waiting ${waiting},`), 'the charts go on');
  page.faults.length = 0; // The browser tells of each connection that was refused.
});

const failed = await run(tests);
await browser.close();
await daemon.remove();
process.exit(failed ? 1 : 0);
