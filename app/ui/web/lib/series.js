// The history of a queue (GET /queues/NAME/series): one object of columns, of which polls bring the newest points.

const NESTED = ['shed', 'refused'];

function columns(answer) {
  const out = {};
  for (const [name, value] of Object.entries(answer)) {
    if (Array.isArray(value)) out[name] = value;
    if (NESTED.includes(name)) for (const [kind, column] of Object.entries(value)) out[`${name}.${kind}`] = column;
  }
  return out;
}

// { stepMs, first, begins, length, columns }
export function read(answer) {
  return {
    stepMs: answer.stepMs,
    first: answer.first,
    begins: answer.begins,
    length: answer.points,
    columns: columns(answer),
  };
}

const CLOCK_STEP_MS = 1000;

// True if `newer` does not go on where `older` ends: points are missing between them, the clock was set, or the machine
// was started again. Points count from the boot of the machine, so the time of the point 0 tells one boot from another.
export function isGap(older, newer) {
  const boot = (series) => series.begins - series.first * series.stepMs;
  return newer.first < older.first || newer.first > older.first + older.length || Math.abs(boot(newer) - boot(older)) >= CLOCK_STEP_MS;
}

// `older` continued by `newer`, at most `most` points. Points that both have are `newer`'s.
export function merge(older, newer, most) {
  if (!older || older.stepMs !== newer.stepMs || newer.first < older.first) return newer;
  const keep = newer.first - older.first;
  if (keep > older.length) return newer; // There is a gap: the page was hidden for long.
  const total = keep + newer.length;
  const cut = Math.max(0, total - most);
  const out = { ...newer, first: older.first + cut, length: total - cut, columns: {} };
  out.begins = newer.begins - (newer.first - out.first) * newer.stepMs;
  for (const [name, column] of Object.entries(newer.columns)) {
    out.columns[name] = [...(older.columns[name] ?? []).slice(0, keep), ...column].slice(cut);
  }
  return out;
}

// The times of all points, in seconds since the epoch: where each begins.
export function times(series) {
  return Array.from({ length: series.length }, (_, i) => (series.begins + i * series.stepMs) / 1000);
}

// Counts of a step as a rate per second.
export function rate(series, name) {
  const seconds = series.stepMs / 1000;
  return (series.columns[name] ?? []).map((value) => (value === null ? null : value / seconds));
}

export function sumOf(series, names) {
  const seconds = series.stepMs / 1000;
  return Array.from({ length: series.length }, (_, i) => {
    const values = names.map((name) => series.columns[name]?.[i] ?? null);
    return values.every((value) => value === null) ? null : values.reduce((sum, value) => sum + (value ?? 0), 0) / seconds;
  });
}
export function namesOf(series, kind) {
  return Object.keys(series.columns).filter((name) => name.startsWith(`${kind}.`));
}

// The top of a scale: `high` is the most of what happened. A limit may be far above that, as one that is being learnt is
// for a moment: it counts as far as it leaves room for the rest, and its newest value always does.
export function topOf(high, limits) {
  let top = high ?? 0;
  const room = 2 * top;
  for (const values of limits) {
    for (const value of values) if (value !== null && value <= room) top = Math.max(top, value);
    top = Math.max(top, values.findLast((value) => value !== null && value !== undefined) ?? 0);
  }
  return top;
}
