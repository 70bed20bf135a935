// The views of tables: each shows what the item store says, and what somebody asks for is asked of it.
import { Browser, check, equal, run, tools, until } from './world.mjs';
import { MARKUP, Shop, button, onPage } from './shop.mjs';

const found = tools();
const daemon = await new Shop(process.env.FRESHET_BINARY).start();
const browser = await Browser.open(found);
const shown = (test, options) => onPage(browser, daemon, test, options);
const EXACT = '12345678901234567890123456789.0123456';
const rows = (page) => page.locator('tbody tr');
const count = (page, wanted) => until(async () => (await rows(page).count()) === wanted, `there are ${wanted} rows`);
const keyOf = (customer, number) => encodeURIComponent(JSON.stringify({ customer: { S: customer }, number: { N: String(number) } }));
const VIEWS = ['tables', 'tables/Orders', 'tables/Orders?key=ada', 'tables/None', `tables/Orders/items/${keyOf('exact', 1)}`, 'partiql', 'partiql?statement=SELECT'];

const statement = async (page, text) => {
  await page.getByLabel('Statement', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
};

for (let i = 0; i < 120; ++i) await daemon.order(i % 2 ? 'ada' : 'grace', i, { state: { S: i % 3 ? 'paid' : 'new' } });
await daemon.order('exact', 1, {
  price: { N: EXACT },
  parts: { L: [{ M: { n: { N: '1' }, ok: { BOOL: true }, none: { NULL: true } } }] },
  tags: { SS: ['a', 'b'] },
  photo: { B: 'AAEC' },
});

const tests = {
  'the list says of a table what DescribeTable says': () => shown(async (page) => {
    await page.show('tables');
    const { Table } = await daemon.items('DescribeTable', { TableName: 'Orders' });
    const row = page.getByRole('row').filter({ hasText: 'Orders' });
    await row.waitFor();
    const text = await row.innerText();
    check(/customer \(S\), number \(N\)/.test(text) && text.includes('byState') && text.includes('new and old images'), text);
    check(new RegExp(`Orders\\s+${Table.ItemCount}\\b`).test(text), text, Table.ItemCount);
    await page.getByRole('link', { name: 'Orders', exact: true }).click();
    await count(page, 50);
  }),

  'all items come page by page, each once': () => shown(async (page) => {
    await page.show('tables/Orders');
    const seen = new Set();
    for (const size of [50, 50, 21]) {
      await count(page, size);
      for (const href of await rows(page).locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))) seen.add(href);
      if (size === 50) {
        const before = page.url();
        await page.getByRole('link', { name: 'Next page' }).click();
        await until(() => page.url() !== before, 'the address has the page');
        await until(async () => !seen.has(await rows(page).locator('a').first().getAttribute('href').catch(() => [...seen][0])), 'the page has changed');
      }
    }
    equal(seen.size, 121);
    await page.getByRole('link', { name: 'First page' }).click();
    await count(page, 50);
  }),

  'items are found by the key and by an index': () => shown(async (page) => {
    await page.show('tables/Orders');
    await page.getByLabel('customer is').fill('ada');
    await page.getByLabel('How number compares').selectOption('<');
    await page.getByLabel('Bound of number').fill('10');
    await page.getByRole('combobox', { name: 'Order' }).selectOption('down');
    await button(page, 'Look').click();
    await count(page, 5);
    const wanted = await daemon.items('Query', { TableName: 'Orders', KeyConditionExpression: 'customer = :c AND #n < :n', ExpressionAttributeNames: { '#n': 'number' },
      ExpressionAttributeValues: { ':c': { S: 'ada' }, ':n': { N: '10' } }, ScanIndexForward: false });
    const numbers = await rows(page).evaluateAll((all) => all.map((row) => row.cells[1].innerText));
    equal(numbers, wanted.Items.map((item) => item.number.N));
    check(page.url().includes('key=ada') && page.url().includes('order=down'), page.url());
    await page.getByRole('combobox', { name: 'By' }).selectOption('byState');
    await page.getByLabel('state is').fill('new');
    await page.getByLabel('Bound of number').fill('');
    await button(page, 'Look').click();
    await count(page, 41);
    await page.show('tables/Orders?key=nobody');
    await page.has('No item has this key.');
  }),

  'a bound that is no number is refused in words': () => shown(async (page) => {
    await page.show('tables/Orders?key=ada&op=%3D&sort=many');
    await until(async () => /numeric value/.test(await page.getByRole('alert').innerText()), 'it says so');
    await page.show('tables/Orders?index=None&key=x');
    await page.has('The table Orders has no index None.');
  }),

  'an item is shown with all digits': () => shown(async (page) => {
    await page.show('tables/Orders?key=exact');
    await page.has(EXACT);
    await rows(page).locator('a').first().click();
    await page.has('customer exact, number 1');
    const pre = page.locator('pre[aria-label="The item"]');
    await until(async () => (await pre.innerText()).includes(`"price": ${EXACT}`), 'its number is whole');
    const plain = JSON.parse(await pre.innerText());
    equal([plain.parts, plain.tags, plain.photo], [[{ n: 1, none: null, ok: true }], ['a', 'b'], 'AAEC']);
    await page.getByRole('link', { name: 'With types' }).click();
    await until(async () => (await pre.innerText()).includes('"SS"'), 'the types are there');
    const { Item } = await daemon.items('GetItem', { TableName: 'Orders', Key: { customer: { S: 'exact' }, number: { N: '1' } } });
    const sorted = (item) => Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
    equal(sorted(JSON.parse(await pre.innerText())), sorted(Item));
  }),

  'an item that is not there, and an address that names no key': () => shown(async (page) => {
    await page.show(`tables/Orders/items/${keyOf('nobody', 1)}`);
    await page.has('No item has this key.');
    await page.show('tables/Orders/items/nothing');
    await page.has('The address names no key: nothing');
    await page.show('tables/None');
    await page.has('not found');
  }),

  'a SELECT comes page by page': () => shown(async (page) => {
    await page.show('partiql');
    const text = `SELECT * FROM "Orders" WHERE customer = 'grace'`;
    await statement(page, text);
    await count(page, 50);
    check(page.url().includes('statement='), page.url());
    await page.has('50 items on page 1');
    await button(page, 'Next page').click();
    await page.has('10 items on page 2');
    await count(page, 10);
  }),

  'a statement changes items, and a wrong one is refused in words': () => shown(async (page) => {
    await page.show('partiql');
    await statement(page, `UPDATE "Orders" SET note = '${MARKUP.replaceAll("'", "''")}' WHERE customer = 'ada' AND number = 1`);
    await page.has('Done. The statement returns no item.');
    const { Item } = await daemon.items('GetItem', { TableName: 'Orders', Key: { customer: { S: 'ada' }, number: { N: '1' } } });
    equal(Item.note.S, MARKUP);
    await statement(page, 'SELEC * FROM "Orders"');
    await until(async () => (await page.getByRole('alert').innerText()).length > 10, 'it says what is wrong');
    const wanted = await (await fetch(`${daemon.url}/`, { method: 'POST', headers: { 'X-Amz-Target': 'DynamoDB_20120810.ExecuteStatement', 'Content-Type': 'application/x-amz-json-1.0' },
      body: JSON.stringify({ Statement: 'SELEC * FROM "Orders"' }) })).json();
    equal(await page.getByRole('alert').innerText(), wanted.message ?? wanted.Message);
  }),

  'a statement in a link does not run by itself': () => shown(async (page) => {
    const text = `DELETE FROM "Orders" WHERE customer = 'ada' AND number = 3`;
    await page.show(`partiql?statement=${encodeURIComponent(text)}`);
    equal(await page.getByLabel('Statement', { exact: true }).inputValue(), text);
    await page.waitForTimeout(1500);
    const key = { TableName: 'Orders', Key: { customer: { S: 'ada' }, number: { N: '3' } } };
    check((await daemon.items('GetItem', key)).Item, 'it is still there');
    await page.getByLabel('Statement', { exact: true }).press('Control+Enter');
    await page.has('Done.');
    check(!(await daemon.items('GetItem', key)).Item, 'now it is gone');
  }),

  'names, keys and values with markup stay text': () => shown(async (page) => {
    await daemon.items('PutItem', { TableName: 'Orders', Item: { customer: { S: MARKUP }, number: { N: '7' }, [MARKUP]: { S: MARKUP }, list: { L: [{ S: MARKUP }] } } });
    for (const view of [`tables/Orders?key=${encodeURIComponent(MARKUP)}`, `tables/Orders/items/${keyOf(MARKUP, 7)}`, `tables/${encodeURIComponent(MARKUP)}`, `partiql?statement=${encodeURIComponent(MARKUP)}`]) {
      await page.show(view);
      await page.settled();
      equal(await page.locator('#app img, #app script').count(), 0, view);
    }
    await page.show(`tables/Orders?key=${encodeURIComponent(MARKUP)}`);
    await page.has(MARKUP);
    await rows(page).locator('a').first().click();
    await until(async () => JSON.parse(await page.locator('pre[aria-label="The item"]').innerText())[MARKUP] === MARKUP, 'the item is whole');
  }),
};

tests['each view is right for every eye, in light and dark and at every width'] = () => shown(async (page) => {
  for (const view of VIEWS) {
    await page.show(view);
    await browser.looksRight(page, `#/${view}`);
  }
  await page.show('partiql');
  await statement(page, 'SELECT * FROM "Orders"');
  await count(page, 50);
  await browser.looksRight(page, 'an answer');
});
tests['an answer that is wider than a narrow screen scrolls'] = () => shown(async (page) => {
  await page.show('partiql');
  await page.getByRole('textbox', { name: 'Statement' }).fill('SELECT * FROM "Orders"');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('table', { name: 'Items of the answer' }).waitFor();
  check(await page.locator('.scroll').evaluate((one) => one.scrollWidth > one.clientWidth), 'the answer is wider than the window');
  await page.fits('the answer of a statement');
}, { width: 390 });

const failed = await run(tests);
await browser.close();
await daemon.remove();
process.exit(failed ? 1 : 0);
