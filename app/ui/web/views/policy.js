// The settings that decide what becomes of tasks: what each means, what a change would do, undo.
import { html, useMemo, useState } from '../lib/html.js';
import { get, post, queuePath } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { needs } from '../lib/who.js';
import { Confirm, say } from '../parts/dialog.js';
import { Failure, Waiting } from '../parts/bits.js';

const GROUPS = [
  ['Order and lateness', ['LATE', 'ORDER', 'DEADLINE_MARGIN', 'REFUSE_LATE', 'DEFAULT_DEADLINE_MS', 'DEFAULT_TTL_S', 'KEEP_MS']],
  ['Pace', ['RATE_LIMIT', 'RATE_BURST', 'RATE_MIN', 'RATE_MAX', 'RATE_COUNTS', 'DEFAULT_COST', 'CONCURRENCY', 'CONCURRENCY_MIN', 'CONCURRENCY_MAX', 'PAGE_LIMIT']],
  ['Limits of groups and keys', ['LIMIT_BY', 'KEY_RATE_LIMIT', 'KEY_RATE_BURST', 'KEY_CONCURRENCY']],
  ['Room', ['MAX_WAITING', 'MAX_WAITING_BYTES', 'RESERVED_SHARE', 'CRITICAL_PRIORITY']],
  ['Attempts', ['MAX_ATTEMPTS', 'ON_FAILURE', 'LEASE_MS', 'BACKOFF_BASE_MS', 'BACKOFF_FACTOR', 'BACKOFF_MAX_MS', 'BACKOFF_JITTER']],
];

// The meanings are lines of docs/settings.md: `code` and [links](x.md), of which the text stays.
function words(text) {
  return text.replace(/ ?\(\[[^\]]*\]\([^)]*\)\)/g, '').replace(/; \[[^\]]*\.md\]\([^)]*\)/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').split('`')
    .map((part, i) => (i % 2 ? html`<code>${part}</code>` : part));
}
const plain = (text) => text.replaceAll('`', '');
// The values of a setting that has nothing but a few words.
function choices(value) {
  const all = value.split(', ');
  return all.every((one) => /^`[a-z0-9]+`$/.test(one)) ? all.map(plain) : null;
}

function Field({ name, help, value, before, onChange }) {
  const options = help && choices(help.value);
  const id = `set-${name}`;
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
function difference(before, after) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.filter((name) => before[name] !== after[name]).map((name) => [name, before[name], after[name]]);
}

function Difference({ rows }) {
  return html`<table class="difference"><caption class="hidden">What changes</caption>
    <thead><tr><th scope="col">Setting</th><th scope="col">Now</th><th scope="col">Then</th></tr></thead>
    <tbody>${rows.map(([name, now, then]) => html`<tr><th scope="row"><code>${name}</code></th><td><code>${now ?? 'not in force'}</code></td><td><code>${then ?? 'not in force'}</code></td></tr>`)}</tbody></table>`;
}

// The changes that bring back what was before. A setting that was not in force goes with the one that brought it.
function backTo(before, after) {
  return Object.fromEntries(Object.entries(before).filter(([name, value]) => after[name] !== value));
}

export function PolicyForm({ queue, onChange }) {
  const [draft, setDraft] = useState({});
  const [asked, setAsked] = useState(null);
  const [error, setError] = useState(null);
  const settings = usePoll((signal) => get('/settings', signal), 3_600_000, []);
  const policy = usePoll((signal) => get(queuePath(queue, 'policy'), signal), 5000, [queue]);
  const help = useMemo(() => new Map((settings.value?.settings ?? []).map((row) => [row.name, row])), [settings.value]);
  if (!policy.value) return policy.error ? html`<${Failure} error=${policy.error} />` : html`<${Waiting} what="the policy" />`;
  const now = policy.value;
  const changes = Object.fromEntries(Object.entries(draft).filter(([name, value]) => value !== (now[name] ?? '')));
  const dirty = Object.keys(changes).length > 0;

  const look = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      const after = await post(queuePath(queue, 'policy'), { ...changes, dryRun: true });
      setAsked({ rows: difference(now, after), after });
    } catch (failed) {
      setError(failed);
    }
  };
  const apply = async () => {
    const before = now;
    const after = await post(queuePath(queue, 'policy'), changes);
    setDraft({});
    policy.again();
    onChange?.();
    say(`The policy of ${queue} is changed.`, async () => {
      await post(queuePath(queue, 'policy'), backTo(before, after));
      policy.again();
    });
  };
  // LATE stands for three others and is never in force by itself; the rest is shown when it is in force.
  const shown = (name) => name in now || name === 'LATE';
  const rest = Object.keys(now).filter((name) => !GROUPS.some(([, names]) => names.includes(name)));
  return html`<form class="policy" onSubmit=${look}>
    <p>A change holds from the next take on, until the template is deployed again or the daemon starts anew. Write it into the template to keep it.</p>
    ${[...GROUPS, ['Others', rest]].map(([title, names]) => names.some(shown) && html`<fieldset><legend>${title}</legend>
      ${names.filter(shown).map((name) => html`<${Field} key=${name} name=${name} help=${help.get(name)} before=${now[name] ?? ''}
        value=${draft[name] ?? now[name] ?? ''} onChange=${(value) => setDraft({ ...draft, [name]: value })} />`)}</fieldset>`)}
    <${Failure} error=${error} />
    <p class="buttons sticky">
      <button class="main" disabled=${!dirty} ...${needs('operate')}>Look at the change …</button>
      <button type="button" disabled=${!dirty} onClick=${() => setDraft({})}>Take it back</button>
    </p>
    ${asked && html`<${Confirm} title=${`Change the policy of ${queue}?`} verb="Apply" onClose=${() => setAsked(null)} onDo=${apply}>
      ${asked.rows.length ? html`<${Difference} rows=${asked.rows} />` : html`<p>Nothing would be different.</p>`}
    </${Confirm}>`}
  </form>`;
}
