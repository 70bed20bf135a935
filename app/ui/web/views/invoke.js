// Calls a function with a payload: its result or error, and the end of its log.
import { html, useState } from '../lib/html.js';
import { invoke, invokeLater } from '../lib/functions.js';
import { needs } from '../lib/who.js';
import { parseExact, writeExact } from '../lib/exact.js';
import { Failure } from '../parts/bits.js';
import * as format from '../lib/format.js';

// JSON with its numbers as they are; another text stays what it is.
function pretty(text) {
  try {
    return writeExact(parseExact(text));
  } catch {
    return text;
  }
}

function Answer({ answer }) {
  if (answer.later) {
    return html`<div class="answer" role="status"><p><span class="status work">queued</span> Its request is <code>${answer.id}</code>; what becomes of it is in the log.</p></div>`;
  }
  return html`<div class="answer" role="status">
    <p><span class=${`status ${answer.error ? 'bad' : 'good'}`}>${answer.error ? `failed (${answer.error.toLowerCase()})` : 'done'}</span>${' '}
      <span class="quiet">${format.age(answer.ms)} · version ${answer.version} · request ${answer.id}</span></p>
    <h3>${answer.error ? 'Error' : 'Result'}</h3><pre class="item" tabindex="0" aria-label=${answer.error ? 'Error' : 'Result'}>${pretty(answer.payload)}</pre>
    ${answer.log && html`<h3>End of its log</h3><pre class="item" tabindex="0" aria-label="End of its log">${answer.log}</pre>`}
  </div>`;
}

export function InvokeForm({ name, onDone }) {
  const [payload, setPayload] = useState('{}');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const [answer, setAnswer] = useState(null);
  const send = async (later) => {
    setBusy(true);
    setError(null);
    setAnswer(null);
    const began = performance.now();
    try {
      // As it was typed: numbers keep all their digits.
      const got = later ? { later, id: await invokeLater(name, payload) } : await invoke(name, payload);
      setAnswer({ ...got, ms: performance.now() - began });
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
    onDone();
  };
  const submit = (event) => {
    event.preventDefault();
    if (!busy) send(false);
  };
  return html`<form class="invoke" onSubmit=${submit}>
    <label class="field">Payload (JSON)<textarea rows="6" spellcheck=${false} value=${payload} onInput=${(event) => setPayload(event.target.value)}></textarea></label>
    <p class="buttons"><button class="main" disabled=${busy} ...${needs('work')}>Invoke</button>
      <button type="button" disabled=${busy} title="An event: nobody waits for its result" onClick=${() => send(true)} ...${needs('work')}>Invoke later</button>
      ${busy && html`<span class="quiet" role="status">It runs …</span>`}</p>
    <${Failure} error=${error} />
    ${answer && html`<${Answer} answer=${answer} />`}
  </form>`;
}
