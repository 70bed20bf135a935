// What the dashboard's tests stand on: a daemon of their own, a Chromium, and small helpers. Node.js with
// playwright-core and axe-core of build/node/ui (config/clients.txt), and Debian's Chromium.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');
export const SKIPPED = 77; // ctest's exit status for a test that is skipped.
const MODULES = process.env.FRESHET_UI_MODULES ?? path.join(ROOT, 'build/node/ui/node_modules');
// The shell is Chromium without its own windows and buttons, which a headless Chromium draws, too: half of the work.
const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const QUEUE = 'QueueTable';

function skip(why) {
  console.error(`SKIPPED: the dashboard's tests: ${why}`);
  process.exit(SKIPPED);
}

export function tools() {
  const browser = process.env.FRESHET_CHROMIUM ?? BROWSERS.find((file) => fs.existsSync(file));
  if (!browser) skip('there is no Chromium (apt-get install chromium-headless-shell)');
  for (const name of ['playwright-core', 'axe-core']) {
    if (!fs.existsSync(path.join(MODULES, name))) skip(`${name} is not installed in ${MODULES} (./test.sh installs what can be had)`);
  }
  const require = createRequire(path.join(MODULES, 'x'));
  const axe = fs.readFileSync(path.join(MODULES, 'axe-core/axe.min.js'), 'utf8');
  return { chromium: require('playwright-core').chromium, browser, axe };
}

export function check(right, ...what) {
  if (!right) throw new Error(what.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join(' '));
}
export function equal(found, wanted, what = '') {
  check(JSON.stringify(found) === JSON.stringify(wanted), what, 'found', found, 'instead of', wanted);
}

// Waits for what must come true; fails with what was found last.
export async function until(look, what, ms = 20_000) {
  const end = Date.now() + ms;
  let last;
  while (Date.now() < end) {
    try {
      last = await look();
      if (last) return last;
    } catch (error) {
      last = error.message;
    }
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  throw new Error(`not so within ${ms} ms: ${what}; last: ${JSON.stringify(last)}`);
}

export class Daemon {
  template = path.join(ROOT, 'config/lifo.yaml');
  logLevel = 'warn';

  constructor(binary, ...options) {
    this.binary = binary;
    this.options = options;
    this.isStopping = false;
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'freshet-ui-'));
    this.port = 0;
  }

  async start() {
    const ready = path.join(this.folder, 'ready');
    this.isStopping = false;
    fs.rmSync(ready, { force: true });
    const words = ['run', this.template, '--data', path.join(this.folder, 'data'), '--listen', `127.0.0.1:${this.port}`,
      '--ready-file', ready, '--log-level', this.logLevel, ...this.options];
    const log = fs.openSync(path.join(this.folder, 'log'), 'a');
    this.child = spawn(this.binary, words, { stdio: ['ignore', log, log] });
    this.ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.once('exit', (status, signal) => {
      if (!this.isStopping) console.log(`the daemon ended: ${status ?? signal}: ${fs.readFileSync(path.join(this.folder, 'log'), 'utf8').slice(-3000)}`);
    });
    await until(() => {
      check(this.child.exitCode === null, 'the daemon ended:', fs.readFileSync(path.join(this.folder, 'log'), 'utf8'));
      return fs.existsSync(ready) && fs.readFileSync(ready, 'utf8').trim();
    }, 'the daemon is ready', 60_000);
    this.url = fs.readFileSync(ready, 'utf8').trim();
    this.port = Number(new URL(this.url).port);
    return this;
  }
  async kill() {
    this.isStopping = true;
    this.child.kill('SIGKILL');
    await this.ended;
  }
  async remove() {
    this.isStopping = true;
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGTERM');
      await this.ended;
    }
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  async raw(method, target, body, headers = {}) {
    return fetch(this.url + target, { method, body: body === undefined ? undefined : JSON.stringify(body), headers, redirect: 'manual' });
  }
  async call(method, target, body) {
    const response = await this.raw(method, target, body);
    const text = await response.text();
    check(response.ok, method, target, response.status, text);
    return JSON.parse(text);
  }
  queue(what, body) {
    return this.call(body === undefined ? 'GET' : 'POST', `/queues/${QUEUE}/${what}`, body);
  }
  put(...tasks) {
    return this.queue('tasks', { tasks });
  }
  // Waits until the recording has two whole seconds: before the first one its view says that nothing is recorded yet.
  async recorded() {
    const seconds = async () => {
      const head = JSON.parse((await (await this.raw('GET', `/queues/${QUEUE}/recording`)).text()).split('\n', 1)[0]);
      return (head.to - head.from) / 1000;
    };
    await until(async () => (await seconds()) > 2, 'two seconds are recorded');
  }
  async take(max = 1, owner = undefined) {
    return (await this.queue('take', { max, ...(owner ? { owner } : {}) })).tasks;
  }
  settle(task, outcome, more = {}) {
    return this.queue('settle', { settle: [{ taskId: task.taskId, lease: task.lease, outcome, ...more }] });
  }
  async purge() {
    const states = ['PENDING', 'DELAYED', 'SUCCESS', 'FAILURE', 'DEAD', 'SHED', 'CANCELLED'];
    const { id } = await this.queue('jobs', { do: 'purge', states });
    await until(async () => (await this.queue(`jobs/${id}`)).phase === 'done', 'the purge is done');
  }
}

