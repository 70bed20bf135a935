// Items as a table: key attributes first, then those that most of the items have.
import { html } from '../lib/html.js';
import { plainOf } from '../lib/items.js';
import { writeExact } from '../lib/exact.js';
import { Table } from './bits.js';

const COLUMNS = 8;
const LONGEST = 200; // Letters of a value; the view of the item has it whole.

function columnsOf(items, keys) {
  const seen = new Map(keys.map(({ name }) => [name, Infinity]));
  for (const item of items) for (const name of item.keys()) seen.set(name, (seen.get(name) ?? 0) + 1);
  // Sorting leaves those that come equally often in the order in which they were seen.
  return [...seen].sort(([, a], [, b]) => (a === b ? 0 : b - a)).map(([name]) => name).slice(0, COLUMNS);
}

function cellOf(attribute) {
  if (attribute === undefined) return html`<span class="quiet">–</span>`;
  const value = plainOf(attribute);
  const text = typeof value === 'string' ? value : writeExact(value, 0);
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
  return html`<span class=${typeof value === 'string' ? 'clip' : 'clip id'} title=${short}>${short}</span>`;
}

const isNumber = (items, name) => items.every((item) => !item.has(name) || item.get(name).has('N'));

// `linkOf(item)`: the address of the item's own view, or null.
export function ItemTable({ items, keys, linkOf, caption, empty }) {
  const names = columnsOf(items, keys);
  const row = (item) => names.map((name, i) => {
    const href = i === 0 && linkOf(item);
    return href ? html`<a href=${href}>${cellOf(item.get(name))}</a>` : cellOf(item.get(name));
  });
  return html`<${Table} caption=${caption} empty=${empty} columns=${names.map((name) => ({ name, number: isNumber(items, name) }))} rows=${items.map(row)} />`;
}
