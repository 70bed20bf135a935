// The view of the flight recorder's last hour: what it shows at a second is what the overview showed then, for eyes,
// keyboards and screen readers; in a real Chromium.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Browser, Daemon, QUEUE, ROOT, check, equal, run, tools, until } from './world.mjs';

const found = tools();
const browser = await Browser.open(found);
const daemon = await new Daemon(process.env.FRESHET_BINARY).start();
const MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>';
const VIEW = `queues/${QUEUE}/recording`;

async function shown(test, options) {
  const page = await browser.page(daemon, options);
  try {
    await test(page);
    await page.end();
  } catch (error) {
    console.log((await page.locator('body').innerText().catch(() => '')).slice(0, 2500));
    throw error;
  }
}
const slider = (page) => page.getByRole('slider', { name: 'Moment' });
const card = (page) => page.getByRole('article', { name: `Queue ${QUEUE} at` });
// A page that only gets another hash shows the old moment for a while; a new document has none.
const open = async (page, query = '') => {
  await page.goto('about:blank');
  await page.show(`${VIEW}${query}`);
  await slider(page).waitFor();
};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Rows of a card, by name.
const factsOf = (article) => article.evaluate((element) => Object.fromEntries([...element.querySelectorAll('.facts div')].map((row) => [row.querySelector('dt').textContent, row.querySelector('dd').textContent.replace(/\s+/g, ' ').trim()])));
const shareOf = (article) => article.locator('.share').innerText();

// What the overview shows while nothing happens: its card, the API's answer, and a whole second (epoch ms) at which both
// hold.
async function seen(page) {
  const at = Math.ceil((Date.now() + 500) / 1000) * 1000;
  await pause(at + 500 - Date.now());
  const api = (await daemon.call('GET', '/queues')).details[0];
  await page.goto('about:blank'); // The page asks anew.
  await page.show('');
  const article = page.getByRole('article', { name: `Queue ${QUEUE}` });
  await article.waitFor();
  return { at, api, facts: await factsOf(article), share: await shareOf(article) };
}

// Several states of the queue, one after the other, each as the overview showed it.
async function history() {
  const page = await browser.page(daemon);
  const moments = [];
  await daemon.put(...Array.from({ length: 7 }, (_, i) => ({ taskId: `a-${i}`, deadlineMs: 600_000, group: MARKUP.slice(0, 60) })));
  const [one, two] = await daemon.take(2);
  await daemon.settle(one, 'complete');
  moments.push(await seen(page));
  await daemon.settle(two, 'fail', { error: MARKUP });
  await daemon.put({ taskId: 'short', deadlineMs: 200 }, { taskId: 'later', delayMs: 600_000 });
  await until(async () => {
    const { depth } = await daemon.queue('stats');
    return depth.SHED === 1 && depth.DELAYED === 1;
  }, 'one is shed, and the failed one waits again');
  await daemon.queue('policy', { ORDER: 'fifo', MAX_WAITING: '20' });
  moments.push(await seen(page));
  const many = await daemon.raw('POST', `/queues/${QUEUE}/tasks`, { tasks: Array.from({ length: 40 }, (_, i) => ({ taskId: `b-${i}` })) });
  check(many.ok, await many.text());
  // Refusals are noted once a second.
  await until(async () => (await daemon.queue('series?limit=60')).refused['max-waiting'].some((one) => one > 0), 'the refusals are noted');
  const late = await daemon.take(3);
  check(late.length === 3, late);
  for (const task of late) await daemon.settle(task, 'complete');
  await daemon.take(2);
  moments.push(await seen(page));
  await daemon.queue('pause', { reason: 'a test' });
  moments.push(await seen(page));
  await daemon.queue('resume', {});
  await page.end();
  return moments;
}
const moments = await history();

