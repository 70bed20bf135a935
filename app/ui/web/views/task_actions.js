// What can be done with one task, by its state.
import { html, useState } from '../lib/html.js';
import { call, callText, daemonNow, post, queuePath } from '../lib/api.js';
import { link } from '../lib/route.js';
import { needs } from '../lib/who.js';
import { writeExact } from '../lib/exact.js';
import { Confirm, Dialog, say } from '../parts/dialog.js';
import { Failure } from '../parts/bits.js';

const OWN = ['taskId', 'taskStatus', 'taskCreated', 'taskUpdated', 'taskTaken', 'taskFinished', 'attempt', 'lease', 'leaseMs', 'takenBy', 'lane', 'ttl', 'deadline',
  'notBefore', 'queueTtl', 'shedReason', 'error', 'result', 'history', 'cancelRequested', 'replacedBy', 'replace', 'leaseBeat', 'liveKey'];
const MARKS = ['taskRev', 'taskBorn', 'lastWrite', 'lastEnd', 'taskPlace', 'taskRank', 'taskTtl']; // A queue's own where the task has one of ENGINE.
const ENGINE = ['taskBorn', 'lastWrite', 'taskRank'];
const CREATE = ['payload', 'group', 'priority', 'maxAttempts', 'cost'];

// The request that would create such a task again: with another id, without its key (which would find the old one), and
// with no deadline, as the old one's may have passed.
function asNew(task) {
  const out = new Map();
  const attributes = new Map();
  const own = ENGINE.some((name) => task.has(name)) ? [...OWN, ...MARKS] : OWN;
  for (const [name, value] of task) {
    if (CREATE.includes(name)) out.set(name, value);
    else if (!own.includes(name) && name !== 'key' && !name.startsWith('freshet')) attributes.set(name, value);
  }
  if (attributes.size) out.set('attributes', attributes);
  return writeExact(out);
}

function Duplicate({ queue, task, onClose }) {
  const [text, setText] = useState(() => asNew(task));
  const [error, setError] = useState(null);
  const create = async (event) => {
    event.preventDefault();
    try {
      // As it was typed: numbers keep all their digits.
      const answer = JSON.parse(await callText('POST', queuePath(queue, 'tasks'), text));
      say(`${answer.taskId} is created.`);
      onClose();
      location.hash = link(['queues', queue, 'tasks', answer.taskId]);
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<${Dialog} title="Create a task like this one" onClose=${onClose}>
    <form onSubmit=${create}>
      <p>The request as it would be sent; change what you like. It gets an id of its own, no key and no deadline unless you name them.</p>
      <label class="field">Request<textarea rows="12" spellcheck=${false} value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
      <${Failure} error=${error} />
      <p class="buttons"><button type="button" onClick=${onClose}>Leave it</button><button class="main">Create</button></p>
    </form></${Dialog}>`;
}

// A delayed task is due when its `notBefore` is over: the item store's own write moves that to now.
async function runNow(queue, id) {
  const body = {
    TableName: queue,
    Key: { taskId: { S: id } },
    UpdateExpression: 'SET notBefore = :now',
    ConditionExpression: 'taskStatus = :delayed',
    ExpressionAttributeValues: { ':now': { N: String(daemonNow() - 5000) }, ':delayed': { S: 'DELAYED' } },
  };
  const response = await fetch('/', {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': 'DynamoDB_20120810.UpdateItem' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error((await response.json()).message ?? 'it is not delayed any more');
}

export function TaskActions({ queue, id, task, onChange }) {
  const [asking, setAsking] = useState('');
  const [error, setError] = useState(null);
  const status = task?.get('taskStatus');
  const done = (what) => () => {
    setError(null);
    say(what);
    onChange();
  };
  const cancel = async () => {
    const [result] = (await post(queuePath(queue, 'cancel'), { taskIds: [id] })).results;
    if (result.error) throw result.error;
    done(result.cancelRequested ? `${id} is in work; its holder is told.` : `${id} is cancelled.`)();
  };
  const redrive = () => call('POST', queuePath(queue, 'redrive'), { state: status, taskIds: [id] }).then(done(`${id} is put back with all its attempts.`), setError);
  return html`<span class="buttons">
    ${['DEAD', 'FAILURE', 'CANCELLED', 'SHED'].includes(status) && html`<button class="main" onClick=${redrive} ...${needs('operate')}>${status === 'CANCELLED' || status === 'SHED' ? 'Put back' : 'Retry'}</button>`}
    ${status === 'DELAYED' && html`<button class="main" onClick=${() => runNow(queue, id).then(done(`${id} is due now.`), setError)} ...${needs('work')}>Run now</button>`}
    ${['PENDING', 'DELAYED', 'TAKEN'].includes(status) && html`<button onClick=${() => setAsking('cancel')} ...${needs('operate')}>Cancel …</button>`}
    ${task && html`<button onClick=${() => setAsking('duplicate')} ...${needs('work')}>Duplicate …</button>`}
    <${Failure} error=${error} />
    ${asking === 'cancel' && html`<${Confirm} title=${`Cancel ${id}?`} verb="Cancel the task" danger onClose=${() => setAsking('')} onDo=${cancel}>
      <p>${status === 'TAKEN' ? 'It is in work: its holder is told to stop, and it becomes CANCELLED when that lets go of it.' : 'It becomes CANCELLED and is not started.'}</p></${Confirm}>`}
    ${asking === 'duplicate' && html`<${Duplicate} queue=${queue} task=${task} onClose=${() => setAsking('')} />`}
  </span>`;
}
