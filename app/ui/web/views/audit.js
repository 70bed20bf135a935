// Who changed what: of one queue, or of all.
import { html } from '../lib/html.js';
import { get } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { Failure, Table, Waiting, When } from '../parts/bits.js';
import * as format from '../lib/format.js';

export function Audit({ queue }) {
  const path = queue ? `/audit?limit=100&queue=${encodeURIComponent(queue)}` : '/audit?limit=100';
  const { value, error } = usePoll((signal) => get(path, signal), 5000, [path]);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the audit log" />`;
  return html`${!queue && html`<h1>Audit log</h1>`}
    <${Table} caption="The newest lines of the audit log" empty="Nobody has changed anything."
      columns=${[{ name: 'When' }, { name: 'Who' }, { name: 'From' }, { name: 'What' }, ...(queue ? [] : [{ name: 'Of' }]), { name: 'Detail' }, { name: 'How many', number: true }]}
      rows=${value.lines.map((line) => [
        html`<${When} at=${line.at} />`, line.who ?? '', line.from ?? '', line.what ?? '',
        ...(queue ? [] : [line.queue ? html`<a href=${link(['queues', line.queue])}>${line.queue}</a>` : '']),
        line.detail ?? '', line.count === undefined ? '' : format.count(line.count),
      ])} />`;
}