const tests = {
  'each moment is what the overview showed then': () => shown(async (page) => {
    for (const { at, api, facts, share } of moments) {
      await open(page, `?at=${at}`);
      await until(async () => (await slider(page).getAttribute('aria-valuetext')) !== null, 'the slider is there');
      const then = await factsOf(card(page));
      const shareThen = await shareOf(card(page));
      // Less than a minute of the recording has gone, and the card says so.
      const words = (text) => text.replace(/the last minute|the \d+ seconds? since the recording begins/g, 'SPAN');
      equal(words(shareThen), words(share), at);
      for (const name of ['Waiting', 'Shed', 'Late, failed, refused']) equal(words(then[name]), words(facts[name]), `${name} at ${at}`);
      equal(then['In work'].split(' ')[0], String(api.taken));
      check('Books' in facts && !('Books' in then), then);
      equal((await card(page).locator('.status').allInnerTexts()).join(''), api.state === 'paused' ? 'paused' : '');
    }
    equal(moments.map(({ api }) => api.state), ['running', 'running', 'running', 'paused']);
    equal(moments.map(({ api }) => [api.pending, api.taken, api.lastMinute.inTime, api.lastMinute.refused > 0]),
      [[5, 1, 1, false], [moments[1].api.pending, 0, 1, false], [moments[2].api.pending, 2, 4, true], [moments[2].api.pending, 2, 4, true]]);
  }),

  'ages are those of the API': () => shown(async (page) => {
    for (const { at } of moments) {
      await open(page, `?at=${at}`);
      const recorded = await page.evaluate(async ([queue, at]) => {
        const folder = document.querySelector('script').src.replace(/main\.js$/, '');
        const { readRecording } = await import(`${folder}lib/recording_read.js`);
        const all = await readRecording(queue);
        return all.at(all.indexOf(at));
      }, [QUEUE, at]);
      // A reading is made at whole seconds of another clock, so the point beside it may be the one.
      const series = await daemon.queue('series?limit=300');
      const index = Math.floor((at - series.begins) / 1000);
      const near = [index - 1, index, index + 1];
      for (const [name, age] of [['oldestAgeMs', recorded.oldestAgeMs], ['newestAgeMs', recorded.newestAgeMs]]) {
        // The time at which it came.
        const came = near.map((one) => series.begins + (one + 1) * 1000 - series[name][one]);
        check(came.some((one) => Math.abs(one - (at - age)) <= 1000), name, came, at - age);
      }
      check(near.some((one) => series.pending[one] === recorded.pending && series.inWork[one] === recorded.taken), series.pending, recorded);
      equal(await factsOf(card(page)).then((facts) => facts['Newest waits'] !== '–'), true);
    }
  }),

  'limits and changes of the policy are shown': () => shown(async (page) => {
    await open(page, `?at=${moments[2].at}`);
    const events = page.locator('.events');
    await until(async () => /ORDER lifo → fifo/.test(await events.innerText()), 'the change is named');
    check(/the queue was paused[^]*the queue was resumed/.test(await events.innerText()), await events.innerText());
    await events.getByRole('link').first().click();
    await until(async () => /at=\d+/.test(page.url()) && Number(page.url().match(/at=(\d+)/)[1]) < moments[1].at, 'it is the moment of the change');
    await until(async () => (await events.locator('[aria-current]').count()) === 1, 'the change is marked');
  }),

  'a keyboard moves it by a second and by a minute': () => shown(async (page) => {
    await open(page);
    const value = async () => Number(await slider(page).inputValue());
    const most = Number(await slider(page).getAttribute('max'));
    equal(await value(), most, 'it begins at the end');
    check((await slider(page).getAttribute('aria-valuetext')).endsWith('the end'));
    await slider(page).focus();
    for (const [key, wanted] of [['ArrowLeft', most - 1], ['ArrowDown', most - 2], ['ArrowRight', most - 1], ['ArrowUp', most], ['ArrowRight', most],
      ['Home', 0], ['ArrowLeft', 0], ['ArrowRight', 1], ['PageUp', Math.min(most, 61)], ['PageDown', Math.max(0, Math.min(most, 61) - 60)], ['End', most]]) {
      await page.keyboard.press(key);
      equal(await value(), wanted, key);
    }
    await page.keyboard.press('Home');
    check(/before the end$/.test(await slider(page).getAttribute('aria-valuetext')), await slider(page).getAttribute('aria-valuetext'));
    await until(() => /at=\d+/.test(page.url()), 'the address has the moment');
  }),

  'a link leads to the moment, and back leads back': () => shown(async (page) => {
    await open(page, `?at=${moments[0].at}`);
    const first = await factsOf(card(page));
    await slider(page).focus();
    await page.keyboard.press('ArrowRight');
    await until(() => page.url().endsWith(`at=${moments[0].at + 1000}`), 'the address follows');
    const other = await browser.page(daemon);
    await other.goto(page.url());
    await slider(other).waitFor();
    equal(await slider(other).inputValue(), await slider(page).inputValue());
    await other.end();
    await page.evaluate((at) => { location.hash = location.hash.replace(/at=\d+/, `at=${at}`); }, moments[1].at);
    await until(async () => JSON.stringify(await factsOf(card(page))) !== JSON.stringify(first), 'it goes to the other moment');
    await page.goBack();
    await until(() => page.url().endsWith(`at=${moments[0].at + 1000}`), 'back');
    await open(page, '?at=1000');
    await page.has('The recording does not have');
    equal(await slider(page).inputValue(), '0');
  }),

  'it plays, and stops at the end': () => shown(async (page) => {
    await open(page);
    const most = Number(await slider(page).getAttribute('max'));
    const value = async () => Number(await slider(page).inputValue());
    // The first step: the page may begin to play a moment after the click.
    const begins = async (from) => {
      for (let i = 0; i < 100 && (await value()) === from; ++i) await page.clock.runFor(25);
      equal(await value(), from + 1);
    };
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 1000); // From here on only the test lets time pass.
    await slider(page).focus();
    for (let i = 0; i < 5; ++i) await page.keyboard.press('ArrowLeft');
    await page.getByRole('button', { name: 'Play 1×' }).click();
    await begins(most - 5);
    await page.clock.runFor(2000);
    equal(await value(), most - 2);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.clock.runFor(5000);
    equal(await value(), most - 2);
    await slider(page).focus();
    await page.keyboard.press('Home');
    await page.getByRole('button', { name: 'Play 10×' }).click();
    await begins(0);
    await page.clock.runFor(300);
    equal(await value(), 4);
    await page.clock.runFor(100 * most);
    equal(await value(), most);
    equal(await page.getByRole('button', { name: 'Stop' }).count(), 0);
  }, { alone: true }),

  'the charts say the moment, and a click in one goes there': () => shown(async (page) => {
    await open(page, `?at=${moments[0].at}`);
    const plot = page.getByRole('img', { name: /^Waiting and in work/ });
    await until(async () => /At the moment that is shown: waiting 5, .*in work 1/.test(await plot.getAttribute('aria-label')), 'the chart says it');
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.locator('.u-over').boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    const most = Number(await slider(page).getAttribute('max'));
    await until(async () => Math.abs(Number(await slider(page).inputValue()) - most / 2) <= 1, 'the moment is in the middle');
    const mark = await plot.locator('.mark').boundingBox();
    check(Math.abs(mark.x - (box.x + box.width / 2)) < box.width / most + 3, mark, box);
  }),

  'the export is the recording': () => shown(async (page) => {
    await open(page);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
    equal(download.suggestedFilename(), `${QUEUE}-recording.jsonl`);
    const lines = fs.readFileSync(await download.path(), 'utf8').trim().split('\n').map(JSON.parse);
    equal([lines[0].freshet, lines[0].queue], ['recording', QUEUE]);
    equal(lines.filter((line) => line.to === 'SHED').length, 1);
    equal(lines.filter((line) => line.waits === 'DELAYED').length, 1);
  }),

  'a queue without a recording says so': () => shown(async (page) => {
    await page.show(`queues/${encodeURIComponent(MARKUP)}/recording`);
    await page.has('there is no queue');
    equal(await page.locator('#app img, #app script').count(), 0);
  }),
};
for (const dark of [false, true]) {
  tests[`axe finds nothing, ${dark ? 'dark' : 'light'}`] = () => shown(async (page) => {
    await open(page, `?at=${moments[1].at}`);
    equal(await browser.violations(page), []);
  }, { dark });
}
tests['nothing is wider than a narrow screen'] = () => shown(async (page) => {
  await open(page);
  await page.fits();
}, { width: 390 });

