// The views of functions and of what calls them: each shows what the API says, and each action is checked through it.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Browser, Daemon, check, equal, run, tools, until } from './world.mjs';
import { MARKUP, Shop, button, inDialog, onPage } from './shop.mjs';

const found = tools();
const daemon = await new Shop(process.env.FRESHET_BINARY).start();
const browser = await Browser.open(found);
const shown = (test, options) => onPage(browser, daemon, test, options);
const rowOf = (page, table, text) => page.getByRole('region', { name: table }).getByRole('row').filter({ hasText: text });
const VIEWS = ['functions', 'functions/Mail', 'functions/Price', 'functions/None', 'mappings', 'topics', 'schedules'];

const tests = {
  'the list has the figures that the API has': () => shown(async (page) => {
    await daemon.publish('one');
    await daemon.publish('no server');
    const mail = await until(async () => {
      const one = await daemon.figures('Mail');
      return one.events.dropped === 1 && one;
    }, 'the mail is given up');
    equal([mail.invocations, mail.errors, mail.events.accepted, mail.events.retries], [3, 2, 2, 1]);
    await page.show('functions');
    await until(async () => /Mail.*nodejs20.x\s+0\s+3\s+2 66\.7 %\s+0\s+1\s+1/s.test(await rowOf(page, 'Functions', 'Mail').innerText()), 'its figures are shown');
    for (const name of ['Receipt', 'Report', 'Price']) await page.has(name);
    equal(await rowOf(page, 'Functions', 'Receipt').getByRole('cell').nth(2).innerText(), '0 of 2');
    check(!(await page.text()).includes('secret'), 'no environment is shown');
  }),

  'events that wait are counted': () => shown(async (page) => {
    const target = '/2017-10-31/functions/Mail/concurrency';
    await daemon.call('PUT', target, { ReservedConcurrentExecutions: 0 });
    await daemon.publish('waits');
    await page.show('functions/Mail');
    await until(async () => /\b0 of 0\s+run now/.test(await page.text()) && /\b1\s+events wait/.test(await page.text()), 'the page says so');
    equal((await daemon.figures('Mail')).events.waiting, 1);
    await daemon.raw('DELETE', target);
    await until(async () => /\b0\s+events wait/.test(await page.text()), 'it is done');
    equal((await daemon.figures('Mail')).events.waiting, 0);
  }),

  'a call shows its result with all digits, and the end of its log': () => shown(async (page) => {
    await page.show('functions/Price');
    await page.getByLabel('Payload').fill('{"pieces": 3, "note": "<b>12</b>"}');
    await page.getByRole('button', { name: 'Invoke', exact: true }).click();
    await page.has('done');
    const before = (await daemon.figures('Price')).invocations;
    equal(before, 1);
    const result = await page.locator('pre[aria-label=Result]').innerText();
    equal(JSON.parse(result).note, '<b>12</b>');
    check((await page.locator('pre[aria-label="End of its log"]').innerText()).includes('price of 3 pieces'), 'the log is there');
  }),

  'a call that fails shows its error': () => shown(async (page) => {
    await page.show('functions/Price');
    await page.getByLabel('Payload').fill(JSON.stringify({ pieces: MARKUP }));
    await page.getByRole('button', { name: 'Invoke', exact: true }).click();
    await page.has('failed (unhandled)');
    const error = JSON.parse(await page.locator('pre[aria-label=Error]').innerText());
    equal([error.errorType, error.errorMessage], ['RangeError', `an order has pieces, and not ${MARKUP}`]);
    await until(async () => (await page.getByRole('log').innerText()).includes(`RangeError: an order has pieces, and not ${MARKUP}`), 'the log has it, too');
    equal(await page.locator('#app img, #app script').count(), 0);
  }),

  'a payload that is no JSON is refused in words': () => shown(async (page) => {
    await page.show('functions/Price');
    await page.getByLabel('Payload').fill('{pieces}');
    await page.getByRole('button', { name: 'Invoke', exact: true }).click();
    await until(async () => /Could not parse request body into json/.test(await page.getByRole('alert').innerText()), 'it says so');
  }),

  'a call for later becomes an event': () => shown(async (page) => {
    const { events } = await daemon.figures('Report');
    await page.show('functions/Report');
    await page.getByLabel('Payload').fill('{"hours": 7}');
    await button(page, 'Invoke later').click();
    await page.has('queued');
    equal((await daemon.figures('Report')).events.accepted, events.accepted + 1);
    await until(async () => (await page.getByRole('log').innerText()).includes('report of 7 hours'), 'its log comes live');
  }),

  'the log has the lines of one function only, as they are written': () => shown(async (page) => {
    await daemon.publish('before');
    await until(async () => (await (await daemon.raw('GET', '/logs?newest=100&function=Mail')).text()).includes('mail: before'), 'it is in the log');
    await page.show('functions/Mail');
    const log = page.getByRole('log');
    await until(async () => (await log.innerText()).includes('mail: before'), 'what was before is there');
    const asked = [];
    page.on('request', (request) => request.url().includes('/logs') && asked.push(request.url()));
    await daemon.publish(`now ${MARKUP}`);
    await until(async () => (await log.innerText()).includes(`mail: now ${MARKUP}`), 'what is written comes');
    check(!(await log.innerText()).includes('receipt') && !(await log.innerText()).includes('report'), 'no other function speaks there');
    equal(await page.locator('#app img, #app script').count(), 0);
  }),

  'a task shows what its function has logged, and nothing of other tasks': async () => {
    const worker = new Daemon(process.env.FRESHET_BINARY);
    worker.logLevel = 'info';
    const traces = path.join(worker.folder, 'traces.jsonl');
    worker.options.push('--trace-file', traces);
    const code = path.join(worker.folder, 'work.mjs');
    fs.writeFileSync(code, `export const handler = async (task) => {
      console.log('working on ' + task.taskId);
      console.log('<b>step</b> ' + task.payload.step);
    };`);
    worker.template = path.join(worker.folder, 'jobs.yaml');
    fs.writeFileSync(worker.template, execFileSync(process.env.FRESHET_BINARY, ['serve', 'jobs', '--function', code, '--print-template']));
    await worker.start();
    try {
      await worker.call('POST', '/queues/jobs/tasks', { tasks: [{ taskId: 'order-1', payload: { step: 'one' } }, { taskId: 'order-12', payload: { step: 'two' } }] });
      await onPage(browser, worker, async (page) => {
        await page.show('queues/jobs/tasks/order-1');
        const log = page.getByRole('log', { name: 'Lines of the log about order-1' });
        await until(async () => /working on order-1\s.*<b>step<\/b> one/s.test(await log.innerText()), 'both lines are shown');
        check(!/order-12|two/.test(await log.innerText()), 'no line of another task');
        // The way to its trace: the ids of its calls, by which their spans are found.
        const calls = (await page.getByRole('region', { name: 'What was logged' }).innerText()).match(/faas.invocation_id: *([0-9a-f-]{36})$/m);
        check(calls, await page.text());
        await until(() => fs.readFileSync(traces, 'utf8').includes(`{"key":"faas.invocation_id","value":{"stringValue":"${calls[1]}"}}`), 'its span is there');
        equal(await browser.violations(page), []);
      });
    } finally {
      await worker.remove();
    }
  },

  'a mapping is disabled, falls behind, and is enabled': () => shown(async (page) => {
    await page.show('mappings');
    await button(page, 'Disable Orders').click();
    await inDialog(page, 'Disable').click();
    await until(async () => (await daemon.mapping()).state === 'Disabled', 'it is disabled');
    for (let i = 0; i < 3; ++i) await daemon.order('ada', i);
    equal((await daemon.mapping()).behind, 3);
    await page.has('3 records');
    const before = (await daemon.figures('Receipt')).invocations;
    await button(page, 'Enable Orders').click();
    await until(async () => (await daemon.mapping()).behind === 0, 'it has caught up');
    check((await daemon.figures('Receipt')).invocations > before, 'its function was called');
    await until(async () => /enabled\s+none/.test(await page.text()), 'the page says so');
  }),

  'disabling a mapping is undone': () => shown(async (page) => {
    await page.show('functions/Receipt');
    await button(page, 'Disable Orders').click();
    await inDialog(page, 'Disable').click();
    await until(async () => !(await daemon.mapping()).enabled, 'it is disabled');
    await button(page, 'Undo').click();
    await until(async () => (await daemon.mapping()).enabled, 'it is enabled');
  }),

  'topics and who gets their messages': () => shown(async (page) => {
    await page.show('topics');
    await page.has('arn:aws:sns:us-east-1:000000000000:OrderPlaced');
    await until(async () => /OrderPlaced\s+lambda\s+Mail\s+confirmed/.test(await page.text()), 'the subscription is there');
    await page.getByRole('link', { name: 'OrderPlaced', exact: true }).click();
    await page.has('of OrderPlaced');
    check(page.url().includes('topic=arn'), page.url());
    await until(async () => /OrderPlaced\s+lambda\s+Mail\s+confirmed/.test(await page.text()), 'it is of this topic');
    await page.show('topics?topic=arn%3Aaws%3Asns%3Aus-east-1%3A000000000000%3ANone');
    await page.has('Topic does not exist');
  }),

  'a schedule is run now': () => shown(async (page) => {
    const { schedules } = await daemon.call('GET', '/schedules');
    equal(schedules.map((one) => one.name), ['Hourly', 'Nightly']);
    await page.show('schedules');
    const before = (await daemon.figures('Report')).events.accepted;
    await button(page, 'Run now: Hourly').click();
    check((await page.getByRole('dialog').innerText()).includes('{"hours": 1}'), 'its input is shown');
    await inDialog(page, 'Run now').click();
    await until(async () => (await daemon.figures('Report')).events.accepted === before + 1, 'its function has an event');
    await button(page, 'Run now: Nightly').click();
    await inDialog(page, 'Run now').click();
    const log = async () => (await daemon.raw('GET', '/logs?newest=100&function=Report')).text();
    for (const words of ['report of 1 hours', 'report of 24 hours (Scheduled Event)']) await until(async () => (await log()).includes(words), words);
    equal((await daemon.call('GET', '/schedules')).schedules.map((one) => one.next), schedules.map((one) => one.next));
  }),

  'the view of a function names what calls it': () => shown(async (page) => {
    for (const [name, words] of [['Receipt', 'Orders'], ['Mail', 'OrderPlaced'], ['Report', 'Nightly'], ['Price', 'No stream, topic or schedule calls it.']]) {
      await page.show(`functions/${name}`);
      await page.has(words);
    }
    await page.show(`functions/${encodeURIComponent(MARKUP)}`);
    await page.has(`There is no function ${MARKUP}.`);
  }),

  'a keyboard is enough': () => shown(async (page) => {
    await page.show('functions/Price');
    await page.getByLabel('Payload').focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('{"pieces": 2}');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.has('39.8');
    await page.getByRole('log').focus();
    equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'log');
  }),
};

tests['each view is right for every eye, in light and dark and at every width'] = () => shown(async (page) => {
  for (const view of VIEWS) {
    await page.show(view);
    await browser.looksRight(page, `#/${view}`);
  }
  await page.show('functions/Price');
  await page.getByRole('button', { name: 'Invoke', exact: true }).click();
  await page.has('failed');
  await browser.looksRight(page, 'an answer');
  await page.show('schedules');
  await button(page, 'Run now: Hourly').click();
  await browser.looksRight(page, 'a dialog');
});

const failed = await run(tests);
await browser.close();
await daemon.remove();
process.exit(failed ? 1 : 0);
