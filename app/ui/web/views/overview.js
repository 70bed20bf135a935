// All queues, a card each.
import { html, useState } from '../lib/html.js';
import { get } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { needs } from '../lib/who.js';
import { rate, sumOf, namesOf } from '../lib/series.js';
import { Failure, QueueState, Facts, Waiting } from '../parts/bits.js';
import { Spark } from '../parts/chart.js';
import { PauseDialog, resume } from './pause.js';
import { DaemonFigures } from './daemon.js';
import { useSeries } from './history.js';
import * as format from '../lib/format.js';

const MOST_CARDS = 24;
export const SPARK_POINTS = 120;
const SPARK = { step: 'second', points: SPARK_POINTS, everyMs: 3000 };

const SHED_WORDS = { ttl: 'ttl over', deadline: 'deadline passed', 'deadline-margin': 'too little time left' };

export function limitWords(now) {
  const limits = [];
  if (now?.concurrency) limits.push(`${format.count(now.concurrency.most)} at once${now.concurrency.learnt ? ', learnt' : ''}`);
  if (now?.rateLimit) limits.push(`${format.figures(now.rateLimit.perSecond)} a second${now.rateLimit.learnt ? ', learnt' : ''}`);
  return limits.length ? limits.join('; ') : 'no limit';
}

export const shedWord = (reason) => SHED_WORDS[reason] ?? reason;

// "deadline passed", or "3 ttl over, 5 deadline passed" if there are several reasons; null if none is known.
export function shedWords(byReason) {
  const parts = Object.entries(byReason ?? {}).filter(([, count]) => count > 0);
  if (parts.length === 0) return null;
  if (parts.length === 1) return shedWord(parts[0][0]);
  return parts.map(([reason, count]) => `${format.count(count)} ${shedWord(reason)}`).join(', ');
}

function Sparks({ name }) {
  const { value } = useSeries(name, SPARK);
  return value ? html`<${EndsSpark} series=${value} />` : html`<div class="spark"></div>`;
}

// Tasks done in time and others, in the seconds of a history.
export function EndsSpark({ series }) {
  const inTime = rate(series, 'inTime');
  const lost = sumOf(series, ['late', 'failed', ...namesOf(series, 'shed')]);
  const sum = (values) => values.reduce((all, one) => all + (one ?? 0), 0);
  return html`<${Spark} name=${`The last two minutes: ${format.count(sum(inTime))} tasks done in time, ${format.count(sum(lost))} late, failed or shed`}
    lower=${inTime} upper=${lost} />`;
}

// A queue as GET /queues has it. `spark`: the picture of its last two minutes. A recording does not know everything.
export function CardFacts({ queue, spark }) {
  const minute = queue.lastMinute;
  const span = queue.secondsBefore && queue.secondsBefore < 60 ? `the ${format.plural(queue.secondsBefore, 'second')} since the recording begins` : 'the last minute';
  return html`
    <p class="share"><b class="num">${minute.ended ? format.percent(minute.inTimeShare) : '–'}</b>
      <span>${minute.ended ? `in time, of ${format.plural(minute.ended, 'task')} that ended in ${span}` : `no task has ended in ${span}`}</span></p>
    ${spark}
    <${Facts} rows=${[
      ['Waiting', html`${format.count(queue.pending)}${queue.delayed ? html` <span class="quiet">and ${format.count(queue.delayed)} delayed</span>` : null}`],
      ['Newest waits', format.age(queue.newestAgeMs), 'Age of the newest task that waits'],
      ['Oldest waits', format.age(queue.oldestAgeMs), 'Age of the oldest task that waits. Under overload it rises: that is what newest first costs'],
      ['In work', html`${format.count(queue.taken)} <span class="quiet">· ${queue.runner === 'none' ? 'pulled by workers' : limitWords(queue.now)}</span>`],
      ['Shed', html`${format.count(minute.shed)} <span class="quiet">${[`in ${span}`, shedWords(queue.shedLastMinute)].filter(Boolean).join(': ')}</span>`],
      ['Late, failed, refused', html`${format.count(minute.late)}, ${format.count(minute.failed)}, ${format.count(minute.refused)} <span class="quiet">in ${span}</span>`],
      queue.booksBalance === undefined ? null : ['Books', queue.booksBalance ? 'balance' : html`<strong class="bad">do not balance</strong>`, 'For each state: tasks that came into it, less those that left it, are those that are in it'],
      queue.dead ? ['Dead', html`<a href=${link(['queues', queue.name, 'tasks'], { state: 'DEAD' })}>${format.plural(queue.dead, 'task')}</a>`] : null,
    ]} />`;
}

function Card({ queue, onChange }) {
  const [pausing, setPausing] = useState(false);
  const [error, setError] = useState(null);
  const paused = queue.pauses?.some((pause) => pause.of === 'queue');
  if (queue.error) {
    return html`<article class="card"><h2><a href=${link(['queues', queue.name])}>${queue.name}</a></h2><${Failure} error=${{ message: queue.error }} /></article>`;
  }
  const goOn = () => resume(queue.name).then(onChange, setError);
  const trouble = queue.now.runnerTrouble;
  return html`<article class="card" aria-label=${`Queue ${queue.name}`}>
    <header><h2><a href=${link(['queues', queue.name])}>${queue.name}</a></h2><${QueueState} state=${queue.state} /></header>
    <${CardFacts} queue=${queue} spark=${html`<${Sparks} name=${queue.name} />`} />
    ${trouble && html`<p class="failure">The runner ${trouble.reachable ? 'takes nothing' : 'cannot be reached'} for ${format.age(trouble.sinceMs)}: ${trouble.message}</p>`}
    <${Failure} error=${error} />
    <p class="buttons">
      ${paused
        ? html`<button onClick=${goOn} aria-label=${`Resume ${queue.name}`} ...${needs('operate')}>Resume</button>`
        : html`<button onClick=${() => setPausing(true)} aria-label=${`Pause ${queue.name}`} ...${needs('operate')}>Pause …</button>`}
      <a class="button" href=${link(['queues', queue.name, 'tasks'])} aria-label=${`Tasks of ${queue.name}`}>Tasks</a>
    </p>
    ${pausing && html`<${PauseDialog} queue=${queue.name} onClose=${() => setPausing(false)} onDone=${onChange} />`}
  </article>`;
}

export function Overview({ query }) {
  const { value, error, again } = usePoll((signal) => get('/queues', signal), 3000, []);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the queues" />`;
  const text = (query.text ?? '').toLowerCase();
  const all = value.details.filter((queue) => queue.name.toLowerCase().includes(text));
  const shown = all.slice(0, MOST_CARDS);
  return html`
    <h1 class="hidden">Overview</h1>
    <${DaemonFigures} />
    ${value.details.length === 0 && html`<div class="empty"><h2>No queue yet</h2>
      <p>A queue is a table that a template names. <code>freshet serve</code> starts one, <code>freshet demo limits</code> shows one at work.</p></div>`}
    <div class="cards">${shown.map((queue) => html`<${Card} key=${queue.name} queue=${queue} onChange=${again} />`)}</div>
    ${all.length > shown.length && html`<p class="quiet">${format.plural(all.length - shown.length, 'further queue')}:
      ${all.slice(MOST_CARDS, 100).map((queue) => html` <a href=${link(['queues', queue.name])}>${queue.name}</a>`)}</p>`}`;
}
