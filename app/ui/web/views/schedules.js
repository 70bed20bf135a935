// The schedules: what they run, when they ran last and when they run next.
import { html } from '../lib/html.js';
import { get } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { Failure, Table, Waiting, When } from '../parts/bits.js';

export function Schedules() {
  const { value, error } = usePoll((signal) => get('/schedules', signal), 5000, []);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the schedules" />`;
  return html`<h1>Schedules</h1>
    <${Table} caption="Schedules" empty="No template has a schedule."
      columns=${[{ name: 'Name' }, { name: 'When' }, { name: 'Function' }, { name: 'Last run' }, { name: 'Next run' }]}
      rows=${value.schedules.slice(0, 100).map((one) => [one.name, html`<code>${one.expression}</code>`, one.function,
        html`<${When} at=${one.last} />`, one.enabled ? html`<${When} at=${one.next} />` : html`<span class="quiet">off</span>`])} />`;
}
