// One item, with all digits of its numbers.
import { html, useState } from '../lib/html.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { writeExact } from '../lib/exact.js';
import { itemStore, plainItem } from '../lib/items.js';
import { Failure, Tabs, Waiting } from '../parts/bits.js';

const FORMS = [['', 'As JSON'], ['types', 'With types']];

function keyIn(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`The address names no key: ${text}`);
  }
}

// customer ada, number 12
function inWords(text) {
  try {
    return Object.entries(JSON.parse(text)).map(([name, typed]) => `${name} ${Object.values(typed)[0]}`).join(', ');
  } catch {
    return text;
  }
}

export function ItemView({ table, keyAsText, query }) {
  const [copied, setCopied] = useState('');
  const { value, error } = usePoll((signal) => itemStore('GetItem', { TableName: table, Key: keyIn(keyAsText), ConsistentRead: true }, signal), 5000, [table, keyAsText]);
  const parts = ['tables', table, 'items', keyAsText];
  const item = value?.get('Item');
  const text = item && writeExact(query.form === 'types' ? item : plainItem(item));
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(text);
  };
  return html`<p class="crumbs"><a href=${link(['tables'])}>tables</a> / <a href=${link(['tables', table])}>${table}</a></p>
    <header class="head"><h1 class="id">${inWords(keyAsText)}</h1></header>
    <${Failure} error=${error} />
    ${!value && !error && html`<${Waiting} what="the item" />`}
    ${value && !item && html`<p class="empty quiet">No item has this key.</p>`}
    ${item && html`<${Tabs} name="Forms of the item" now=${query.form ?? ''} all=${FORMS.map(([id, label]) => ({ id, label, href: link(parts, { form: id }) }))} />
      <p class="quiet">${query.form === 'types' ? 'As the item store sends it: each value with its type.' : 'Sets are lists here, and bytes are Base64.'} <button class="plain" onClick=${copy}>${copied === text ? 'Copied' : 'Copy'}</button></p>
      <pre class="item" tabindex="0" aria-label="The item">${text}</pre>`}`;
}
