// The tasks in work, and who has them.
import { html } from '../lib/html.js';
import { get, queuePath } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { Failure, Table, Waiting } from '../parts/bits.js';
import * as format from '../lib/format.js';

const holderName = (name) => (name === '' ? html`<span class="quiet">without a name</span>` : name);

export function Holders({ queue }) {
  const { value, error } = usePoll((signal) => get(`${queuePath(queue, 'holders')}?limit=100`, signal), 2000, [queue]);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the tasks in work" />`;
  return html`
    <h2>Who has them</h2>
    <${Table} caption="Holders" empty="Nobody has a task of this queue now." columns=${[{ name: 'Holder' }, { name: 'Tasks', number: true }, { name: 'Longest', number: true }]}
      rows=${value.holders.map((holder) => [holderName(holder.name), format.count(holder.tasks), format.age(holder.longestMs)])} />
    <h2>Tasks in work <span class="quiet num">${format.count(value.inWork)}</span></h2>
    <${Table} caption="Tasks in work, those first whose lease ends first" empty="No task is in work." columns=${[{ name: 'Task' }, { name: 'Holder' }, { name: 'Attempt', number: true }, { name: 'For', number: true }, { name: 'Lease ends', number: true }, { name: 'Note' }]}
      rows=${value.tasks.map((task) => [
        html`<a href=${link(['queues', queue, 'tasks', task.taskId])}>${task.taskId}</a>`,
        holderName(task.holder),
        task.attempt ?? '–',
        format.age(task.heldMs),
        task.leaseLeftMs < 0 ? 'now' : `in ${format.age(task.leaseLeftMs)}`,
        task.cancelRequested ? 'cancel requested' : '',
      ])} />
    ${value.inWork > value.tasks.length && html`<p class="quiet">The first ${format.count(value.tasks.length)} are shown.</p>`}`;
}
