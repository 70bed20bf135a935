// Pausing and resuming a queue, a group or a key.
import { html, useState } from '../lib/html.js';
import { post, queuePath } from '../lib/api.js';
import { Confirm, say } from '../parts/dialog.js';

export function partName(part) {
  return part.group !== undefined ? `group ${part.group}` : part.key !== undefined ? `key ${part.key}` : 'the whole queue';
}

export async function resume(queue, part = {}) {
  await post(queuePath(queue, 'resume'), part);
  say(`${partName(part)} of ${queue} goes on.`);
}

// `part`: {}, { group } or { key }.
export function PauseDialog({ queue, part = {}, onClose, onDone }) {
  const [reason, setReason] = useState('');
  const [minutes, setMinutes] = useState('');
  const pause = async () => {
    const body = { ...part };
    if (reason) body.reason = reason;
    if (minutes) body.forMs = Math.round(Number(minutes) * 60_000);
    await post(queuePath(queue, 'pause'), body);
    say(`${partName(part)} of ${queue} is paused.`, async () => {
      await post(queuePath(queue, 'resume'), part);
      onDone?.();
    });
    onDone?.();
  };
  return html`<${Confirm} title=${`Pause ${partName(part)} of ${queue}?`} verb="Pause" onClose=${onClose} onDo=${pause}>
    <p>No task of it starts until it is resumed. Tasks in work go on, new ones are created, and deadlines go on: what becomes too late meanwhile is shed.</p>
    <label class="field">Why (others see this)
      <input value=${reason} maxlength="256" onInput=${(event) => setReason(event.target.value)} /></label>
    <label class="field">For how many minutes (empty: until somebody resumes it)
      <input type="number" min="0.02" step="any" value=${minutes} onInput=${(event) => setMinutes(event.target.value)} /></label>
  </${Confirm}>`;
}
