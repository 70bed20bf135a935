// One task: why it is where it is, its life as a time line, its item as it is.
import { html, useState } from '../lib/html.js';
import { callText, daemonNow, queuePath } from '../lib/api.js';
import { useTaskLog } from '../lib/log.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { numberOf, parseExact, writeExact } from '../lib/exact.js';
import { Failure, Facts, Status, Waiting, When } from '../parts/bits.js';
import { LogLines } from '../parts/log_lines.js';
import { TimeLine } from '../parts/time_line.js';
import { TaskActions } from './task_actions.js';
import { Trace } from './trace.js';
import { shedWord } from './overview.js';
import * as format from '../lib/format.js';

const MOST_CALLS = 5; // The newest ones, whose ids are shown.
const number = (explained, name) => numberOf(explained.get(name));
const inWords = (ms) => (ms === null ? '–' : ms >= 0 ? `in ${format.age(ms)}` : `passed ${format.age(-ms)} ago`);

function Why({ explained }) {
  const reasons = explained.get('reasons') ?? [];
  return html`<section class="why" aria-label="Why it is where it is"><h2>Why</h2>
    <ul>${reasons.map((reason) => html`<li title=${reason.get('code')}>${reason.get('message')}</li>`)}</ul></section>`;
}

function TaskItem({ task }) {
  const [copied, setCopied] = useState(false);
  const text = writeExact(task);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
  };
  return html`<section aria-label="The item"><h2>The item, as it is stored <button class="plain" onClick=${copy}>${copied ? 'Copied' : 'Copy'}</button></h2>
    <pre class="item" tabindex="0">${text}</pre></section>`;
}

// What functions and the daemon have written about it: nothing, if no line names it.
function Logged({ id, events }) {
  const lines = useTaskLog(id, [events]);
  if (lines.length === 0) return null;
  const calls = [...new Set(lines.filter((line) => line.function).map((line) => line.requestId).filter(Boolean))].slice(-MOST_CALLS);
  return html`<section aria-label="What was logged"><h2>What was logged</h2>
    <${LogLines} lines=${lines} label=${`Lines of the log about ${id}`} />
    ${calls.length > 0 && html`<p class="quiet">Where traces go, find the spans of ${calls.length === 1 ? 'this call' : 'these calls'} by <code>faas.invocation_id</code>: ${calls.map((one) => html` <code>${one}</code>`)}</p>`}</section>`;
}

export function Task({ queue, id }) {
  const { value, error, again } = usePoll((signal) => callText('GET', queuePath(queue, 'tasks', id, 'explain'), undefined, signal).then(parseExact), 2000, [queue, id]);
  const head = html`<p class="crumbs"><a href=${link(['queues', queue])}>${queue}</a> / <a href=${link(['queues', queue, 'tasks'])}>tasks</a></p>`;
  if (!value) return html`${head}<h1 class="id">${id}</h1>${error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the task" />`}`;
  const task = value.get('task');
  const status = task?.get('taskStatus');
  const ahead = number(value, 'ahead');
  return html`${head}
    <header class="head"><h1 class="id">${id}</h1><${Status} status=${task ? status : 'not there'} />
      <${TaskActions} queue=${queue} id=${id} task=${task} onChange=${again} /></header>
    ${error && html`<${Failure} error=${error} />`}
    <${Why} explained=${value} />
    <${Facts} rows=${[
      ['Age', format.age(number(value, 'ageMs'))],
      task && ['Created', html`<${When} at=${numberOf(task.get('taskCreated'))} />`],
      number(value, 'deadlineInMs') !== null && ['Deadline', inWords(number(value, 'deadlineInMs'))],
      number(value, 'ttlInMs') !== null && ['ttl', inWords(number(value, 'ttlInMs'))],
      ahead !== null && ['Before it', `${value.get('aheadAtLeast') ? 'more than ' : ''}${format.plural(ahead, 'task')}`],
      task?.get('takenBy') && ['Holder', task.get('takenBy')],
    ]} />
    <section aria-label="Its life"><h2>Its life</h2><${TimeLine} life=${value.get('life') ?? []} now=${daemonNow()} /></section>
    <${Trace} queue=${queue} id=${id} events=${(value.get('life') ?? []).length} />
    <${Logged} id=${id} events=${(value.get('life') ?? []).length} />
    ${(value.get('log') ?? []).length > 0 && html`<section aria-label="Lines of the shed log"><h2>In the shed log</h2>
      <ul>${value.get('log').slice(0, 20).map((line) => html`<li><${When} at=${numberOf(line.get('at'))} /> ${line.get('what')} by <code>${line.get('policy')}</code>: ${shedWord(line.get('reason'))}</li>`)}</ul></section>`}
    ${task && html`<${TaskItem} task=${task} />`}`;
}
