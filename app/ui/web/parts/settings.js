// Settings of a queue: their groups, the field of one with its meaning, and what differs between two policies.
import { html } from '../lib/html.js';

export const GROUPS = [
  ['Order and lateness', ['LATE', 'ORDER', 'PRIORITY_AGING_S', 'DEADLINE_MARGIN', 'REFUSE_LATE', 'DEFAULT_DEADLINE_MS', 'DEFAULT_TTL_S', 'KEEP_MS']],
  ['Pace', ['RATE_LIMIT', 'RATE_BURST', 'RATE_MIN', 'RATE_MAX', 'RATE_COUNTS', 'DEFAULT_COST', 'CONCURRENCY', 'CONCURRENCY_MIN', 'CONCURRENCY_MAX', 'PAGE_LIMIT']],
  ['Limits of groups and keys', ['LIMIT_BY', 'KEY_RATE_LIMIT', 'KEY_RATE_BURST', 'KEY_CONCURRENCY']],
  ['Room', ['MAX_WAITING', 'MAX_WAITING_BYTES', 'RESERVED_SHARE', 'CRITICAL_PRIORITY']],
  ['Attempts', ['MAX_ATTEMPTS', 'ON_FAILURE', 'LEASE_MS', 'BACKOFF_BASE_MS', 'BACKOFF_FACTOR', 'BACKOFF_MAX_MS', 'BACKOFF_JITTER']],
];

// The meanings are lines of docs/settings.md: `code` and [links](x.md), of which the text stays.
export function words(text) {
  return text.replace(/ ?\(\[[^\]]*\]\([^)]*\)\)/g, '').replace(/; \[[^\]]*\.md\]\([^)]*\)/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').split('`')
    .map((part, i) => (i % 2 ? html`<code>${part}</code>` : part));
}
const plain = (text) => text.replaceAll('`', '');
// The values of a setting that has nothing but a few words.
function choices(value) {
  const all = value.split(', ');
  return all.every((one) => /^`[a-z0-9]+`$/.test(one)) ? all.map(plain) : null;
}

// `before`: the value in force; '' if the setting is not. `scope`: begins the field's id.
export function Field({ name, help, value, before, onChange, scope = 'set' }) {
  const options = help && choices(help.value);
  const id = `${scope}-${name}`;
  const changed = value !== before;
  const input = options && (options.includes(before) || before === '')
    ? html`<select id=${id} value=${value} aria-describedby=${`${id}-help`} onChange=${(event) => onChange(event.target.value)}>
        ${before === '' && html`<option value="">–</option>`}${options.map((one) => html`<option value=${one}>${one}</option>`)}</select>`
    : html`<input id=${id} value=${value} aria-describedby=${`${id}-help`} spellcheck=${false} autocomplete="off" onInput=${(event) => onChange(event.target.value)} />`;
  return html`<div class=${`setting${changed ? ' changed' : ''}`}>
    <label for=${id}><code>${name}</code></label>${input}
    <p id=${`${id}-help`}>${help ? html`${words(help.meaning)} <span class="quiet">(${words(help.value)}; default ${words(help.fallback ?? help.default)})</span>` : ''}</p>
  </div>`;
}

// What would be different, as the daemon says by a dry run: a setting may bring others along.
export function difference(before, after) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.filter((name) => before[name] !== after[name]).map((name) => [name, before[name], after[name]]);
}

export function Difference({ rows }) {
  return html`<table class="difference"><caption class="hidden">What changes</caption>
    <thead><tr><th scope="col">Setting</th><th scope="col">Now</th><th scope="col">Then</th></tr></thead>
    <tbody>${rows.map(([name, now, then]) => html`<tr><th scope="row"><code>${name}</code></th><td><code>${now ?? 'not in force'}</code></td><td><code>${then ?? 'not in force'}</code></td></tr>`)}</tbody></table>`;
}
