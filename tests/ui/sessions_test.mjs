// Signing in to the dashboard of a daemon with keys: who gets in, for how long, and what a role may do.
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { Browser, Daemon, QUEUE, check, equal, run, tools, until } from './world.mjs';

const found = tools();
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'freshet-ui-keys-'));
const keys = path.join(folder, 'keys');
fs.writeFileSync(keys, `[default]
aws_access_key_id = AKIDADMIN
aws_secret_access_key = the/secret+of=admin
[reader]
aws_access_key_id = AKIDREADER
aws_secret_access_key = reads
freshet_role = read
`, { mode: 0o600 });
const ADMIN = ['AKIDADMIN', 'the/secret+of=admin'];
const READER = ['AKIDREADER', 'reads'];
const IDLE_MS = 10_000;
const pausePath = `/queues/${QUEUE}/pause`;

const daemon = await new Daemon(process.env.FRESHET_BINARY, '--credentials', keys).start();
const browser = await Browser.open(found);

// As the page does, without the page.
async function cookieOf([id, secret], at = daemon) {
  const response = await at.raw('POST', '/session', { accessKeyId: id, secretAccessKey: secret }, { 'Content-Type': 'application/json' });
  equal(response.status, 200);
  return response.headers.get('set-cookie').split(';')[0];
}
async function isPaused() {
  const response = await daemon.raw('GET', `/queues/${QUEUE}/stats`, undefined, { Cookie: await cookieOf(ADMIN) });
  return Boolean((await response.json()).pauses);
}
async function signIn(page, [id, secret]) {
  await page.getByLabel('Access key id').fill(id);
  await page.getByLabel('Secret access key').fill(secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
}
async function opened(test, view = '', at = daemon) {
  const page = await browser.page(at);
  try {
    await page.goto(`${at.url}/ui/#/${view}`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    check(!(await page.text()).includes('has the role'), 'nobody has signed in, so no key has a role');
    await test(page);
    await page.end();
  } catch (error) {
    console.log((await page.locator('body').innerText().catch(() => '')).slice(0, 1500));
    throw error;
  }
}
// A page of another port with two forms: one would pause the queue, the other asks this site which cookies came with it.
async function otherSite(test) {
  const site = http.createServer((request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' });
    if (request.url === '/witness') return response.end(`<p>${(request.headers.cookie ?? '').includes('freshet-session') ? 'with' : 'without'} a session</p>`);
    const form = (name, action, field) => `<form method="post" enctype="text/plain" action="${action}">${field}<button>${name}</button></form>`;
    return response.end(form('pause', daemon.url + pausePath, `<input name='{"reason":"' value='"}'>`)
      + form('ask', `http://127.0.0.1:${site.address().port}/witness`, ''));
  });
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  try {
    await test(site.address().port);
  } finally {
    site.closeAllConnections();
    site.close();
  }
}

const failed = await run({
  'nothing is shown before somebody signs in, and the form is for everybody': () => opened(async (page) => {
    for (const target of ['/queues', '/daemon', '/metrics', `/queues/${QUEUE}/series`, '/schedules', '/functions', '/mappings', '/settings', '/audit', '/session']) {
      equal((await daemon.raw('GET', target)).status, 403, target);
    }
    check(!(await page.locator('body').innerText()).includes(QUEUE), 'no name of a queue');
    equal(await browser.violations(page), []);
    await page.getByLabel('Access key id').focus();
    await page.keyboard.type(ADMIN[0]);
    await page.keyboard.press('Tab');
    await page.keyboard.type(ADMIN[1]);
    await page.keyboard.press('Enter');
    await page.has(QUEUE);
    equal(await browser.violations(page), []);
  }),

  'a wrong secret is told, and the right one goes on to the view of the address': () => opened(async (page) => {
    await signIn(page, ['AKIDADMIN', 'wrong']);
    await page.getByRole('alert').getByText('the access key id or the secret is wrong').waitFor();
    equal(await browser.violations(page), []);
    await signIn(page, ADMIN);
    await page.getByRole('heading', { name: 'Audit' }).first().waitFor();
    check(page.url().endsWith('#/audit'), page.url());
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    equal(await page.evaluate(() => document.cookie), '', 'scripts cannot read the cookie');
    const [cookie] = await page.context().cookies();
    equal([cookie.name, cookie.httpOnly, cookie.sameSite, cookie.path, cookie.value.length], [`freshet-session-${daemon.port}`, true, 'Strict', '/', 64]);
  }, 'audit'),

  'a change has the name of the key in the audit log': () => opened(async (page) => {
    await signIn(page, ADMIN);
    await page.getByRole('button', { name: `Pause ${QUEUE}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await until(isPaused, 'it is paused');
    await page.getByRole('button', { name: `Resume ${QUEUE}` }).click();
    await until(async () => !(await isPaused()), 'it goes on');
    const audit = await daemon.raw('GET', '/audit?limit=2', undefined, { Cookie: await cookieOf(ADMIN) });
    equal((await audit.json()).lines.map((line) => [line.what, line.who]), [['resume', 'AKIDADMIN'], ['pause', 'AKIDADMIN']]);
  }),

  'signing out ends the session': () => opened(async (page) => {
    await signIn(page, ADMIN);
    await page.has(QUEUE);
    const [cookie] = await page.context().cookies();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You have signed out.').waitFor();
    equal(await page.context().cookies(), []);
    const old = await daemon.raw('GET', '/queues', undefined, { Cookie: `${cookie.name}=${cookie.value}` });
    equal([old.status, (await old.json()).error.code], [403, 'ExpiredTokenException']);
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  }),

  'a reader sees everything, and what it may not do is off and says why': () => opened(async (page) => {
    await signIn(page, READER);
    const pause = page.getByRole('button', { name: 'Pause …' });
    await pause.waitFor();
    await page.getByText('it may look, and change nothing').waitFor();
    for (const name of ['Pause …', 'Purge …']) {
      const button = page.getByRole('button', { name });
      check(await button.isDisabled(), name);
      equal(await button.getAttribute('title'), 'The key AKIDREADER has the role read. This needs the role operate.');
    }
    equal(await browser.violations(page), []);
    // The page's buttons are a courtesy: the daemon refuses.
    const answers = await page.evaluate(async (paths) => {
      const out = [];
      for (const path of paths) out.push((await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })).status);
      return out;
    }, [pausePath, `/queues/${QUEUE}/tasks`, `/queues/${QUEUE}/policy`, `/queues/${QUEUE}/jobs`, '/deploy']);
    equal(answers, [403, 403, 403, 403, 403]);
    check(!(await isPaused()), 'nothing was paused');
  }, `queues/${QUEUE}`),

  'with the cookie other pages and programs that say nothing change nothing': async () => {
    const Cookie = await cookieOf(ADMIN);
    const ask = async (headers) => (await daemon.raw('POST', pausePath, {}, { Cookie, 'Content-Type': 'text/plain', ...headers })).status;
    for (const headers of [{}, { Origin: 'http://evil.example' }, { Origin: `http://127.0.0.1:${daemon.port + 1}` }, { Origin: 'null' }]) {
      equal(await ask(headers), 403, JSON.stringify(headers));
    }
    check(!(await isPaused()), 'nothing was paused');
    equal(await ask({ Origin: daemon.url }), 200);
    equal((await daemon.raw('POST', `/queues/${QUEUE}/resume`, {}, { Cookie, Origin: daemon.url })).status, 200);
  },

  'a form of another site or of another port pauses nothing, though the browser is signed in': () => opened(async (page) => {
    await signIn(page, ADMIN);
    await page.has(QUEUE);
    await otherSite(async (port) => {
      for (const [host, sent] of [['localhost', false], ['127.0.0.1', true]]) {
        const other = await page.context().newPage();
        await other.goto(`http://${host}:${port}/`);
        // The headers as the browser's own tools tell them may never come; a server that saw them knows.
        await other.getByRole('button', { name: 'ask' }).click();
        await other.getByText(sent ? 'with a session' : 'without a session', { exact: true }).waitFor();
        await other.goto(`http://${host}:${port}/`);
        const answer = other.waitForResponse((response) => response.url().endsWith(pausePath));
        await other.getByRole('button', { name: 'pause' }).click();
        equal((await answer).status(), 403, host);
        await other.waitForURL(daemon.url + pausePath); // A page that is closed on its way somewhere may never be.
        await other.close();
      }
    });
    check(!(await isPaused()), 'nothing was paused');
  }),

  'a restart of the daemon ends sessions, and the page keeps its address': async () => {
    const brief = await new Daemon(process.env.FRESHET_BINARY, '--credentials', keys).start();
    try {
      await opened(async (page) => {
        await signIn(page, ADMIN);
        await page.getByRole('button', { name: 'Purge …' }).waitFor();
        await brief.kill();
        await page.getByText('The daemon has not answered').waitFor();
        await brief.start();
        await page.getByRole('heading', { name: 'Sign in' }).waitFor();
        await page.getByText('the session has ended').waitFor();
        check(page.url().endsWith(`#/queues/${QUEUE}`), page.url());
        await signIn(page, ADMIN);
        await page.getByRole('button', { name: 'Purge …' }).waitFor();
      }, `queues/${QUEUE}`, brief);
    } finally {
      await brief.remove();
    }
  },

  'a session without requests ends': async () => {
    const brief = await new Daemon(process.env.FRESHET_BINARY, '--credentials', keys, '--session-idle-ms', String(IDLE_MS)).start();
    try {
      await opened(async (page) => {
        await signIn(page, ADMIN);
        await page.has(QUEUE);
        await page.context().setOffline(true);
        await page.getByText('The daemon has not answered').waitFor();
        await new Promise((resolve) => setTimeout(resolve, IDLE_MS + 500)); // At least: then it is over, however slow all is.
        await page.context().setOffline(false);
        await page.getByText('the session has ended').waitFor();
      }, '', brief);
    } finally {
      await brief.remove();
    }
  },
});
await browser.close();
await daemon.remove();
fs.rmSync(folder, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
