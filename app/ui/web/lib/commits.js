// How long commits take, out of the counts that GET /daemon has since the start: { withinUs, count }, rising.

const KEPT_MS = 60_000;

// The p99 of the commits between two readings, in ms: the bound of the count that holds it. Null: there was none.
export function commitP99(now, before) {
  const earlier = new Map((before ?? []).map(({ withinUs, count }) => [withinUs, count]));
  const counts = now.map(({ withinUs, count }) => [withinUs ?? Infinity, Math.max(0, count - (earlier.get(withinUs) ?? 0))]);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) return null;
  let below = 0;
  const [bound] = counts.find(([, count]) => (below += count) >= 0.99 * all);
  return Number.isFinite(bound) ? bound / 1000 : null;
}

// Readings of the daemon's counts. The page asks for them while it is shown.
export class LastMinute {
  #readings = [];

  // `of`: when the daemon began. What an earlier one counted does not matter.
  add(of, at, commits) {
    if (this.#readings[0]?.of !== of) this.#readings = [];
    this.#readings.push({ of, at, commits });
    // The first one is the newest of those that are at least as old as the minute's beginning.
    while (this.#readings.length > 1 && this.#readings[1].at <= at - KEPT_MS) this.#readings.shift();
  }

  // { ms, spanMs }: the p99, and the time that it is of. That is longer than a minute after the page was hidden. Without
  // an earlier reading it is of all commits since the daemon began, and spanMs is null.
  p99() {
    const [first] = this.#readings;
    const last = this.#readings.at(-1);
    if (!last) return { ms: null, spanMs: null };
    if (first === last) return { ms: commitP99(last.commits, null), spanMs: null };
    return { ms: commitP99(last.commits, first.commits), spanMs: last.at - first.at };
  }
}
