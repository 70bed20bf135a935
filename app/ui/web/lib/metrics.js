// The daemon's own figures out of GET /metrics: Prometheus's text, of which only unlabelled samples and one histogram
// are read.

export function readMetrics(text) {
  const values = {};
  const commits = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#') || line === '') continue;
    const blank = line.lastIndexOf(' ');
    const name = line.slice(0, blank);
    const value = Number(line.slice(blank + 1));
    if (!name.includes('{')) {
      values[name] = value;
    } else if (name.startsWith('freshet_commit_seconds_bucket{le="')) {
      const bound = name.slice(name.indexOf('"') + 1, name.lastIndexOf('"'));
      commits.push([bound === '+Inf' ? Infinity : Number(bound), value]);
    } else if (name.startsWith('freshet_build_info{version="')) {
      values.version = name.slice(name.indexOf('"') + 1, name.lastIndexOf('"'));
    }
  }
  return { values, commits };
}

// The p99 of the commits between two readings, in ms: the bound of the bucket that holds it. Null: there was none.
export function commitP99(now, before) {
  const earlier = new Map(before?.commits ?? []);
  const counts = now.commits.map(([bound, value]) => [bound, value - Math.min(value, earlier.get(bound) ?? 0)]);
  const all = counts.at(-1)?.[1] ?? 0;
  if (all === 0) return null;
  const [bound] = counts.find(([, value]) => value >= 0.99 * all);
  return Number.isFinite(bound) ? bound * 1000 : null;
}
