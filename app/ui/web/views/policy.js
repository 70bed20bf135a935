// The settings that decide what becomes of tasks: what each means, what a change would do, undo.
import { html, useMemo, useState } from '../lib/html.js';
import { get, post, queuePath } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { needs } from '../lib/who.js';
import { Confirm, say } from '../parts/dialog.js';
import { Failure, Waiting } from '../parts/bits.js';
import { Difference, Field, GROUPS, difference } from '../parts/settings.js';

// The changes that bring back what was before. A setting that was not in force goes with the one that brought it.
export function backTo(before, after) {
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
