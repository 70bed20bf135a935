// Event source mappings: the streams of tables that call functions, and how far each is behind.
import { html, useState } from '../lib/html.js';
import { get } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { needs } from '../lib/who.js';
import { functionOf, mappingsPath, nameOf, switchMapping } from '../lib/functions.js';
import { Confirm, say } from '../parts/dialog.js';
import { Failure, Table, Waiting } from '../parts/bits.js';
import { Pages } from '../parts/pages.js';
import * as format from '../lib/format.js';

const sourceOf = (mapping) => `${mapping.table} → ${nameOf(mapping.function)}`;

function StateOf({ mapping }) {
  const failing = mapping.lastResult.startsWith('PROBLEM');
  const kind = failing ? 'bad' : mapping.state === 'Enabled' ? 'good' : mapping.state === 'Disabled' ? 'off' : 'wait';
  const word = failing && mapping.enabled ? 'failing' : mapping.state.toLowerCase();
  return html`<span class=${`status ${kind}`}>${word}</span>`;
}

function lagOf({ behind, behindMs }) {
  if (behind === undefined) return html`<span class="quiet">not known</span>`;
  if (behind === 0) return html`<span class="quiet">none</span>`;
  return html`<span class="keep"><strong>${format.plural(behind, 'record')}</strong>${behindMs === undefined ? '' : html` <span class="quiet">· ${format.age(behindMs)}</span>`}</span>`;
}

function Switch({ mapping, onChange }) {
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState(null);
  const turn = async (enabled) => {
    await switchMapping(mapping.id, enabled);
    onChange();
  };
  const enable = () => turn(true).then(() => say(`${sourceOf(mapping)} goes on.`), setError);
  const disable = async () => {
    await turn(false);
    say(`${sourceOf(mapping)} is disabled.`, () => turn(true));
  };
  return html`${mapping.enabled
    ? html`<button onClick=${() => setAsking(true)} aria-label=${`Disable ${sourceOf(mapping)}`} ...${needs('admin')}>Disable …</button>`
    : html`<button onClick=${enable} aria-label=${`Enable ${sourceOf(mapping)}`} ...${needs('admin')}>Enable</button>`}
    <${Failure} error=${error} />
    ${asking && html`<${Confirm} title=${`Disable ${sourceOf(mapping)}?`} verb="Disable" onClose=${() => setAsking(false)} onDo=${disable}>
      <p>No record of ${mapping.table} calls the function any more. Records wait in the table's stream, which keeps them for 24 hours, and the mapping goes on where it stopped when somebody enables it.</p>
    </${Confirm}>`}`;
}

// `ofFunction`: in the view of one function, which needs no column for it.
export function MappingTable({ mappings, ofFunction, onChange, empty }) {
  const row = (one) => [
    html`<a class="keep" href=${link(['tables', one.table])}>${one.table}</a>`,
    ...(ofFunction ? [] : [html`<a class="keep" href=${link(['functions', functionOf(one.function)])}>${nameOf(one.function)}</a>`]),
    html`<${StateOf} mapping=${one} />`,
    lagOf(one),
    `${format.count(one.batchSize)}${one.lanes > 1 ? ` × ${one.lanes} lanes` : ''}`,
    html`${one.lastError ? html`<span class="bad words">${one.lastError}</span>` : html`<span class="quiet words">${one.lastResult}</span>`}
      ${one.filters && html`<br /><span class="quiet" title=${one.filters.join('\n')}>${format.plural(one.filters.length, 'filter')}</span>`}`,
    html`<${Switch} mapping=${one} onChange=${onChange} />`,
  ];
  return html`<${Table} caption="Event source mappings" empty=${empty}
    columns=${[{ name: 'Table' }, ...(ofFunction ? [] : [{ name: 'Function' }]), { name: 'State' }, { name: 'Behind' }, { name: 'Batch', number: true }, { name: 'Last result' }, { name: html`<span class="hidden">Action</span>` }]}
    rows=${mappings.map(row)} />`;
}

export function Mappings({ query }) {
  const path = mappingsPath(query.cursor);
  const { value, error, again } = usePoll((signal) => get(path, signal), 2000, [path]);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the event sources" />`;
  return html`<${Failure} error=${error} />
    <p class="quiet">The stream of a table calls a function with batches of changes. Behind are the records that the function has not done yet, and the age of the oldest of them.</p>
    <${MappingTable} mappings=${value.mappings} onChange=${again} empty="No table's stream calls a function." />
    <${Pages} what="event sources" parts=${['mappings']} query=${query} name="cursor" next=${value.cursor} shown=${`${format.plural(value.mappings.length, 'event source')} shown`} />`;
}
