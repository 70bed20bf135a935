// The tasks of a queue in one state, by attribute, age and text. The filter stands in the address.
import { html, useState } from '../lib/html.js';
import { get, queuePath } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { needs } from '../lib/who.js';
import { link, replace } from '../lib/route.js';
import { Failure, Table, Waiting, When } from '../parts/bits.js';
import { BulkDialog } from './bulk.js';
import * as format from '../lib/format.js';

const STATES = ['PENDING', 'DELAYED', 'TAKEN', 'SUCCESS', 'FAILURE', 'DEAD', 'SHED', 'CANCELLED'];
const PAGE = 50;
const CAN_CANCEL = ['PENDING', 'DELAYED', 'TAKEN'];
const CAN_REDRIVE = ['DEAD', 'FAILURE', 'CANCELLED', 'SHED'];

const whereOf = (query) => Object.entries(query).filter(([name]) => name.startsWith('where.')).map(([name, value]) => [name.slice(6), value]);
const withoutCursor = ({ cursor, ...rest }) => rest;

function Filter({ queue, query, stats }) {
  const [attribute, setAttribute] = useState('');
  const [value, setValue] = useState('');
  const set = (changes) => replace(['queues', queue, 'tasks'], { ...withoutCursor(query), ...changes });
  const add = (event) => {
    event.preventDefault();
    if (!attribute) return;
    set({ [`where.${attribute}`]: value });
    setAttribute('');
    setValue('');
  };
  const state = query.state ?? 'PENDING';
  return html`<form class="filter" role="search" aria-label="Which tasks" onSubmit=${add}>
    <label>State <select value=${state} onChange=${(event) => set({ state: event.target.value })}>
      ${STATES.map((one) => html`<option value=${one}>${one}${stats ? ` (${format.short(stats.depth[one] ?? 0)})` : ''}</option>`)}</select></label>
    <label>Order <select value=${query.order ?? 'newest'} onChange=${(event) => set({ order: event.target.value })}>
      <option value="newest">newest first</option><option value="oldest">oldest first</option></select></label>
    <label>Older than <select value=${query.olderThanMs ?? ''} onChange=${(event) => set({ olderThanMs: event.target.value })}>
      <option value="">any age</option><option value="60000">1 min</option><option value="3600000">1 h</option><option value="86400000">1 d</option><option value="604800000">7 d</option></select></label>
    <label>Text <input type="search" value=${query.text ?? ''} placeholder="in the id or anywhere" onChange=${(event) => set({ text: event.target.value })} /></label>
    <span class="where"><label>Attribute <input value=${attribute} size="10" placeholder="group" onInput=${(event) => setAttribute(event.target.value)} /></label>
      <label>is <input value=${value} size="10" placeholder="acme" onInput=${(event) => setValue(event.target.value)} /></label><button>Add</button></span>
    ${whereOf(query).map(([name, is]) => html`<button type="button" class="chip" aria-label=${`Remove the filter ${name} is ${is}`} onClick=${() => set({ [`where.${name}`]: '' })}>${name} = ${is} ×</button>`)}
  </form>`;
}

function listPath(queue, query) {
  const wanted = new URLSearchParams({ state: query.state ?? 'PENDING', limit: String(PAGE) });
  for (const name of ['order', 'text', 'olderThanMs', 'cursor']) if (query[name]) wanted.set(name, query[name]);
  for (const [name, value] of whereOf(query)) wanted.set(`where.${name}`, value);
  return `${queuePath(queue, 'tasks')}?${wanted}`;
}

// The jobs of the daemon know attributes and age, and not text.
function bulkInput(action, query) {
  const input = { do: action, states: [query.state ?? 'PENDING'] };
  const where = whereOf(query);
  if (where.length) input.where = Object.fromEntries(where.map(([name, value]) => [name, value]));
  if (query.olderThanMs) input.olderThanMs = Number(query.olderThanMs);
  return input;
}

