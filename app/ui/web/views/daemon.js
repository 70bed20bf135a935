// The daemon's own figures, above the queues: commits, memory, disk, connections.
import { html, useRef } from '../lib/html.js';
import { callText, daemonNow } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { commitP99, readMetrics } from '../lib/metrics.js';
import { Facts } from '../parts/bits.js';
import * as format from '../lib/format.js';

function share(used, all) {
  return all > 0 ? ` of ${format.bytes(all)} (${format.percent(used / all)})` : '';
}

export function DaemonFigures() {
  const before = useRef(null);
  const { value } = usePoll(
    async (signal) => {
      const now = readMetrics(await callText('GET', '/metrics', undefined, signal));
      const commits = (reading) => reading?.commits.at(-1)?.[1] ?? 0;
      const last = commits(now) < commits(before.current) ? null : before.current; // The daemon may have started anew.
      before.current = now;
      return { ...now, p99: commitP99(now, last) };
    },
    60_000, // The daemon computes all its metrics for each answer.
    [],
  );
  if (!value) return null;
  const at = value.values;
  const up = at.process_start_time_seconds ? daemonNow() - at.process_start_time_seconds * 1000 : null;
  const memory = at.freshet_store_memory_bytes;
  const log = at.freshet_store_log_bytes;
  return html`<section class="daemon" aria-label="The daemon">
    <${Facts} rows=${[
      ['Commit p99', value.p99 === null ? 'no commit' : `≤ ${format.age(value.p99)}`, 'From a write to its sync: 99 of 100 commits of the last minute took no longer'],
      ['Memory', html`${format.bytes(memory)}<span class="quiet">${share(memory, at.freshet_store_memory_limit_bytes)}</span>`, 'What --max-memory-bytes bounds'],
      ['Disk', html`${format.bytes(log)} <span class="quiet">· ${format.bytes(at.freshet_store_log_bytes_left)} left</span>`, 'The log, and what may still be written'],
      ['Connections', html`${format.count(at.freshet_http_connections)} <span class="quiet">· ${format.plural(at.freshet_http_requests_in_flight ?? 0, 'request')} under way</span>`],
      ['Up', format.age(up)],
      ['Version', value.values.version ?? '–'],
    ]} />
  </section>`;
}
