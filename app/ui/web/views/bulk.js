// Changes of many tasks: counted first, then done by a job of the daemon, whose way is shown.
import { html, useEffect, useState } from '../lib/html.js';
import { get, post, queuePath, remove } from '../lib/api.js';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/bits.js';
import * as format from '../lib/format.js';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const isOver = (job) => !['counting', 'changing'].includes(job.phase);

// Starts a job and tells `seen` how it goes until it is over. The job goes on in the daemon whoever looks.
async function follow(queue, input, seen, alive) {
  let job = await post(queuePath(queue, 'jobs'), input);
  seen(job);
  while (!isOver(job) && alive()) {
    await sleep(300);
    job = await get(queuePath(queue, 'jobs', String(job.id)));
    seen(job);
  }
  return job;
}

function inWords(input) {
  const parts = [`in ${(input.states ?? []).join(', ') || 'any state that this is for'}`];
  for (const [name, value] of Object.entries(input.where ?? {})) parts.push(`whose ${name} is ${value}`);
  if (input.olderThanMs) parts.push(`created more than ${format.age(input.olderThanMs)} ago`);
  return parts.join(', ');
}

const VERBS = { purge: 'Remove for good', cancel: 'Cancel', redrive: 'Redrive' };
const EFFECT = {
  purge: 'They are taken out of the table for good. There is no way back.',
  cancel: 'Those that wait become CANCELLED; those in work are marked, and their holders are told.',
  redrive: 'They are put back with all their attempts.',
};

// `input`: of POST jobs, without `dryRun`. `typed`: what has to be typed before.
export function BulkDialog({ queue, input, typed, onClose, onDone }) {
  const [counted, setCounted] = useState(null);
  const [job, setJob] = useState(null);
  const [rate, setRate] = useState('');
  const [text, setText] = useState('');
  const [error, setError] = useState(null);
  const verb = VERBS[input.do];

  useEffect(() => {
    let here = true;
    follow(queue, { ...input, dryRun: true }, (one) => here && setCounted(one), () => here).catch((failed) => here && setError(failed));
    return () => {
      here = false;
    };
  }, []);

  const start = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      const wanted = rate ? { ...input, ratePerSecond: Number(rate) } : input;
      const over = await follow(queue, wanted, setJob, () => true);
      if (over.phase === 'failed') setError({ message: over.error });
      onDone?.();
    } catch (failed) {
      setError(failed);
    }
  };
  const ready = counted && isOver(counted);
  const done = job && isOver(job);
  return html`<${Dialog} title=${`${verb} tasks of ${queue}?`} onClose=${onClose}>
    <form onSubmit=${start}>
      <p>Tasks ${inWords(input)}.</p>
      ${!ready && !error && html`<p role="status">Counting … ${counted ? format.count(counted.matched) : ''}</p>`}
      ${ready && !job && html`<p class="counted" role="status"><b class="num">${format.count(counted.matched)}</b> ${counted.matched === 1 ? 'task matches' : 'tasks match'}, of ${format.count(counted.looked)} looked at. ${EFFECT[input.do]}</p>
        ${counted.example && html`<p>One of them: <code>${counted.example.taskId}</code></p>`}
        ${input.do === 'redrive' && html`<label class="field">At most so many a second (empty: as the daemon has time)<input type="number" min="0.1" step="any" value=${rate} onInput=${(event) => setRate(event.target.value)} /></label>`}
        ${typed && html`<label class="field">Type <code>${typed}</code> to go on<input value=${text} onInput=${(event) => setText(event.target.value)} autocomplete="off" spellcheck=${false} /></label>`}`}
      ${job && html`<p role="status">${job.phase}: <b class="num">${format.count(job.changed)}</b> of ${format.count(job.matched)} changed${job.moved ? `, ${format.count(job.moved)} had moved on meanwhile` : ''}${job.failed ? `, ${format.count(job.failed)} failed` : ''}.</p>
        <progress max=${job.matched || 1} value=${done ? job.matched || 1 : job.changed + job.moved + job.failed} aria-label="Progress"></progress>`}
      <${Failure} error=${error} />
      <p class="buttons">
        ${job && !done && html`<button type="button" onClick=${() => remove(queuePath(queue, 'jobs', String(job.id))).catch(setError)}>Stop it</button>`}
        <button type="button" onClick=${onClose}>${done ? 'Close' : job ? 'Leave it to the daemon' : 'Leave it'}</button>
        ${!job && html`<button class=${input.do === 'redrive' ? 'main' : 'danger'} disabled=${!ready || counted.matched === 0 || Boolean(typed && text !== typed)}>${verb}${ready ? ` ${format.count(counted.matched)}` : ''}</button>`}
      </p>
    </form>
  </${Dialog}>`;
}
