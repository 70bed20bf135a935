// Who may reach the dashboard and what it works on: other hosts, other pages, other ports.
import http from 'node:http';
import { topOf } from '../../app/ui/web/lib/series.js';
import { Browser, Daemon, QUEUE, check, equal, run, tools, until } from './world.mjs';

const found = tools();
const daemon = await new Daemon(process.env.FRESHET_BINARY).start();
const browser = await Browser.open(found);
const pausePath = `/queues/${QUEUE}/pause`;
const isPaused = async () => Boolean((await daemon.queue('stats')).pauses);

// fetch() sets Host itself.
function ask(method, target, headers, body = '') {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port: daemon.port, method, path: target, headers }, (response) => {
      let text = '';
      response.on('data', (piece) => (text += piece));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

const failed = await run({
  'a limit that shoots up while it is learnt does not flatten the chart': async () => {
    equal(topOf(60, [[10, 370, 50, 19.8]]), 60);
    equal(topOf(20, [[10, 370, 35, 19.8]]), 35);
    equal(topOf(3, [[null, 100, 100]]), 100); // The limit that holds is always in sight.
    equal(topOf(3, [[100, null]]), 100);
    equal(topOf(null, []), 0);
  },
  'the page is sent with what keeps it safe, and is kept by its hash': async () => {
    const page = await ask('GET', '/ui/', {});
    const policy = page.headers['content-security-policy'];
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"]) check(policy.includes(part), policy);
    check(!/unsafe|http:|\*/.test(policy), policy);
    equal([page.headers['x-content-type-options'], page.headers['x-frame-options'], page.headers['cache-control']], ['nosniff', 'DENY', 'no-cache']);
    equal((await ask('GET', '/ui/', { 'If-None-Match': page.headers.etag })).status, 304);
    check(!/<script(?![^>]*src=)|<style|style=| on[a-z]+=/.test(page.text), 'no code in the page', page.text);
    const script = /src="([^"]+main\.js)"/.exec(page.text)[1];
    const main = await ask('GET', `/ui/${script}`, {});
    equal([main.status, main.headers['cache-control']], [200, 'public, max-age=31536000, immutable']);
    check(main.headers['content-type'].startsWith('text/javascript'), main.headers);
    equal((await ask('GET', '/ui/0000/main.js', {})).status, 404);
    equal((await ask('GET', `/ui/${script.replace('main.js', '../../../etc/passwd')}`, {})).status, 404);
    equal((await ask('POST', '/ui/', {})).status, 405);
  },
  'a browser is sent from / to the page, and an SDK is not': async () => {
    const sent = await ask('GET', '/', { Accept: 'text/html,application/xhtml+xml' });
    equal([sent.status, sent.headers.location], [303, '/ui/']);
    const sdk = await ask('GET', '/', { Accept: '*/*' });
    check(sdk.status === 200 && sdk.text.startsWith('healthy'), sdk);
  },
  'another host is refused, as after DNS rebinding': async () => {
    for (const target of ['/ui/', '/queues', pausePath]) {
      equal((await ask(target === pausePath ? 'POST' : 'GET', target, { Host: 'evil.example' })).status, 421, target);
    }
    check(!(await isPaused()), 'nothing was paused');
  },
  'pages of other origins and other ports change nothing': async () => {
    for (const headers of [{ Origin: 'http://evil.example' }, { Origin: `http://127.0.0.1:${daemon.port + 1}` }, { Origin: 'null' }, { 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }]) {
      const { status } = await ask('POST', pausePath, { ...headers, 'Content-Type': 'text/plain' }, '{}');
      equal(status, 403, JSON.stringify(headers));
      equal((await ask('GET', `/record?table=${QUEUE}`, headers)).status, 403, `a recording: ${JSON.stringify(headers)}`);
    }
    check(!(await isPaused()), 'nothing was paused');
    const own = await ask('POST', pausePath, { Origin: daemon.url, 'Sec-Fetch-Site': 'same-origin' }, '{}');
    equal(own.status, 200);
    await daemon.queue('resume', {});
  },
  'a form on another site pauses nothing, and cannot frame the page': async () => {
    const site = http.createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' });
      response.end(`<form method="post" enctype="text/plain" action="${daemon.url}${pausePath}"><input name='{"reason":"' value='"}'><button>go</button></form>
        <iframe src="${daemon.url}/ui/"></iframe>`);
    });
    await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
    const context = await browser.chromium.newContext();
    const page = await context.newPage();
    try {
      await page.goto(`http://localhost:${site.address().port}/`);
      const frame = page.frames().at(-1);
      check(!(await frame.locator('#app').count().catch(() => 0)), 'the frame is empty');
      const answer = page.waitForResponse((response) => response.url().endsWith(pausePath));
      await page.getByRole('button').click();
      equal((await answer).status(), 403);
      await page.waitForURL(daemon.url + pausePath); // A page that is closed on its way somewhere may never be.
      check(!(await isPaused()), 'nothing was paused');
    } finally {
      await context.close();
      site.closeAllConnections();
      site.close();
    }
  },
});
await browser.close();
await daemon.remove();
process.exit(failed ? 1 : 0);
