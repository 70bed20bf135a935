// One table: its keys and indexes, and its items, all or those that a key finds. The search stands in the address.
import { html, useState } from '../lib/html.js';
import { usePoll } from '../lib/poll.js';
import { link, replace } from '../lib/route.js';
import { PAGE, attributeOf, describeTable, itemStore, keyText, objectOf } from '../lib/items.js';
import { Failure, Waiting } from '../parts/bits.js';
import { ItemTable } from '../parts/item_table.js';
import { Pages } from '../parts/pages.js';
import * as format from '../lib/format.js';

const OPERATORS = [['=', 'is'], ['<', 'is below'], ['<=', 'is at most'], ['>', 'is above'], ['>=', 'is at least'], ['begins', 'begins with']];

const keysFor = (table, index) => (index ? table.indexes.find((one) => one.name === index)?.keys : table.keys);

// The request for a part of the items: { operation, input }.
export function requestFor(table, query) {
  const input = { TableName: table.name, Limit: PAGE };
  if (query.from) input.ExclusiveStartKey = JSON.parse(query.from);
  if (query.index) input.IndexName = query.index;
  if (query.key === undefined) return { operation: 'Scan', input };
  const keys = keysFor(table, query.index);
  if (!keys) throw new Error(`The table ${table.name} has no index ${query.index}.`);
  const [part, sort] = keys;
  input.ExpressionAttributeNames = { '#p': part.name };
  input.ExpressionAttributeValues = { ':p': attributeOf(part.type, query.key) };
  input.KeyConditionExpression = '#p = :p';
  if (query.order === 'down') input.ScanIndexForward = false;
  if (sort && query.sort !== undefined) {
    const known = OPERATORS.some(([one]) => one === query.op) ? query.op : '=';
    input.ExpressionAttributeNames['#s'] = sort.name;
    input.ExpressionAttributeValues[':s'] = attributeOf(sort.type, query.sort);
    input.KeyConditionExpression += known === 'begins' ? ' AND begins_with(#s, :s)' : ` AND #s ${known} :s`;
  }
  return { operation: 'Query', input };
}

async function look(table, query, signal) {
  const { operation, input } = requestFor(table, query);
  const answer = await itemStore(operation, input, signal);
  const last = answer.get('LastEvaluatedKey');
  return { items: answer.get('Items'), next: last ? JSON.stringify(objectOf(last)) : null };
}

function Search({ table, query }) {
  const [draft, setDraft] = useState({ index: query.index ?? '', key: query.key ?? '', op: query.op ?? '=', sort: query.sort ?? '', order: query.order ?? '' });
  const keys = keysFor(table, draft.index) ?? table.keys;
  const [part, sort] = keys;
  const set = (name) => (event) => setDraft({ ...draft, [name]: event.target.value });
  const search = (event) => {
    event.preventDefault();
    const { index, key, op, sort: bound, order } = draft;
    replace(['tables', table.name], key === '' ? { index } : { index, key, order, ...(sort && bound !== '' ? { op, sort: bound } : {}) });
  };
  return html`<form class="filter" role="search" aria-label="Which items" onSubmit=${search}>
    <label>By <select value=${draft.index} onChange=${set('index')}>
      <option value="">the table's key</option>${table.indexes.map((one) => html`<option value=${one.name}>index ${one.name}</option>`)}</select></label>
    <label><code>${part.name}</code> is <input type="search" value=${draft.key} size="14" placeholder="all items" onInput=${set('key')} /></label>
    ${sort && html`<span class="where"><label><code>${sort.name}</code> <select value=${draft.op} aria-label=${`How ${sort.name} compares`} onChange=${set('op')}>
        ${OPERATORS.filter(([one]) => one !== 'begins' || sort.type !== 'N').map(([one, words]) => html`<option value=${one}>${words}</option>`)}</select></label>
      <input aria-label=${`Bound of ${sort.name}`} value=${draft.sort} size="10" placeholder="any" onInput=${set('sort')} />
      <label>Order <select value=${draft.order} onChange=${set('order')}><option value="">up</option><option value="down">down</option></select></label></span>`}
    <button class="main">Look</button>
  </form>`;
}

function Numbers({ table }) {
  const facts = [
    ['items', format.short(table.items)],
    ['size', format.bytes(table.bytes)],
    ['key', table.keys.map((one) => one.name).join(', ')],
    ['indexes', table.indexes.map((one) => one.name).join(', ') || 'none'],
    ['stream', table.stream ? table.stream.toLowerCase().replaceAll('_', ' ') : 'none'],
  ];
  return html`<dl class="numbers">${facts.map(([name, value]) => html`<div><dd class="num">${value}</dd><dt>${name}</dt></div>`)}</dl>`;
}

function Items({ table, query }) {
  const { value, error } = usePoll((signal) => look(table, query, signal), 5000, [table.name, query]);
  const { name } = table;
  const linkOf = (item) => (table.keys.every((key) => item.has(key.name)) ? link(['tables', name, 'items', keyText(item, table.keys)]) : null);
  return html`<${Failure} error=${error} />
    ${!value && !error && html`<${Waiting} what="the items" />`}
    ${value && html`<${ItemTable} items=${value.items} keys=${table.keys} caption=${`Items of ${name}`} linkOf=${linkOf}
        empty=${query.key !== undefined ? 'No item has this key.' : 'There is no item here.'} />
      <${Pages} what="items" parts=${['tables', name]} query=${query} name="from" next=${value.next} shown=${`${format.plural(value.items.length, 'item')} shown`} />`}`;
}

export function TableView({ name, query }) {
  const { value: table, error } = usePoll((signal) => describeTable(name, signal), 5000, [name]);
  const { from, ...search } = query;
  const head = html`<p class="crumbs"><a href=${link(['tables'])}>tables</a></p><header class="head"><h1>${name}</h1>
    <span class="buttons"><a class="button" href=${link(['partiql'], { statement: `SELECT * FROM "${name}"` })}>PartiQL …</a></span></header>`;
  if (!table) return html`${head}${error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the table" />`}`;
  return html`${head}<${Numbers} table=${table} />
    <h2>Items</h2>
    <${Search} key=${JSON.stringify(search)} table=${table} query=${search} />
    <${Items} table=${table} query=${query} />`;
}
