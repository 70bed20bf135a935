// The daemon's own figures, above the queues: commits, memory, disk, connections.
import { html, useRef } from '../lib/html.js';
import { get } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { LastMinute } from '../lib/commits.js';
import { Facts } from '../parts/bits.js';
import * as format from '../lib/format.js';

const MINUTE_MS = 90_000; // The poll before a minute ago may be as old as this.

// The time that the p99 is of, in words.
function ofWhen(spanMs) {
  if (spanMs === null) return 'since the daemon began';
  return spanMs > MINUTE_MS ? `the last ${format.age(spanMs)}` : 'the last minute';
}

function share(used, all) {
  return all > 0 ? ` of ${format.bytes(all)} (${format.percent(used / all)})` : '';
}

export function DaemonFigures() {
  const minute = useRef(new LastMinute());
  const { value: at } = usePoll(
    async (signal) => {
      const now = await get('/daemon', signal);
      minute.current.add(now.started, performance.now(), now.commits);
      return { ...now, p99: minute.current.p99() };
    },
    5000,
    [],
  );
  if (!at) return null;
  return html`<section class="daemon" aria-label="The daemon">
    <${Facts} rows=${[
      ['Commit p99', html`${at.p99.ms === null ? 'no commit' : `≤ ${format.age(at.p99.ms)}`} <span class="quiet">· ${ofWhen(at.p99.spanMs)}</span>`, 'From a write to its sync: 99 of 100 commits took no longer'],
      ['Memory', html`${format.bytes(at.memoryBytes)}<span class="quiet">${share(at.memoryBytes, at.memoryLimitBytes)}</span>`, 'What --max-memory-bytes bounds'],
      ['Disk', html`${format.bytes(at.logBytes)} <span class="quiet">· ${format.bytes(at.logBytesLeft)} left</span>`, 'The log, and what may still be written'],
      ['Connections', html`${format.count(at.connections)} <span class="quiet">· ${format.plural(at.requestsInFlight, 'request')} under way</span>`],
      ['Up', format.age(at.upMs)],
      ['Version', at.version],
    ]} />
  </section>`;
}
