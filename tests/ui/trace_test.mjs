// The trace of a task: its attempts, and what went on below them, as the API says. A daemon that traces nothing has none.
import http from 'node:http';
import path from 'node:path';
import { Browser, Daemon, QUEUE, equal, run, tools, until } from './world.mjs';
import { MARKUP, onPage } from './shop.mjs';

const found = tools();
let calls = 0;
const handler = http.createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(++calls === 1 ? 500 : 200);
    response.end(calls === 1 ? MARKUP : 'done');
  });
});
await new Promise((resolve) => handler.listen(0, '127.0.0.1', resolve));
const daemon = new Daemon(process.env.FRESHET_BINARY, '--set', `ProcessTasksFunction.TASK_RUNNER=http://127.0.0.1:${handler.address().port}/work`,
  '--set', 'ProcessTasksFunction.MAX_ATTEMPTS=2', '--set', 'ProcessTasksFunction.BACKOFF_BASE_MS=10');
daemon.options.push('--trace-file', path.join(daemon.folder, 'traces'));
await daemon.start();
const browser = await Browser.open(found);
await daemon.put({ taskId: 'twice' });
await until(async () => (await daemon.queue('tasks/twice')).taskStatus === 'SUCCESS', 'it is done at its second attempt');
const trace = await until(async () => {
  const answer = await daemon.queue('tasks/twice/trace');
  return answer.spans.length === 4 && answer;
}, 'its spans have come');

const region = (page) => page.getByRole('region', { name: 'Its trace' });
const tests = {
  'the API has two attempts, each with its request': () => {
    equal(trace.traced, true);
    equal(trace.spans.map((span) => span.kind), ['attempt', 'request', 'attempt', 'request']);
    equal(trace.spans[1].parentId, trace.spans[0].spanId);
    equal(trace.spans.filter((span) => span.kind === 'attempt').map((span) => span.attributes), [1, 2].map((number) => ({ 'freshet.queue': QUEUE, 'freshet.task_id': 'twice', 'freshet.attempt': String(number) })));
    equal(trace.spans[0].error, `the handler answered 500: ${MARKUP}`);
  },

  'the page shows them, and texts stay texts': () => onPage(browser, daemon, async (page) => {
    await page.show(`queues/${QUEUE}/tasks/twice`);
    await region(page).waitFor();
    const text = await region(page).innerText();
    for (const part of ['Attempt 1', 'Attempt 2', '/work', 'status 500', MARKUP, trace.spans[0].traceId]) equal(text.includes(part), true, part);
    equal(await browser.violations(page), []);
  }),

  'nothing is wider than a narrow screen': () => onPage(browser, daemon, async (page) => {
    await page.show(`queues/${QUEUE}/tasks/twice`);
    await region(page).waitFor();
    await page.fits();
  }, { width: 390 }),

  'axe finds nothing in the dark': () => onPage(browser, daemon, async (page) => {
    await page.show(`queues/${QUEUE}/tasks/twice`);
    await region(page).waitFor();
    equal(await browser.violations(page, { dark: true }), []);
  }, { dark: true }),

  'without traces there is no trace': async () => {
    const plain = await new Daemon(process.env.FRESHET_BINARY, '--set', 'ProcessTasksFunction.TASK_RUNNER=none').start();
    try {
      await plain.put({ taskId: 'one' });
      equal(await plain.queue('tasks/one/trace'), { traced: false, spans: [], more: false });
      await onPage(browser, plain, async (page) => {
        await page.show(`queues/${QUEUE}/tasks/one`);
        await page.getByRole('region', { name: 'Its life' }).waitFor();
        equal(await region(page).count(), 0);
      });
    } finally {
      await plain.remove();
    }
  },
};

const failed = await run(tests);
await browser.close();
await daemon.remove();
handler.close();
process.exit(failed ? 1 : 0);
