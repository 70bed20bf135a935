// What was shed, refused or handed back: how many, how old they were, and the newest lines of the shed log.
import { html } from '../lib/html.js';
import { get, queuePath } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { Failure, Facts, Table, Waiting, When } from '../parts/bits.js';
import { shedWords } from './overview.js';
import * as format from '../lib/format.js';

const BOUNDS = [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_600_000, 86_400_000];

// How many of the lines were that old, between neighbouring bounds; only the part that has any.
export function histogram(ages) {
  const counts = new Array(BOUNDS.length + 1).fill(0);
  for (const age of ages) counts[BOUNDS.findIndex((bound) => age < bound) === -1 ? BOUNDS.length : BOUNDS.findIndex((bound) => age < bound)]++;
  const first = counts.findIndex((count) => count > 0);
  if (first === -1) return [];
  const end = counts.length - [...counts].reverse().findIndex((count) => count > 0);
  return counts.slice(first, end).map((count, i) => {
    const at = first + i;
    const label = at === 0 ? `below ${format.age(BOUNDS[0])}` : at === BOUNDS.length ? `${format.age(BOUNDS.at(-1))} and more` : `${format.age(BOUNDS[at - 1])} to ${format.age(BOUNDS[at])}`;
    return { label, count };
  });
}

function Histogram({ ages }) {
  const bars = histogram(ages);
  if (bars.length === 0) return null;
  const most = Math.max(...bars.map((bar) => bar.count));
  return html`<h2>How old they were <span class="quiet">the newest ${format.count(ages.length)} sheds</span></h2>
    <table class="histogram"><caption class="hidden">Sheds by age</caption><tbody>
      ${bars.map((bar) => html`<tr><th scope="row">${bar.label}</th><td><svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"><rect width=${(bar.count / most) * 100} height="12" /></svg></td><td class="num">${format.count(bar.count)}</td></tr>`)}
    </tbody></table>`;
}

const WHAT = { shed: 'shed', bounced: 'handed back by the runner', refused: 'refused at creation' };

export function Sheds({ queue }) {
  const { value, error } = usePoll((signal) => get(`${queuePath(queue, 'sheds')}?limit=100`, signal), 3000, [queue]);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the shed log" />`;
  const sheds = value.sheds.filter((line) => line.what === 'shed');
  return html`
    <${Facts} rows=${[['Shed ever', html`${format.count(value.total)} <span class="quiet">${shedWords(value.byReason) ? `· ${shedWords(value.byReason)}` : ''}</span>`]]} />
    <${Histogram} ages=${sheds.map((line) => line.ageMs)} />
    <h2>The shed log <span class="quiet">newest first</span></h2>
    <${Table} caption="The newest lines of the shed log" empty="Nothing was shed, refused or handed back."
      columns=${[{ name: 'When' }, { name: 'Task' }, { name: 'What' }, { name: 'Decided by' }, { name: 'Reason' }, { name: 'Age', number: true }, { name: 'Waiting then', number: true }]}
      rows=${value.sheds.map((line) => [
        html`<${When} at=${line.until ?? line.at} />`,
        html`<a href=${link(['queues', queue, 'tasks', line.taskId])}>${line.taskId}</a>${line.count > 1 ? html` <span class="quiet">and ${format.count(line.count - 1)} more</span>` : ''}`,
        WHAT[line.what] ?? line.what,
        html`<code>${line.policy}</code>`,
        line.reason,
        format.age(line.ageMs),
        format.count(line.depth),
      ])} />`;
}
