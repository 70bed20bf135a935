// The charts of a queue: what came and what became of it, ages, limits, depth.
import { html, useMemo, useRef } from '../lib/html.js';
import { get, queuePath } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { isGap, merge, namesOf, rate, read, sumOf, times } from '../lib/series.js';
import { Chart } from '../parts/chart.js';
import { Failure, Tabs, Waiting } from '../parts/bits.js';
import * as format from '../lib/format.js';

const RANGES = {
  '5m': { label: '5 minutes', step: 'second', points: 300, everyMs: 2000 },
  '1h': { label: '1 hour', step: 'second', points: 3600, everyMs: 5000 },
  '24h': { label: '24 hours', step: 'minute', points: 1440, everyMs: 10_000 },
};
const OVERLAP = 3; // Points that are asked for again, in case an answer was late.

// The last `points` steps of a queue's history, of which each poll brings the newest ones.
export function useSeries(queue, { step, points, everyMs }) {
  const known = useRef({ of: '', series: null });
  return usePoll(
    async (signal) => {
      const of = `${queue} ${step} ${points}`;
      const ask = async (limit) => read(await get(`${queuePath(queue, 'series')}?step=${step}&limit=${limit}`, signal));
      const older = known.current.of === of ? known.current.series : null;
      const fresh = Math.ceil(everyMs / (step === 'second' ? 1000 : 60_000)) + OVERLAP;
      let newer = await ask(older && older.length >= fresh ? Math.min(points, fresh) : points);
      const joins = older && !isGap(older, newer);
      if (older && !joins) newer = await ask(points);
      const series = merge(joins ? older : null, newer, points);
      known.current = { of, series };
      return series;
    },
    everyMs,
    [queue, step, points],
  );
}

const last = (series, points) => {
  if (series.length <= points) return series;
  const cut = series.length - points;
  const columns = Object.fromEntries(Object.entries(series.columns).map(([name, column]) => [name, column.slice(cut)]));
  return { ...series, columns, first: series.first + cut, begins: series.begins + cut * series.stepMs, length: points };
};

// The charts of a history as lib/series.js has it.
export function chartsOf(series) {
  const perSecond = (name) => rate(series, name);
  const column = (name) => series.columns[name] ?? [];
  const any = (values) => values.some((value) => value !== null && value > 0);
  const optional = (line) => (any(line.values) ? [line] : []);
  return [
    {
      title: 'What came, and what became of it', unit: 'tasks a second', format: format.short,
      lines: [
        { label: 'offered', colour: 'c-offered', dash: true, values: perSecond('offered') },
        ...optional({ label: 'may start', colour: 'c-limit', dash: true, steps: true, limit: true, values: column('rateLimit') }),
        { label: 'done in time', colour: 'c-good', wide: true, fill: true, values: perSecond('inTime') },
        ...optional({ label: 'late', colour: 'c-late', values: perSecond('late') }),
        ...optional({ label: 'failed', colour: 'c-failed', values: perSecond('failed') }),
        { label: 'shed', colour: 'c-shed', values: sumOf(series, namesOf(series, 'shed')) },
        ...optional({ label: 'refused at creation', colour: 'c-refused', values: sumOf(series, namesOf(series, 'refused')) }),
      ],
    },
    {
      title: 'Age', unit: 'of tasks, on a logarithmic scale', log: true, format: format.age,
      lines: [
        { label: 'at start', colour: 'c-good', wide: true, values: column('ageAtStartMs').map(atLeast1) },
        { label: 'newest that waits', colour: 'c-late', values: column('newestAgeMs').map(atLeast1) },
        { label: 'oldest that waits', colour: 'c-offered', dash: true, values: column('oldestAgeMs').map(atLeast1) },
      ],
    },
    {
      title: 'Starts and the downstream', unit: 'a second', format: format.short,
      lines: [
        ...optional({ label: 'limit, as set or learnt', colour: 'c-limit', dash: true, steps: true, limit: true, values: column('rateLimit') }),
        { label: 'started', colour: 'c-good', wide: true, values: perSecond('started') },
        { label: 'refused by the downstream', colour: 'c-shed', values: perSecond('downstreamRefusals') },
        { label: 'wasted attempts', colour: 'c-late', values: perSecond('wastedCalls') },
      ],
    },
    {
      title: 'Waiting and in work', unit: 'tasks', format: format.short,
      lines: [
        { label: 'waiting', colour: 'c-offered', fill: true, values: column('pending') },
        ...optional({ label: 'delayed', colour: 'c-late', values: column('delayed') }),
        { label: 'in work', colour: 'c-good', wide: true, values: column('inWork') },
        ...optional({ label: 'in work at most', colour: 'c-limit', dash: true, steps: true, limit: true, values: column('concurrency') }),
      ],
    },
  ];
}
// The scale has no 0.
const atLeast1 = (value) => (value === null ? null : Math.max(1, value));

export function History({ queue, query }) {
  const range = RANGES[query.range] ? query.range : '5m';
  const { value, error } = useSeries(queue, RANGES[range]);
  const shown = useMemo(() => {
    if (!value || value.length === 0) return null;
    const series = last(value, RANGES[range].points);
    return { at: times(series), charts: chartsOf(series) };
  }, [value, range]);
  return html`
    <${Tabs} name="Range" now=${range} all=${Object.entries(RANGES).map(([id, { label }]) => ({ id, label, href: link(['queues', queue], { range: id }) }))} />
    ${!shown && (error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the history, which begins with the daemon" />`)}
    ${shown && html`<div class="charts">${shown.charts.map((chart) => html`<${Chart} key=${chart.title} at=${shown.at} ...${chart} />`)}</div>`}`;
}