function row(task, queue, marked, mark) {
  return [
    html`<input type="checkbox" aria-label=${`Mark ${task.taskId}`} checked=${marked.has(task.taskId)} onChange=${() => mark(task.taskId)} />`,
    html`<a class="id" href=${link(['queues', queue, 'tasks', task.taskId])}>${task.taskId}</a>`,
    html`<${When} at=${task.taskCreated} />`,
    task.attempt ?? 0,
    task.deadline ? html`<${When} at=${task.deadline} ageOnly />` : html`<span class="quiet">–</span>`,
    [task.group && `group ${task.group}`, task.key && `key ${task.key}`, task.priority && `priority ${task.priority}`].filter(Boolean).join(', '),
    html`<span class="clip">${task.error ?? task.takenBy ?? ''}</span>`,
  ];
}

export function Tasks({ queue, query, stats, onChange }) {
  const [marked, setMarked] = useState(new Set());
  const [asking, setAsking] = useState(null);
  const path = listPath(queue, query);
  const { value, error, again } = usePoll((signal) => get(path, signal), 4000, [path]);
  const state = query.state ?? 'PENDING';
  const changed = () => {
    setMarked(new Set());
    again();
    onChange();
  };
  const mark = (id) => {
    const next = new Set(marked);
    if (!next.delete(id)) next.add(id);
    setMarked(next);
  };
  const ids = (value?.tasks ?? []).map((task) => task.taskId).filter((id) => marked.has(id));
  const actions = [CAN_CANCEL.includes(state) && 'cancel', CAN_REDRIVE.includes(state) && 'redrive', state === 'DELAYED' && 'run', 'duplicate',
    state !== 'TAKEN' && 'purge'].filter(Boolean);
  const forMarked = actions.filter((one) => one !== 'purge');
  const askMarked = (action) => setAsking({ do: action, states: [state], taskIds: ids });
  const name = { run: 'Run now:', cancel: 'Cancel', redrive: 'Redrive', duplicate: 'Duplicate', purge: 'Remove' };
  const filtered = value && (whereOf(query).length > 0 || query.text || query.olderThanMs);
  return html`
    <${Filter} queue=${queue} query=${query} stats=${stats} />
    <p class="buttons">
      ${forMarked.map((one) => html`<button disabled=${ids.length === 0} onClick=${() => askMarked(one)} ...${needs('operate')}>${name[one]} ${ids.length || 'marked ones'}</button>`)}
      ${actions.map((one) => html`<button disabled=${Boolean(query.text)} title=${query.text ? 'Not with a text: jobs choose by state, attribute and age' : ''} onClick=${() => setAsking(bulkInput(one, query))} ...${needs('operate')}>${name[one]} all that match …</button>`)}
    </p>
    <${Failure} error=${error} />
    ${!value && !error && html`<${Waiting} what="the tasks" />`}
    ${value && html`<${Table} caption=${`Tasks of ${queue} in state ${state}`} empty=${filtered ? `None of the ${format.count(value.looked)} tasks that were looked at fits.` : `No task is ${state}.`}
      columns=${[{ name: html`<span class="hidden">Marked</span>` }, { name: 'Task' }, { name: 'Created' }, { name: 'Attempt', number: true }, { name: 'Deadline' }, { name: 'Part' }, { name: 'Error, or holder' }]}
      rows=${value.tasks.map((task) => row(task, queue, marked, mark))} />
      <nav class="pages" aria-label="Pages">
        ${query.cursor && html`<a class="button" href=${link(['queues', queue, 'tasks'], withoutCursor(query))}>First page</a>`}
        ${value.cursor && html`<a class="button" href=${link(['queues', queue, 'tasks'], { ...query, cursor: value.cursor })}>${filtered ? 'Look further' : 'Next page'}</a>`}
        <span class="quiet">${format.plural(value.tasks.length, 'task')} shown${filtered ? `, of ${format.count(value.looked)} looked at` : ''}</span></nav>`}
    ${asking && html`<${BulkDialog} queue=${queue} input=${asking} typed=${asking.do === 'purge' ? queue : undefined} onClose=${() => setAsking(null)} onDone=${changed} />`}`;
}
