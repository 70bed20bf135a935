// The spans of a task's attempts (GET /queues/NAME/tasks/ID/trace), each attempt with what went on below it.

// Gives the attempts in the order of their start: { number, at, ms, error, traceId, rows }. A row is a span below the
// attempt, with its depth (from 1) and its place within the attempt, both from 0 to 1.
export function attemptsOf(spans) {
  const known = new Map(spans.map((span) => [span.spanId, span]));
  const below = new Map();
  const tops = [];
  for (const span of spans) {
    const parent = known.get(span.parentId);
    if (span.kind === 'attempt' || !parent) tops.push(span);
    else below.set(parent.spanId, [...(below.get(parent.spanId) ?? []), span]);
  }
  return tops.map((top) => {
    const rows = [];
    const walk = (span, depth) => {
      for (const child of below.get(span.spanId) ?? []) {
        rows.push({ ...child, depth });
        walk(child, depth + 1);
      }
    };
    walk(top, 1);
    // A call may go on after its attempt.
    const end = Math.max(top.at + top.ms, ...rows.map((row) => row.at + row.ms));
    const scale = Math.max(end - top.at, 0.001);
    return {
      number: Number(top.attributes['freshet.attempt']) || null, name: top.name, at: top.at, ms: top.ms, error: top.error ?? '', traceId: top.traceId,
      rows: rows.map((row) => ({ ...row, from: Math.max(0, row.at - top.at) / scale, share: row.ms / scale })),
    };
  });
}
