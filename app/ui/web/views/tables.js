// The tables of the item store: all of them, one with its items, one item, and the PartiQL console.
import { html } from '../lib/html.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { describeTable, itemStore } from '../lib/items.js';
import { Failure, Table, Tabs, Waiting } from '../parts/bits.js';
import { Pages } from '../parts/pages.js';
import { ItemView } from './item.js';
import { Statements } from './statements.js';
import { TableView } from './table.js';
import * as format from '../lib/format.js';

const TABS = [
  ['tables', 'Tables', AllTables],
  ['partiql', 'PartiQL', Statements],
];
export const TABLE_PLACES = TABS.map(([id]) => id);
const PAGE = 20; // Each is described by a request of its own.

export const keysOf = (keys) => keys.map(({ name, type }) => `${name} (${type})`).join(', ');

async function look(cursor, signal) {
  const answer = await itemStore('ListTables', { Limit: PAGE, ...(cursor ? { ExclusiveStartTableName: cursor } : {}) }, signal);
  // One that is deleted meanwhile is left out.
  const tables = await Promise.all(answer.get('TableNames').map((name) => describeTable(name, signal).catch((error) => {
    if (error.code !== 'ResourceNotFoundException') throw error;
    return null;
  })));
  return { tables: tables.filter(Boolean), next: answer.get('LastEvaluatedTableName') };
}

function AllTables({ query }) {
  const { value, error } = usePoll((signal) => look(query.after, signal), 5000, [query.after]);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the tables" />`;
  const row = (one) => [
    html`<a class="keep" href=${link(['tables', one.name])}>${one.name}</a>`,
    format.count(one.items),
    format.bytes(one.bytes),
    html`<code class="keep">${keysOf(one.keys)}</code>`,
    one.indexes.length ? one.indexes.map((index) => index.name).join(', ') : html`<span class="quiet">none</span>`,
    one.stream ? html`<span class="keep">${one.stream.toLowerCase().replaceAll('_', ' ')}</span>` : html`<span class="quiet">none</span>`,
  ];
  return html`<${Failure} error=${error} /><${Table} caption="All tables" empty="There is no table."
      columns=${[{ name: 'Table' }, { name: 'Items', number: true }, { name: 'Size', number: true }, { name: 'Key' }, { name: 'Indexes' }, { name: 'Stream' }]}
      rows=${value.tables.map(row)} />
    <${Pages} what="tables" parts=${['tables']} query=${query} name="after" next=${value.next} shown=${`${format.plural(value.tables.length, 'table')} shown`} />`;
}

export function TableViews({ parts, query }) {
  const [place, name, items, key] = parts;
  if (place === 'tables' && items === 'items' && key !== undefined) return html`<${ItemView} table=${name} keyAsText=${key} query=${query} />`;
  if (place === 'tables' && name !== undefined) return html`<${TableView} key=${name} name=${name} query=${query} />`;
  const [id, , View] = TABS.find(([one]) => one === place) ?? TABS[0];
  return html`<header class="head"><h1>Tables</h1></header>
    <${Tabs} name="Tables and statements" now=${id} all=${TABS.map(([one, label]) => ({ id: one, label, href: link([one]) }))} />
    <div class="view"><${View} query=${query} /></div>`;
}
