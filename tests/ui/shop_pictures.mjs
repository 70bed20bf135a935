// Makes the pictures of docs/dashboard.md that show functions and tables, from a daemon that runs the shop.
//   node tests/ui/shop_pictures.mjs     FRESHET_BINARY names the binary; build/release/freshet else
import fs from 'node:fs';
import path from 'node:path';
import { Browser, ROOT, tools } from './world.mjs';
import { Shop } from './shop.mjs';

const CUSTOMERS = ['ada', 'barbara', 'edsger', 'grace', 'linus'];
const PIECES = [3, 1, 12, 2];

const daemon = new Shop(process.env.FRESHET_BINARY ?? path.join(ROOT, 'build/release/freshet'));
// Stacks name files: those of the picture are nobody's own.
fs.cpSync(path.join(ROOT, 'tests/ui/shop'), path.join(daemon.folder, 'shop'), { recursive: true });
fs.copyFileSync(daemon.template, path.join(daemon.folder, 'shop.yaml'));
daemon.template = path.join(daemon.folder, 'shop.yaml');
await daemon.start();
const browser = await Browser.open(tools());
for (let i = 0; i < 60; ++i) {
  await daemon.order(CUSTOMERS[i % CUSTOMERS.length], 1000 + i, {
    pieces: { N: String(PIECES[i % PIECES.length]) },
    price: { N: (PIECES[i % PIECES.length] * 19.9).toFixed(2) },
    state: { S: ['new', 'paid', 'sent'][i % 3] },
  });
}
for (let i = 0; i < 6; ++i) await daemon.publish(i % 3 ? `order ${1000 + i} is placed` : `no server for order ${1000 + i}`);
const price = (payload) => daemon.raw('POST', '/2015-03-31/functions/Price/invocations', payload);
for (const pieces of [3, 1, 0, 12]) await price({ pieces });
await new Promise((resolve) => setTimeout(resolve, 3000)); // Mail has been tried again.

async function picture(name, view, ready, options = {}) {
  const page = await browser.page(daemon, { width: 1200, height: 720, ...options });
  await page.show(view);
  await ready?.(page);
  await page.waitForTimeout(1500);
  await page.screenshot({ path: path.join(ROOT, 'docs/pictures', `dashboard-${name}.png`) });
  await page.end();
}

await picture('function', 'functions/Price', async (page) => {
  await page.getByLabel('Payload').fill('{"pieces": 7}');
  await page.getByRole('button', { name: 'Invoke', exact: true }).click();
  await page.has('done');
}, { height: 900 });
await picture('table', 'tables/Orders?index=byState&key=paid&order=down', (page) => page.has('barbara'));
await browser.close();
await daemon.remove();
