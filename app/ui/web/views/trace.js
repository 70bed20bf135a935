// The trace of a task: its attempts, and the requests, calls and segments below each. Nothing, if the daemon traces none.
import { html } from '../lib/html.js';
import { get, queuePath } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { attemptsOf } from '../lib/spans.js';
import { When } from '../parts/bits.js';
import * as format from '../lib/format.js';

const AGAIN_MS = 5000;
const MOST_INDENTED = 6;

function Step({ row }) {
  return html`<li class=${row.error ? 'bad' : ''}>
    <span class="name" style=${{ paddingLeft: `${Math.min(row.depth, MOST_INDENTED) - 1}rem` }}>${row.name}</span>
    <span class="num">${format.age(row.ms)}</span>
    <svg class="stretch" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true"><rect class=${row.error ? 'lost' : 'work'} x=${row.from * 1000} width=${Math.max(2, row.share * 1000)} height="14" /></svg>
    ${row.error && html`<span class="bad">${row.error}</span>`}</li>`;
}

export function Trace({ queue, id, events }) {
  const { value } = usePoll((signal) => get(queuePath(queue, 'tasks', id, 'trace'), signal), AGAIN_MS, [queue, id, events]);
  const attempts = attemptsOf(value?.spans ?? []);
  if (attempts.length === 0) return null;
  return html`<section aria-label="Its trace"><h2>Its trace</h2>
    ${value.more && html`<p class="quiet">Only the newest spans are shown.</p>`}
    ${attempts.map((attempt) => html`<h3>${attempt.number === null ? attempt.name : `Attempt ${attempt.number}`} <span class="quiet"><${When} at=${attempt.at} /> · ${format.age(attempt.ms)} · trace <code>${attempt.traceId}</code></span></h3>
      ${attempt.error && html`<p class="bad">${attempt.error}</p>`}
      ${attempt.rows.length > 0 && html`<ol class="spans">${attempt.rows.map((row) => html`<${Step} row=${row} />`)}</ol>`}`)}</section>`;
}
