// Removing tasks of a queue for good: the states first, then the count, then the queue's name typed.
import { html, useState } from '../lib/html.js';
import { Dialog } from '../parts/dialog.js';
import { BulkDialog } from './bulk.js';

const STATES = ['PENDING', 'DELAYED', 'SUCCESS', 'FAILURE', 'DEAD', 'SHED', 'CANCELLED'];

export function PurgeDialog({ queue, onClose, onDone }) {
  const [states, setStates] = useState([]);
  const [hours, setHours] = useState('');
  const [input, setInput] = useState(null);
  if (input) return html`<${BulkDialog} queue=${queue} input=${input} typed=${queue} onClose=${onClose} onDone=${onDone} />`;
  const toggle = (state) => setStates(states.includes(state) ? states.filter((one) => one !== state) : [...states, state]);
  const count = (event) => {
    event.preventDefault();
    const chosen = { do: 'purge', states };
    if (hours) chosen.olderThanMs = Math.round(Number(hours) * 3_600_000);
    setInput(chosen);
  };
  return html`<${Dialog} title=${`Purge ${queue}?`} onClose=${onClose}>
    <form onSubmit=${count}>
      <fieldset><legend>Remove tasks in these states</legend>
        ${STATES.map((state) => html`<label class="tick"><input type="checkbox" checked=${states.includes(state)} onChange=${() => toggle(state)} /> ${state}</label>`)}</fieldset>
      <label class="field">Created more than so many hours ago (empty: all)<input type="number" min="0" step="any" value=${hours} onInput=${(event) => setHours(event.target.value)} /></label>
      <p class="quiet">Tasks in work cannot be purged: cancel them.</p>
      <p class="buttons"><button type="button" onClick=${onClose}>Leave it</button><button class="main" disabled=${states.length === 0}>Count them</button></p>
    </form>
  </${Dialog}>`;
}
