// The schedules: what they run, when they ran last and when they run next.
import { html, useState } from '../lib/html.js';
import { daemonNow, get } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { needs } from '../lib/who.js';
import { functionOf, invokeLater, nameOf } from '../lib/functions.js';
import { Confirm, say } from '../parts/dialog.js';
import { Failure, Table, Waiting, When } from '../parts/bits.js';

// What the schedule would send: its own input, or the event that schedules have on AWS.
export function eventOf(schedule, now) {
  if (schedule.input) return schedule.input;
  const arn = schedule.function.split(':');
  const [region, account] = arn[0] === 'arn' ? [arn[3], arn[4]] : ['us-east-1', '000000000000'];
  return JSON.stringify({
    version: '0',
    id: '00000000-0000-0000-0000-000000000000',
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account,
    time: `${new Date(now).toISOString().slice(0, 19)}Z`,
    region,
    resources: [`arn:aws:events:${region}:${account}:rule/${schedule.name}`],
    detail: {},
  });
}

function RunNow({ schedule }) {
  const [asked, setAsked] = useState(null);
  const run = async () => {
    const id = await invokeLater(schedule.function, asked);
    say(`${nameOf(schedule.function)} is called with the event of ${schedule.name}: request ${id}.`);
  };
  return html`<button aria-label=${`Run now: ${schedule.name}`} onClick=${() => setAsked(eventOf(schedule, daemonNow()))} ...${needs('work')}>Run now …</button>
    ${asked !== null && html`<${Confirm} title=${`Run ${schedule.name} now?`} verb="Run now" onClose=${() => setAsked(null)} onDo=${run}>
      <p>${nameOf(schedule.function)} gets this event in its queue, as if the schedule had run. The schedule itself stays as it is: its last and next run do not change.</p>
      <pre class="item" tabindex="0">${asked}</pre>
    </${Confirm}>`}`;
}

export function ScheduleTable({ schedules, ofFunction, empty }) {
  const row = (one) => [
    html`<span class="keep">${one.name}</span>`,
    html`<code class="keep">${one.expression}</code>`,
    ...(ofFunction ? [] : [html`<a class="keep" href=${link(['functions', functionOf(one.function)])}>${nameOf(one.function)}</a>`]),
    html`<${When} at=${one.last} />`,
    one.enabled ? html`<${When} at=${one.next} />` : html`<span class="status off">off</span>`,
    html`<${RunNow} schedule=${one} />`,
  ];
  return html`<${Table} caption="Schedules" empty=${empty}
    columns=${[{ name: 'Schedule' }, { name: 'When' }, ...(ofFunction ? [] : [{ name: 'Function' }]), { name: 'Last run' }, { name: 'Next run' }, { name: html`<span class="hidden">Action</span>` }]}
    rows=${schedules.map(row)} />`;
}

export function Schedules() {
  const { value, error } = usePoll((signal) => get('/schedules', signal), 5000, []);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the schedules" />`;
  return html`<${Failure} error=${error} /><${ScheduleTable} schedules=${value.schedules.slice(0, 100)} empty="No template has a schedule." />
    ${value.schedules.length > 100 && html`<p class="quiet">The first 100 of ${value.schedules.length} are shown.</p>`}`;
}