// The commands that docs/dashboard.md prints for a saved recording, in their order.
const commands = [...fs.readFileSync(path.join(ROOT, 'docs/dashboard.md'), 'utf8').matchAll(/^    freshet (.*)$/gm)].map(([, words]) => words.split(' '));
const folder = fs.mkdtempSync(path.join(daemon.folder, 'saved-'));

// freshet ui with these words: { url, end() }, or its exit status and message.
async function ui(...words) {
  const child = spawn(daemon.binary, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, errors] = ['', ''];
  child.stdout.on('data', (data) => { out += data; });
  child.stderr.on('data', (data) => { errors += data; });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await until(() => out.includes('\n') || child.exitCode !== null, 'freshet ui says where it is');
  if (child.exitCode !== null) return { status: await ended, errors };
  const end = async (signal = 'SIGINT') => {
    child.kill(signal);
    return ended;
  };
  return { url: new URL(out.trim()).origin, end };
}

// What a view of a file shows, and that it shows nothing else.
async function looksAt(words, look) {
  const server = await ui(...words);
  check(server.url, server);
  const page = await browser.page(server);
  try {
    await page.goto(`${server.url}/`);
    await slider(page).waitFor();
    await page.has(`You look at the file ${words[1]}`);
    equal(await page.getByRole('navigation', { name: 'Views' }).innerText(), 'Recording');
    equal(await page.getByRole('button', { name: 'Export' }).count(), 0);
    await look(page, server);
    equal(await browser.violations(page), []);
    await page.end();
    const other = await fetch(`${server.url}/queues`);
    equal(other.status, 404);
    check((await other.json()).error.message.includes('this is not a daemon'));
    equal((await fetch(`${server.url}/session`, { method: 'POST', headers: { Origin: 'http://elsewhere.example' } })).status, 403);
  } finally {
    equal(await server.end(), 0, 'Ctrl-C ends it');
  }
}
const openAt = async (page, server, at) => {
  await page.goto('about:blank');
  await page.goto(`${server.url}/ui/#/?at=${at}`);
  await slider(page).waitFor();
};
const words = (text) => text.replace(/the last minute|the \d+ seconds? since the recording begins/g, 'SPAN');

