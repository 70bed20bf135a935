// A change of the policy that goes back by itself if the share of tasks done in time falls.
import { html, useState } from '../lib/html.js';
import { post, queuePath } from '../lib/api.js';
import { needs } from '../lib/who.js';
import { say } from '../parts/dialog.js';
import { Failure } from '../parts/bits.js';
import * as format from '../lib/format.js';

// `guard`: stats.policyGuard, or nothing.
export function GuardNote({ queue, guard, onChange }) {
  const [error, setError] = useState(null);
  if (!guard) return null;
  const keep = async () => {
    setError(null);
    try {
      await post(queuePath(queue, 'policy'), { guard: null });
      say(`The policy of ${queue} stays as it is.`);
      onChange?.();
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<div class="notice"><p><strong>The policy is under guard</strong> for ${format.age(guard.leftMs)}: it goes back by itself if the share in time falls by more than ${format.plural(guard.points, 'point')}.
      It was ${format.percent(guard.inTimeBefore)} before${guard.inTimeNow === undefined ? '' : html` and is <strong>${format.percent(guard.inTimeNow)}</strong> now`}.
      <button onClick=${keep} ...${needs('operate')}>Keep the policy</button></p>
    <${Failure} error=${error} /></div>`;
}

// `value`: { on, points, minutes }.
export function GuardFields({ value, onChange }) {
  const set = (name) => (event) => onChange({ ...value, [name]: Number(event.target.value) });
  return html`<fieldset class="guard"><legend>Guard</legend>
    <label><input type="checkbox" checked=${value.on} onChange=${(event) => onChange({ ...value, on: event.target.checked })} /> Go back by itself if the share in time falls</label>
    <p>by more than <input type="number" aria-label="Points" min="1" max="100" required disabled=${!value.on} value=${value.points} onInput=${set('points')} /> points
      within <input type="number" aria-label="Minutes" min="1" max="1440" required disabled=${!value.on} value=${value.minutes} onInput=${set('minutes')} /> minutes.</p></fieldset>`;
}
// The member of a change of the policy.
export function guardOf({ on, points, minutes }) {
  return on ? { guard: { points, withinMs: minutes * 60_000 } } : {};
}
