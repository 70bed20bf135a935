// What happened to a task, one event below the other, each with its time and the time since the one before. The bar
// beside them has a place for each attempt, waiting and working.
import { html } from '../lib/html.js';
import { numberOf } from '../lib/exact.js';
import { When } from './bits.js';
import * as format from '../lib/format.js';

const GOOD = ['succeeded'];
const BAD = ['failed', 'lease-ended', 'daemon-died', 'gave-up', 'died', 'shed', 'refused', 'bounced'];
const WORK = ['taken'];

const kindOf = (code) => (GOOD.includes(code) ? 'good' : BAD.includes(code) ? 'bad' : WORK.includes(code) ? 'work' : 'wait');

// The stretches between events whose times are known: waiting, or in work after a take. What began before the task was
// created happened to others.
function stretches(events, created, now) {
  const known = events.filter((event) => event.at !== null && event.at >= created);
  const ended = known.at(-1) && ['succeeded', 'gave-up', 'died', 'cancelled', 'replaced', 'shed'].includes(known.at(-1).code);
  const out = [];
  for (let i = 0; i < known.length; ++i) {
    const end = i + 1 < known.length ? known[i + 1].at : ended ? known[i].at : now;
    if (end > known[i].at) out.push({ kind: known[i].code === 'taken' ? 'work' : 'wait', from: known[i].at, to: end });
  }
  return out;
}

export function TimeLine({ life, now }) {
  const events = life.map((event) => ({ at: numberOf(event.get('at')), code: event.get('code'), message: event.get('message') }));
  if (events.length === 0) return html`<p class="quiet">Nothing is known of it.</p>`;
  const created = events.find((event) => event.code === 'created')?.at ?? 0;
  const parts = stretches(events, created, now);
  const from = parts[0]?.from ?? 0;
  const all = (parts.at(-1)?.to ?? 0) - from;
  const worked = parts.filter((part) => part.kind === 'work').reduce((sum, part) => sum + part.to - part.from, 0);
  let before = null;
  return html`
    ${all > 0 && html`<svg class="stretch" viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label=${`It waited ${format.age(all - worked)} and was in work for ${format.age(worked)}`}>
      ${parts.map((part) => html`<rect class=${part.kind} x=${((part.from - from) / all) * 1000} width=${Math.max(2, ((part.to - part.from) / all) * 1000)} height="14" />`)}</svg>
      <p class="quiet">waited ${format.age(all - worked)}, in work ${format.age(worked)}</p>`}
    <ol class="life">${events.map((event) => {
      const since = event.at !== null && before !== null ? event.at - before : null;
      if (event.at !== null && event.at >= created) before = event.at;
      return html`<li class=${kindOf(event.code)}><span class="message">${event.message}</span>
        <span class="quiet">${event.at === null ? 'at a time that is not known' : html`<${When} at=${event.at} />`}${since !== null ? html` · ${format.age(since)} later` : ''}</span></li>`;
    })}</ol>`;
}