Object.assign(tests, {
  'a saved recording shows the same, without a daemon': async () => {
    equal(commands.map(([name]) => name), ['recording', 'ui']);
    const saved = spawnSync(daemon.binary, commands[0], { cwd: folder, env: { ...process.env, FRESHET_URL: daemon.url }, encoding: 'utf8' });
    equal(saved.status, 0, saved.stderr);
    await looksAt(commands[1], async (page, server) => {
      await page.has('has no limits, refused creations');
      for (const { at, facts, share } of moments) {
        await openAt(page, server, at);
        const then = await factsOf(card(page));
        equal(words(await shareOf(card(page))), words(share), at);
        for (const name of ['Waiting', 'Shed']) equal(words(then[name]), words(facts[name]), `${name} at ${at}`);
        equal(then['In work'], facts['In work']);
        check(words(then['Late, failed, refused']).startsWith(facts['Late, failed, refused'].split(', ').slice(0, 2).join(', ')), then, facts);
      }
      check(/ORDER lifo → fifo/.test(await page.locator('.events').innerText()));
    });
  },

  'an export shows the same, with what was refused': async () => {
    const page = await browser.page(daemon);
    await open(page);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
    await download.saveAs(path.join(folder, 'export.jsonl'));
    await page.end();
    await looksAt(['ui', 'export.jsonl', '--port', '0'], async (shown, server) => {
      equal(await shown.getByText('has no limits').count(), 0);
      for (const { at, facts } of moments) {
        await openAt(shown, server, at);
        const then = await factsOf(card(shown));
        for (const name of ['Waiting', 'Shed', 'Late, failed, refused']) equal(words(then[name]), words(facts[name]), `${name} at ${at}`);
      }
    });
    const simulated = spawnSync(daemon.binary, ['simulate', 'export.jsonl', '--json'], { cwd: folder, encoding: 'utf8' });
    equal(simulated.status, 0, simulated.stderr);
    equal(JSON.parse(simulated.stdout).recorded.done, 4);
  },

  'markup in the names of a file stays text': async () => {
    const [head, ...rest] = fs.readFileSync(path.join(folder, 'export.jsonl'), 'utf8').split('\n');
    const name = '<img src=x onerror=alert(1)>.jsonl';
    fs.writeFileSync(path.join(folder, name), [JSON.stringify({ ...JSON.parse(head), queue: MARKUP }), JSON.stringify({ at: moments[0].at, paused: 'group', name: MARKUP }), ...rest].join('\n'));
    await looksAt(['ui', name], async (page) => {
      await page.has(MARKUP);
      check((await page.locator('.events').innerText()).includes(`group ${MARKUP} was paused`));
      equal(await page.locator('#app img, #app script').count(), 0);
    });
  },

  'a wrong file is refused with its line': async () => {
    const text = fs.readFileSync(path.join(folder, 'export.jsonl'), 'utf8');
    fs.writeFileSync(path.join(folder, 'wrong.jsonl'), `${text}{"at":\n`);
    for (const [file, message] of [['wrong.jsonl', `wrong.jsonl:${text.split('\n').length}: `], ['none.jsonl', "cannot read 'none.jsonl'"]]) {
      const refused = await ui('ui', file);
      equal(refused.status, 2, refused);
      check(refused.errors.includes(message), refused.errors);
    }
  },
});

const failed = await run(tests);
await browser.close();
await daemon.remove();
process.exit(failed ? 1 : 0);
