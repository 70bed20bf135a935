// Changes of many tasks: counted first, then done by a job of the daemon, whose way is shown.
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { callText, get, queuePath, remove } from '../lib/api.js';
import { parseExact } from '../lib/exact.js';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/bits.js';
import * as format from '../lib/format.js';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const isOver = (job) => !['counting', 'changing'].includes(job.phase);

// The body of POST jobs; `set` is JSON as it was typed, as numbers keep all their digits.
const bodyOf = (input, set) => (set ? `${JSON.stringify(input).slice(0, -1)},"set":${set}}` : JSON.stringify(input));

// Starts a job and tells `seen` how it goes until it is over. The job goes on in the daemon whoever looks.
async function follow(queue, body, seen, alive) {
  let job = JSON.parse(await callText('POST', queuePath(queue, 'jobs'), body));
  seen(job);
  while (!isOver(job) && alive()) {
    await sleep(300);
    job = await get(queuePath(queue, 'jobs', String(job.id)));
    seen(job);
  }
  return job;
}

// The text for `set`, if it is a JSON object; empty if it changes nothing. Throws a message for people.
function changesIn(text) {
  if (!text.trim()) return '';
  let value;
  try {
    value = parseExact(text);
  } catch (wrong) {
    throw new Error(`What to set is not valid JSON: ${wrong.message}`);
  }
  if (!(value instanceof Map)) throw new Error('What to set must be an object, like {"group": "eu"}.');
  return value.size ? text : '';
}

function inWords(input) {
  if (input.taskIds) return `that you marked (${input.taskIds.length}), if they are still ${input.states.join(', ')}`;
  const parts = [`in ${(input.states ?? []).join(', ') || 'any state that this is for'}`];
  for (const [name, value] of Object.entries(input.where ?? {})) parts.push(`whose ${name} is ${value}`);
  if (input.olderThanMs) parts.push(`created more than ${format.age(input.olderThanMs)} ago`);
  return parts.join(', ');
}

const VERBS = { purge: 'Remove for good', cancel: 'Cancel', redrive: 'Redrive', run: 'Run now:', duplicate: 'Duplicate' };
const TITLES = { run: (queue) => `Run tasks of ${queue} now?` };
const EFFECT = {
  purge: 'They are taken out of the table for good. There is no way back.',
  cancel: 'Those that wait become CANCELLED; those in work are marked, and their holders are told.',
  redrive: 'They are put back with all their attempts.',
  run: 'Their delay ends now: they become PENDING, or SHED if they are too late by now.',
  duplicate: 'Each gets a copy: a new task with an id of its own, without the key, deadline, delay and ttl of its original. The originals stay as they are.',
};
const IS_GENTLE = ['redrive', 'run', 'duplicate'];

function Rate({ rate, setRate }) {
  return html`<label class="field">At most so many a second (empty: as the daemon has time)<input type="number" min="0.1" step="any" value=${rate} onInput=${(event) => setRate(event.target.value)} /></label>`;
}

function Changes({ changes, setChanges }) {
  return html`<label class="field">Set in each copy, as in a create request (empty: as the original)<textarea rows="5" spellcheck=${false} value=${changes} placeholder=${'{"payload": {"to": "ada"}, "group": "eu", "deadlineMs": 60000}'} onInput=${(event) => setChanges(event.target.value)}></textarea></label>`;
}

// `input`: of POST jobs, without `dryRun`. `typed`: what has to be typed before.
export function BulkDialog({ queue, input, typed, onClose, onDone }) {
  const [counted, setCounted] = useState(null);
  const [job, setJob] = useState(null);
  const [rate, setRate] = useState('');
  const [changes, setChanges] = useState('');
  const [text, setText] = useState('');
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const verb = VERBS[input.do];
  const isOpen = useRef(true);
  // Should an answer get lost, the next try makes no second copies.
  const [batch] = useState(() => Array.from(crypto.getRandomValues(new Uint8Array(5)), (byte) => byte.toString(16).padStart(2, '0')).join(''));

  useEffect(() => {
    const alive = () => isOpen.current;
    follow(queue, bodyOf({ ...input, dryRun: true }), (one) => alive() && setCounted(one), alive)
      .then((one) => alive() && one.error && setError({ message: one.error }), (failed) => alive() && setError(failed));
    return () => {
      isOpen.current = false;
    };
  }, []);

  const start = async (event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      const wanted = { ...input, ...(rate && { ratePerSecond: Number(rate) }), ...(input.do === 'duplicate' && { batch }) };
      const over = await follow(queue, bodyOf(wanted, changesIn(changes)), setJob, () => isOpen.current);
      if (!isOpen.current) return;
      if (over.error) setError({ message: over.error });
      onDone?.();
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  const ready = counted && isOver(counted);
  const done = job && isOver(job);
  return html`<${Dialog} title=${TITLES[input.do]?.(queue) ?? `${verb} tasks of ${queue}?`} onClose=${onClose}>
    <form onSubmit=${start}>
      <p>Tasks ${inWords(input)}.</p>
      ${!ready && !error && html`<p role="status">Counting … ${counted ? format.count(counted.matched) : ''}</p>`}
      ${ready && !job && html`<p class="counted" role="status"><b class="num">${format.count(counted.matched)}</b> ${counted.matched === 1 ? 'task matches' : 'tasks match'}, of ${format.count(counted.looked)} looked at. ${EFFECT[input.do]}</p>
        ${input.taskIds && html`<ul class="ids">${input.taskIds.slice(0, 10).map((id) => html`<li><code>${id}</code></li>`)}${input.taskIds.length > 10 && html`<li>and ${input.taskIds.length - 10} more</li>`}</ul>`}
        ${!input.taskIds && counted.example && html`<p>One of them: <code>${counted.example.taskId}</code></p>`}
        ${input.do === 'duplicate' && html`<${Changes} ...${{ changes, setChanges }} />`}
        ${IS_GENTLE.includes(input.do) && html`<${Rate} ...${{ rate, setRate }} />`}
        ${typed && html`<label class="field">Type <code>${typed}</code> to go on<input value=${text} onInput=${(event) => setText(event.target.value)} autocomplete="off" spellcheck=${false} /></label>`}`}
      ${job && html`<p role="status">${job.phase}: <b class="num">${format.count(job.changed)}</b> of ${format.count(job.matched)} ${input.do === 'duplicate' ? 'copied' : 'changed'}${job.copied ? `, ${format.count(job.copied)} had a copy already` : ''}${job.moved ? `, ${format.count(job.moved)} had moved on meanwhile` : ''}${job.failed ? `, ${format.count(job.failed)} failed` : ''}.</p>
        <progress max=${job.matched || 1} value=${done ? job.matched || 1 : job.changed + job.moved + job.failed} aria-label="Progress"></progress>`}
      <${Failure} error=${error} />
      <p class="buttons">
        ${job && !done && html`<button type="button" onClick=${() => remove(queuePath(queue, 'jobs', String(job.id))).catch(setError)}>Stop it</button>`}
        <button type="button" onClick=${onClose}>${done ? 'Close' : job ? 'Leave it to the daemon' : 'Leave it'}</button>
        ${!job && html`<button class=${IS_GENTLE.includes(input.do) ? 'main' : 'danger'} disabled=${busy || !ready || counted.matched === 0 || Boolean(typed && text !== typed)}>${verb}${ready ? ` ${format.count(counted.matched)}` : ''}</button>`}
      </p>
    </form>
  </${Dialog}>`;
}