// Words that a table breaks in the middle, although they are short and no part of a long name.
const brokenWords = (page) => page.evaluate(() => {
  const broken = [];
  const texts = document.createTreeWalker(document.querySelector('#app'), NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (!text.parentElement.closest('td')) continue;
    for (const { 0: word, index } of text.data.matchAll(/\w+/g)) {
      const name = text.data.slice(0, index).match(/\S*$/)[0] + text.data.slice(index).match(/^\S*/)[0];
      if (word.length > 12 || name.length > 24) continue;
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (new Set([...range.getClientRects()].map((rect) => Math.round(rect.top))).size > 1) broken.push(word);
    }
  }
  return broken;
});
const WIDTHS = [1200, 800, 390];

export class Browser {
  static async open({ chromium, browser, axe }) {
    const out = new Browser();
    out.axe = axe;
    out.contexts = new Map();
    out.chromium = await chromium.launch({ executablePath: browser, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
    return out;
  }
  close() {
    return this.chromium.close();
  }
  // A page that fails its test for an error in the console, and notes the greatest number of things that it asked for.
  // Contexts of tests that passed are used again, with the cache that they have, but without cookies and storage;
  // `alone`: not this one, as the test changes something of it for good.
  async page(daemon, { dark = false, width = 1280, height = 900, alone = false } = {}) {
    const kind = `${dark} ${width} ${height}`;
    const spare = this.contexts.get(kind);
    this.contexts.delete(kind);
    const context = spare ?? (await this.chromium.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light' }));
    const page = await context.newPage();
    page.faults = [];
    page.limits = [];
    page.on('pageerror', (error) => page.faults.push(error.message));
    page.on('dialog', (dialog) => {
      page.faults.push(`a script of a task ran: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on('console', (message) => {
      // A browser tells of each request that fails; the page shows those itself.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) page.faults.push(message.text());
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.origin !== daemon.url && url.protocol !== 'data:') page.faults.push(`asked elsewhere: ${url}`);
      const limit = url.searchParams.get('limit');
      if (limit && !url.pathname.endsWith('/series')) page.limits.push(Number(limit));
      const operation = (request.headers()['x-amz-target'] ?? '').split('.').at(-1);
      if (['Scan', 'Query', 'ExecuteStatement', 'ListTables'].includes(operation)) page.limits.push(JSON.parse(request.postData()).Limit ?? Infinity);
    });
    page.show = async (view) => {
      await page.goto(`${daemon.url}/ui/#/${view}`);
      await page.locator('main h1, main h2').first().waitFor({ state: 'attached' });
    };
    // Waits until nothing that the view asks for is still to come.
    page.settled = async () => {
      await page.waitForFunction(() => !/Asking for .* …/.test(document.querySelector('main').innerText), undefined, { timeout: 20_000 });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    };
    page.text = () => page.locator('main').innerText();
    page.has = (text, ms) => until(async () => (await page.text()).includes(text), `the page shows “${text}”`, ms);
    // Nothing is wider than the window, and what scrolls sideways shows it at its edges (style.css: .scroll).
    page.fits = async (view = '') => equal(await page.evaluate(() => {
      const wider = document.documentElement.scrollWidth - window.innerWidth;
      const isUnmarked = (one) => /auto|scroll/.test(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth && !getComputedStyle(one).backgroundAttachment.includes('local');
      return [...(wider > 0 ? [`${wider} px too wide`] : []), ...[...document.querySelectorAll('main *')].filter(isUnmarked).map((one) => `no sign: ${one.getAttribute('aria-label') ?? one.className}`)];
    }), [], view);
    page.end = async () => {
      equal(page.faults, [], 'faults of the page:');
      check(Math.max(0, ...page.limits) <= 100, 'a view asked for more than 100 items:', page.limits);
      await page.evaluate(() => {
        localStorage.clear();
        sessionStorage.clear();
      });
      await page.close();
      await context.clearCookies();
      if (alone || this.contexts.has(kind)) await context.close();
      else this.contexts.set(kind, context);
    };
    return page;
  }
  // In the dark only colours differ, so only they are looked at again.
  async violations(page, { dark = false } = {}) {
    // The policy of the page lets no script in; axe comes by the debugger.
    await page.evaluate(`(() => { ${this.axe}; window.axe = axe; })()`);
    const result = await page.evaluate((isDark) => window.axe.run(document, { resultTypes: ['violations'], ...(isDark ? { runOnly: ['color-contrast'] } : {}) }), dark);
    return result.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  }
  // What the page shows is right in light and dark and at every width: axe finds nothing, no table breaks a short word, and
  // nothing is wider than the window.
  async looksRight(page, what) {
    await page.settled();
    const size = page.viewportSize();
    equal(await this.violations(page), [], what);
    await page.emulateMedia({ colorScheme: 'dark' });
    equal(await this.violations(page, { dark: true }), [], `${what} in the dark`);
    await page.emulateMedia({ colorScheme: 'light' });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: size.height });
      await page.settled();
      equal(await brokenWords(page), [], `${what} at ${width}`);
      await page.fits(`${what} at ${width}`);
    }
    await page.setViewportSize(size);
  }
}

// A test that hangs fails by its name, before the whole file's time is over.
const TEST_MS = 180_000;
async function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms);
  });
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// Runs the tests one after the other: { name: async () => … }.
export async function run(tests) {
  // A word of the command line: from the first test on whose name has it.
  const from = process.argv.slice(2).find((word) => !word.startsWith('-'));
  let failed = 0;
  let begun = !from;
  for (const [name, test] of Object.entries(tests)) {
    begun = begun || name.includes(from);
    if (!begun) continue;
    const began = Date.now();
    try {
      await within(TEST_MS, test());
      console.log(`ok   ${name} (${Date.now() - began} ms)`);
    } catch (error) {
      ++failed;
      console.log(`FAIL ${name}: ${error.stack}`);
    }
  }
  return failed;
}
