// Who shares a queue: its groups and keys, what they have in work and waiting, and their limits.
import { html, useState } from '../lib/html.js';
import { get, queuePath } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { needs } from '../lib/who.js';
import { link } from '../lib/route.js';
import { Failure, Table, Tabs, Waiting } from '../parts/bits.js';
import { PauseDialog, resume } from './pause.js';
import * as format from '../lib/format.js';

function Bar({ value, all }) {
  const share = all > 0 ? value / all : 0;
  return html`<span class="bar" title=${format.percent(share)}><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width=${share * 100} height="8" /></svg>
    <span class="num">${format.count(value)}</span></span>`;
}

function limitText(group) {
  if (!group.atLimit) return html`<span class="quiet">free</span>`;
  if (group.perSecond) return `at its ${format.figures(group.perSecond)} a second; next in ${format.age(group.startsInMs ?? 0)}`;
  return 'has as many in work as it may';
}

export function Shares({ queue, query, onChange }) {
  const by = query.by === 'key' ? 'key' : 'group';
  const [pausing, setPausing] = useState(null);
  const [error, setError] = useState(null);
  const answer = usePoll((signal) => get(`${queuePath(queue, 'groups')}?by=${by}&limit=100`, signal), 2000, [queue, by]);
  const changed = () => {
    answer.again();
    onChange();
  };
  const all = answer.value?.groups ?? [];
  const inWork = all.reduce((sum, group) => sum + group.inWork, 0);
  const waiting = all.reduce((sum, group) => sum + (group.waiting ?? 0), 0);
  const named = (group) => group.name !== '';
  const part = (group) => ({ [by]: group.name });
  const rows = all.map((group) => [
    named(group) ? html`<a href=${link(['queues', queue, 'tasks'], { [`where.${by}`]: group.name })}>${group.name}</a>` : html`<span class="quiet">no ${by}</span>`,
    html`<${Bar} value=${group.inWork} all=${inWork} />`,
    group.waiting === undefined ? html`<span class="quiet">–</span>` : html`<${Bar} value=${group.waiting} all=${waiting} />${group.waitingAtLeast ? ' or more' : ''}`,
    group.paused ? html`<strong>paused</strong>` : limitText(group),
    !named(group) ? null
      : group.paused ? html`<button aria-label=${`Resume ${by} ${group.name}`} ...${needs('operate')} onClick=${() => resume(queue, part(group)).then(changed, setError)}>Resume</button>`
      : html`<button aria-label=${`Pause ${by} ${group.name}`} ...${needs('operate')} onClick=${() => setPausing(part(group))}>Pause …</button>`,
  ]);
  return html`
    <${Tabs} name="By" now=${by} all=${[{ id: 'group', label: 'By group', href: link(['queues', queue, 'groups']) }, { id: 'key', label: 'By key', href: link(['queues', queue, 'groups'], { by: 'key' }) }]} />
    ${!answer.value ? (answer.error ? html`<${Failure} error=${answer.error} />` : html`<${Waiting} what=${`the ${by}s`} />`) : html`
      <${Table} caption=${`The ${by}s of ${queue}`} empty=${`No ${by} has tasks here now.`}
        columns=${[{ name: by === 'group' ? 'Group' : 'Key' }, { name: 'In work' }, { name: 'Waiting' }, { name: 'Limit' }, { name: html`<span class="hidden">Action</span>` }]} rows=${rows} />
      ${answer.value.more && html`<p class="quiet">There are more; these have the most tasks in work.</p>`}`}
    <${Failure} error=${error} />
    ${pausing && html`<${PauseDialog} queue=${queue} part=${pausing} onClose=${() => setPausing(null)} onDone=${changed} />`}`;
}
