// The shop of shop.yaml for tests and pictures, and what the tests of its views share.
import path from 'node:path';
import { Daemon, ROOT, check } from './world.mjs';

// What would do harm if it became markup.
export const MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>';

export class Shop extends Daemon {
  template = path.join(ROOT, 'tests/ui/shop.yaml');
  logLevel = 'info'; // What functions say is at this level.

  // A call of the item store.
  async items(operation, input) {
    const response = await fetch(`${this.url}/`, {
      method: 'POST',
      headers: { 'X-Amz-Target': `DynamoDB_20120810.${operation}`, 'Content-Type': 'application/x-amz-json-1.0' },
      body: typeof input === 'string' ? input : JSON.stringify(input),
    });
    const text = await response.text();
    check(response.ok, operation, text);
    return JSON.parse(text);
  }
  order(customer, number, more = {}) {
    return this.items('PutItem', { TableName: 'Orders', Item: { customer: { S: customer }, number: { N: String(number) }, state: { S: 'new' }, ...more } });
  }
  async publish(message) {
    const body = new URLSearchParams({ Action: 'Publish', Version: '2010-03-31', TopicArn: 'arn:aws:sns:us-east-1:000000000000:OrderPlaced', Message: message });
    const response = await fetch(`${this.url}/`, { method: 'POST', body });
    check(response.ok, await response.text());
  }
  async figures(name) {
    return (await this.call('GET', `/functions?function=${name}`)).functions[0];
  }
  async mapping() {
    return (await this.call('GET', '/mappings')).mappings[0];
  }
}

// Runs a test on a page of its own, and shows what stood on it if that fails.
export async function onPage(browser, daemon, test, options) {
  const page = await browser.page(daemon, options);
  try {
    await test(page);
    await page.end();
  } catch (error) {
    console.log((await page.locator('body').innerText().catch(() => '')).slice(0, 1500));
    throw error;
  }
}

export const button = (page, name) => page.getByRole('button', { name, exact: false }).first();
export const inDialog = (page, name) => page.getByRole('dialog').getByRole('button', { name });
