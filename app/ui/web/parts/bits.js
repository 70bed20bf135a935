// Small parts that all views use.
import { html, useEffect, useState } from '../lib/html.js';
import { daemonNow } from '../lib/api.js';
import * as format from '../lib/format.js';

const LAST_MOMENT = 8.64e15; // A Date has no later one, in milliseconds since 1970.

// A moment: as the time of day, with its age beside it.
export function When({ at, ageOnly = false }) {
  if (at === null || at === undefined) return html`<span class="quiet">–</span>`;
  // A client may have put any number, or a text, into its task.
  if (!(Math.abs(at) <= LAST_MOMENT)) return html`<span title="no time that a calendar has">${String(at)}</span>`;
  const ago = daemonNow() - at;
  const words = ago >= 0 ? `${format.age(ago)} ago` : `in ${format.age(-ago)}`;
  return html`<time dateTime=${new Date(at).toISOString()} title=${format.fullTime(at)}>
    ${ageOnly ? words : html`${format.time(at)} <span class="quiet">· ${words}</span>`}
  </time>`;
}

// Draws its view anew now and then, so that ages go on while nothing is polled.
export function useTick(everyMs = 1000) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}

export function Failure({ error, children }) {
  if (!error) return null;
  return html`<div class="failure" role="alert"><strong>${error.message}</strong>${children}</div>`;
}

export function Nowhere() {
  return html`<${Failure} error=${{ message: 'There is no page at this address.' }} /><p><a href="#/">All queues</a></p>`;
}

export function Waiting({ what }) {
  return html`<p class="quiet" role="status">Asking for ${what} …</p>`;
}

const KINDS = { PENDING: 'wait', DELAYED: 'wait', TAKEN: 'work', SUCCESS: 'good', SHED: 'bad', DEAD: 'bad', FAILURE: 'bad', CANCELLED: 'off' };
export function Status({ status }) {
  return html`<span class=${`status ${KINDS[status] ?? 'off'}`}>${status ?? 'no status'}</span>`;
}

const STATES = { running: 'good', paused: 'wait', 'breaker open': 'bad', draining: 'wait' };
export function QueueState({ state }) {
  return html`<span class=${`status ${STATES[state] ?? 'off'}`}>${state}</span>`;
}

// Rows of name and value.
export function Facts({ rows }) {
  return html`<dl class="facts">
    ${rows.filter(Boolean).map(([name, value, title]) => html`<div title=${title}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

// The class of a cell: its words stay whole, unless one is so long that it would make the table too wide.
function widthOf(cell) {
  if (typeof cell !== 'string') return '';
  if (cell.length > 60) return 'prose';
  return cell.split(/\s/).every((word) => word.length <= 24) ? 'short' : '';
}

// `columns`: [{ name, number }]; `rows`: arrays of cells.
export function Table({ caption, columns, rows, empty }) {
  if (rows.length === 0) return html`<p class="quiet">${empty}</p>`;
  return html`<div class="scroll" role="region" aria-label=${caption} tabindex="0"><table>
    <caption class="hidden">${caption}</caption>
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.number ? 'num' : ''}>${column.name}</th>`)}</tr></thead>
    <tbody>${rows.map((cells) => html`<tr>${cells.map((cell, i) => html`<td class=${columns[i].number ? 'num' : widthOf(cell)}>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

export function Tabs({ name, all, now }) {
  return html`<nav class="tabs" aria-label=${name}>
    ${all.map(({ label, href, id }) => html`<a href=${href} aria-current=${id === now ? 'page' : undefined}>${label}</a>`)}
  </nav>`;
}
