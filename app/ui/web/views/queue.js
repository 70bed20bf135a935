// One queue: its head, and the view of it that the address names.
import { html, useState } from '../lib/html.js';
import { get, queuePath } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { needs } from '../lib/who.js';
import { link } from '../lib/route.js';
import { Failure, Nowhere, QueueState, Tabs, Waiting, When } from '../parts/bits.js';
import { PauseDialog, partName, resume } from './pause.js';
import { PurgeDialog } from './purge.js';
import { History } from './history.js';
import { Shares } from './shares.js';
import { Holders } from './holders.js';
import { Sheds } from './sheds.js';
import { PolicyForm } from './policy.js';
import { Tasks } from './tasks.js';
import { Task } from './task.js';
import { Audit } from './audit.js';
import { GuardNote } from './guard.js';
import { Recording } from './recording.js';
import * as format from '../lib/format.js';

const TABS = [
  ['', 'Charts', History],
  ['groups', 'Groups and keys', Shares],
  ['holders', 'In work', Holders],
  ['sheds', 'Sheds', Sheds],
  ['tasks', 'Tasks', Tasks],
  ['recording', 'Recording', Recording],
  ['policy', 'Policy', PolicyForm],
  ['audit', 'Audit', Audit],
];

function Pauses({ queue, pauses, onChange }) {
  const [error, setError] = useState(null);
  if (!pauses?.length) return null;
  return html`<div class="notice">
    ${pauses.slice(0, 100).map((pause) => {
      const part = pause.of === 'queue' ? {} : { [pause.of]: pause.name };
      return html`<p><strong>${partName(part)}</strong> is paused since <${When} at=${pause.since} /> by ${pause.by}${pause.reason ? `: ${pause.reason}` : ''}${pause.until ? html`, until <${When} at=${pause.until} />` : ''}${' '}
        <button onClick=${() => resume(queue, part).then(onChange, setError)} aria-label=${`Resume ${partName(part)}`} ...${needs('operate')}>Resume</button></p>`;
    })}
    <${Failure} error=${error} />
  </div>`;
}

function Trouble({ trouble }) {
  if (!trouble) return null;
  return html`<div class="failure"><strong>Breaker open:</strong> the runner ${trouble.runner ?? ''} ${trouble.reachable ? 'takes nothing' : 'cannot be reached'} for ${format.age(trouble.sinceMs)};
    ${format.plural(trouble.bounces, 'task')} handed back. It said: ${trouble.message}</div>`;
}

function limits({ rateLimit, concurrency }) {
  const name = (what, learnt) => (learnt ? `${what}, learnt` : what);
  return [
    rateLimit && [name('may start', rateLimit.learnt), `${format.figures(rateLimit.perSecond)} /s`],
    concurrency && [name('in work at most', concurrency.learnt), format.count(concurrency.most)],
  ].filter(Boolean);
}

function Numbers({ stats }) {
  const minute = stats.lastMinute;
  const facts = [
    ['in time, last minute', minute.ended ? format.percent(minute.inTimeShare) : '–'],
    ['waiting', format.short(stats.depth.PENDING)],
    ['delayed', format.short(stats.depth.DELAYED)],
    ['in work', format.short(stats.depth.TAKEN)],
    ['oldest waits', format.age(stats.oldestAgeMs)],
    ['shed ever', format.short(stats.shedTotal)],
    ...limits(stats),
    ['books', stats.booksBalance ? 'balance' : 'do not balance'],
  ];
  return html`<dl class="numbers">${facts.map(([name, value]) => html`<div><dd class="num">${value}</dd><dt>${name}</dt></div>`)}</dl>`;
}

export function Queue({ name, parts, query }) {
  const [asking, setAsking] = useState('');
  const { value: stats, error, again } = usePoll((signal) => get(queuePath(name, 'stats'), signal), 3000, [name]);
  const [tab, id] = parts;
  const known = TABS.find(([one]) => one === (tab ?? '')) ?? [tab, 'No view', Nowhere];
  if (!stats && error) return html`<h1>${name}</h1><${Failure} error=${error} />`;
  if (tab === 'tasks' && id !== undefined) return html`<${Task} queue=${name} id=${id} />`;
  const View = known[2];
  const paused = stats?.pauses?.some((pause) => pause.of === 'queue');
  return html`
    <header class="head">
      <h1>${name}</h1>${stats && html`<${QueueState} state=${stats.state} />`}
      <span class="buttons">
        ${stats && !paused && html`<button onClick=${() => setAsking('pause')} ...${needs('operate')}>Pause …</button>`}
        <button onClick=${() => setAsking('purge')} ...${needs('operate')}>Purge …</button>
      </span>
    </header>
    ${stats ? html`<${Pauses} queue=${name} pauses=${stats.pauses} onChange=${again} /><${GuardNote} queue=${name} guard=${stats.policyGuard} onChange=${again} />${known[0] === 'recording' ? null : html`<${Trouble} trouble=${stats.runnerTrouble} /><${Numbers} stats=${stats} />`}`
      : html`<${Waiting} what="the queue" />`}
    <${Tabs} name=${`Views of ${name}`} now=${known[0]} all=${TABS.map(([id, label]) => ({ id, label, href: link(['queues', name, ...(id ? [id] : [])]) }))} />
    <section class="view" aria-label=${known[1]}><${View} queue=${name} query=${query} stats=${stats} onChange=${again} /></section>
    ${asking === 'pause' && html`<${PauseDialog} queue=${name} onClose=${() => setAsking('')} onDone=${again} />`}
    ${asking === 'purge' && html`<${PurgeDialog} queue=${name} onClose=${() => setAsking('')} onDone=${again} />`}`;
}
