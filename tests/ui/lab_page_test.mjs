// The page that the overload lab writes: at every width, in light and dark, all of it can be read without a script.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Browser, check, equal, run, tools } from './world.mjs';

const found = tools();
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'freshet-lab-page-'));
const file = path.join(folder, 'page.html');
const made = spawnSync(process.env.FRESHET_BINARY, ['bench', 'overload', '--load', '1,2', '--seconds', '1', '--seeds', '1', '--html', file], { encoding: 'utf8' });
equal(made.status, 0, made.stderr);
const browser = await Browser.open(found);

// Runs in the page: texts that nobody can see whole, and places that scroll without showing it.
function hiddenParts() {
  const out = [];
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth;
  if (document.documentElement.scrollWidth > innerWidth) out.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const element of document.querySelectorAll('body *')) {
    if (scrolls(element) && !getComputedStyle(element).backgroundAttachment.includes('local')) out.push(`scrolls without a sign: ${element.className || element.tagName}`);
    const isText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const box = element.getBoundingClientRect();
    if (!isText || !element.checkVisibility() || box.width === 0) continue;
    for (let around = element.parentElement; around; around = around.parentElement) {
      if (scrolls(around)) break;
      const clips = around === document.documentElement || (around.tagName !== 'svg' && getComputedStyle(around).overflowX === 'hidden');
      const outer = around.getBoundingClientRect();
      if (clips && (box.right > outer.right + 1 || box.left < outer.left - 1)) out.push(`cut: “${element.textContent.slice(0, 40)}”`);
    }
  }
  return out.slice(0, 8);
}

async function shown(test) {
  const context = await browser.chromium.newContext({ viewport: { width: 1200, height: 900 }, colorScheme: 'light' });
  const page = await context.newPage();
  await page.goto(pathToFileURL(file).href);
  await test(page);
  await context.close();
}
async function nothingIsCut(page) {
  for (const width of [390, 800, 1200]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ['dark', 'light']) {
      await page.emulateMedia({ colorScheme });
      equal(await page.evaluate(hiddenParts), [], `at ${width}, ${colorScheme}`);
    }
  }
}
async function switchAllOn(page) {
  await page.locator('summary').click();
  await page.getByLabel('all', { exact: true }).check();
  check(await page.locator('polyline.line.hidden:visible').count() >= 16, 'the others are shown');
}

const failed = await run({
  'nothing is cut at any width, and axe finds nothing': () => shown(async (page) => {
    await nothingIsCut(page);
    equal(await browser.violations(page), []);
    await page.emulateMedia({ colorScheme: 'dark' });
    equal(await browser.violations(page, { dark: true }), [], 'in the dark');
  }),
  'nor with all policies switched on': () => shown(async (page) => {
    await switchAllOn(page);
    await nothingIsCut(page);
    equal(await browser.violations(page), []);
  }),
  'axe finds nothing on a narrow screen': () => shown(async (page) => {
    await page.setViewportSize({ width: 390, height: 900 });
    equal(await browser.violations(page), []);
    await switchAllOn(page);
    equal(await browser.violations(page), [], 'with all policies');
  }),
});
await browser.close();
fs.rmSync(folder, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
