// The dashboard's pure modules, without a browser: what a recording says of each second, held against a model that
// knows every task. node --test tests/ui/lib_test.mjs
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

// Node.js takes a .js file for a module only where a package says so.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'freshet-lib-'));
after(() => fs.rmSync(folder, { recursive: true }));
fs.cpSync(path.resolve(import.meta.dirname, '../../app/ui/web/lib'), folder, { recursive: true });
fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
const { Replay } = await import(path.join(folder, 'recording.js'));
const { commitP99, LastMinute } = await import(path.join(folder, 'commits.js'));
const { attemptsOf } = await import(path.join(folder, 'spans.js'));
const { isGap, merge } = await import(path.join(folder, 'series.js'));
const { Oldest } = await import(path.join(folder, 'oldest.js'));

const FROM = 1_795_278_619_000;
const head = (seconds, more = {}) => ({ freshet: 'recording', version: 1, queue: 'emails', from: FROM, to: FROM + seconds * 1000, forgot: false, policy: { ORDER: 'lifo', CONCURRENCY: '4', RATE_LIMIT: 'adaptive' }, ...more });
function replayed(lines) {
  const replay = new Replay();
  for (const line of lines) replay.add(line);
  return replay.finish();
}
const at = (seconds) => FROM + seconds * 1000;

// Numbers from 0 to 1, always the same.
function randomFrom(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let one = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    one = (one + Math.imul(one ^ (one >>> 7), 61 | one)) ^ one;
    return ((one ^ (one >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test('a task is counted in each state, and its end by its deadline', () => {
  const recorded = replayed([
    head(10),
    { at: at(1.5), task: 1, to: 'PENDING', about: { dueInMs: 3000, dueBy: 'deadline' } },
    { at: at(1.6), task: 2, to: 'PENDING', about: { dueInMs: 3000, dueBy: 'deadline' } },
    { at: at(2.5), task: 1, from: 'PENDING', to: 'TAKEN' },
    { at: at(2.6), task: 2, from: 'PENDING', to: 'TAKEN' },
    { at: at(4.5), task: 1, from: 'TAKEN', to: 'SUCCESS' }, // Its deadline to the millisecond.
    { at: at(4.601), task: 2, from: 'TAKEN', to: 'SUCCESS' },
  ]);
  assert.deepEqual(recorded.columns.pending, [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(recorded.columns.inWork, [0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0]);
  assert.equal(recorded.columns.oldestAgeMs[2], 500);
  assert.equal(recorded.columns.newestAgeMs[2], 400);
  assert.equal(recorded.columns.oldestAgeMs[3], null);
  assert.equal(recorded.columns.ageAtStartMs[3], 1000);
  assert.deepEqual(recorded.at(4).lastMinute, { inTime: 0, late: 0, failed: 0, shed: 0, refused: 0, ended: 0 });
  assert.deepEqual(recorded.at(5).lastMinute, { inTime: 1, late: 1, failed: 0, shed: 0, refused: 0, ended: 2, inTimeShare: 0.5 });
  assert.equal(recorded.columns.wastedCalls[5], 1);
});

test('a minute later the last minute has forgotten it', () => {
  const recorded = replayed([head(70), { at: at(0.5), task: 1, to: 'PENDING', about: {} }, { at: at(0.6), task: 1, from: 'PENDING', to: 'SHED', because: 'deadline' },
    { at: at(2), task: 2, to: 'PENDING', about: {} }, { at: at(2), task: 2, from: 'PENDING', byTtl: true }, { at: at(3), count: 'refused.max-waiting', number: 4 }]);
  assert.deepEqual(recorded.at(60).shedLastMinute, { deadline: 1, ttl: 1 });
  assert.deepEqual(recorded.at(61).shedLastMinute, { ttl: 1 });
  assert.deepEqual(recorded.at(62).shedLastMinute, {});
  assert.deepEqual([recorded.at(62).lastMinute.refused, recorded.at(63).lastMinute.refused], [4, 0]);
  assert.equal(recorded.columns.offered[3], 4);
  assert.deepEqual([recorded.at(58).secondsBefore, recorded.at(59).secondsBefore], [59, 60]);
});

test('limits hold until they change; before the first, those that the policy sets', () => {
  const recorded = replayed([head(6), { at: at(4), policy: { CONCURRENCY: '9', RATE_LIMIT: '7' } }, { at: at(2.5), rateLimit: 19.5, concurrency: 8 }, { at: at(5), rateLimit: 0, concurrency: 9 }]);
  assert.deepEqual(recorded.columns.concurrency, [4, 4, 4, 8, 8, 9, 9]);
  assert.deepEqual(recorded.columns.rateLimit, [null, null, null, 19.5, 19.5, null, null]);
  assert.deepEqual(recorded.at(3).now, { rateLimit: { perSecond: 19.5, learnt: true }, concurrency: { most: 8, learnt: false } });
  assert.deepEqual(recorded.policyAt(at(3)).RATE_LIMIT, 'adaptive');
  assert.deepEqual(recorded.policyAt(at(4)).RATE_LIMIT, '7');
});

test('pauses hold until their ends, wherever their lines are', () => {
  const recorded = replayed([head(10), { at: at(0), paused: 'queue' }, { at: at(1), paused: 'group', name: 'acme' }, { at: at(6), resumed: 'queue' }, { at: at(2), task: 1, to: 'PENDING', about: {} }]);
  assert.deepEqual([0, 5, 6].map((i) => recorded.at(i).state), ['paused', 'paused', 'running']);
  assert.deepEqual(recorded.columns.pending.slice(0, 4), [0, 0, 1, 1]);
  assert.deepEqual(recorded.pauses[1], { at: at(1), paused: true, of: 'group', name: 'acme' });
});

test('what is no recording is refused', () => {
  assert.throws(() => new Replay().add({ at: 1, task: 1 }), /no recording/);
  assert.throws(() => new Replay().add({ ...head(1), version: 2 }), /newer release/);
  assert.throws(() => new Replay().add(head(25 * 3600)), /longer than a day/);
  assert.throws(() => replayed([head(1), { task: 1 }]), /no time/);
  assert.throws(() => replayed([]), /empty/);
});

// A world of tasks, some of which came long before the recording, and the lines that the recorder would have of it: a
// move of a task that is older than half a minute describes it, events of 35 s before the start are there, and the end
// has the tasks that wait.
function world(seed, seconds) {
  const random = randomFrom(seed);
  const lives = [];
  for (let number = 1; number <= 400; ++number) {
    const created = FROM - 300_000 + Math.floor(random() * (seconds + 300) * 1000);
    const moves = [{ at: created, state: random() < 0.2 ? 'DELAYED' : 'PENDING' }];
    while (random() < 0.8 && moves.length < 12) {
      const from = moves.at(-1).state;
      const states = { DELAYED: ['PENDING', 'CANCELLED'], PENDING: ['TAKEN', 'TAKEN', 'SHED'], TAKEN: ['SUCCESS', 'PENDING', 'DELAYED', 'DEAD'], DEAD: ['PENDING'] }[from];
      if (!states) break;
      moves.push({ at: moves.at(-1).at + Math.floor(random() * random() * 90_000), state: states[Math.floor(random() * states.length)] });
    }
    lives.push({ number, created, moves });
  }
  return lives;
}

function linesOf(lives, seconds) {
  const end = at(seconds);
  const events = [];
  const waits = [];
  const after = [];
  for (const { number, created, moves } of lives) {
    moves.forEach((move, i) => {
      if (move.at < FROM - 35_000 || move.at > end) return;
      const from = moves[i - 1]?.state;
      const age = move.at - created;
      const line = { at: move.at, task: number, ...(from ? { from } : {}), to: move.state };
      const wasWaiting = from === 'PENDING' || from === 'DELAYED';
      const waitsNow = ['PENDING', 'DELAYED'].includes(move.state);
      if (!from || from === 'DEAD') line.about = { ...(from ? { ageMs: age } : {}) };
      else if (age > 30_000 && (wasWaiting || (from === 'TAKEN' && waitsNow))) line.about = { ageMs: age };
      events.push(line);
    });
    const last = moves.filter((move) => move.at <= end + 3).at(-1);
    if (last && ['PENDING', 'DELAYED'].includes(last.state)) {
      const about = { ageMs: end + 3 - created };
      // Some move while the waiting tasks are fetched: they are missing there, or have a move besides.
      if (number % 3 !== 0) waits.push({ at: end + 3, task: number, waits: last.state, about });
      if (number % 3 < 2) after.push({ at: end + 3, task: number, from: last.state, to: 'TAKEN', about });
    }
  }
  events.sort((a, b) => a.at - b.at);
  return [head(seconds), ...events, ...waits, ...after];
}

test('each second is what a model says that knows every task', () => {
  const seconds = 200;
  for (let seed = 1; seed <= 8; ++seed) {
    const lives = world(seed, seconds);
    // A task that is in work all the time has no event.
    const known = lives.filter(({ moves }) => moves.some((move) => move.at >= FROM - 35_000) || moves.at(-1).state !== 'TAKEN');
    const recorded = replayed(linesOf(known, seconds));
    for (let i = 0; i <= seconds; ++i) {
      const now = at(i);
      const there = known.map((life) => ({ ...life, state: life.moves.filter((move) => move.at <= now).at(-1)?.state }))
        .filter(({ moves, state }) => state !== 'TAKEN' || moves.some((move) => move.at >= FROM - 35_000 && move.at <= at(seconds)));
      const of = (state) => there.filter((life) => life.state === state);
      const ages = of('PENDING').map((life) => now - life.created);
      const wanted = {
        pending: of('PENDING').length, delayed: of('DELAYED').length, inWork: of('TAKEN').length,
        oldestAgeMs: ages.length ? Math.max(...ages) : null, newestAgeMs: ages.length ? Math.min(...ages) : null,
      };
      const found = Object.fromEntries(Object.keys(wanted).map((name) => [name, recorded.columns[name][i]]));
      assert.deepEqual(found, wanted, `seed ${seed}, second ${i}`);
    }
  }
});

test('it keeps no more than the tasks that live', () => {
  const oldest = new Oldest((a, b) => a.created - b.created);
  let waiting = 0;
  let most = 0;
  const first = { created: 0, state: 'PENDING' }; // It stays, so that nobody asks for those behind it.
  oldest.add(first, ++waiting);
  for (let i = 1; i <= 50_000; ++i) {
    const task = { created: i, state: 'PENDING' };
    oldest.add(task, ++waiting);
    task.state = 'TAKEN';
    --waiting;
    most = Math.max(most, oldest.size);
  }
  assert.equal(oldest.first(), first);
  assert.ok(most <= 2000, `${most} inside`);
});

test('the p99 of commits is that between two readings', () => {
  assert.equal(commitP99([], null), null);
  assert.equal(commitP99([{ withinUs: 64, count: 98 }, { withinUs: 4096, count: 2 }], null), 4.096);
  assert.equal(commitP99([{ withinUs: 64, count: 99 }, { withinUs: 4096, count: 1 }], null), 0.064);
  // A count that was not there before, and one without a bound.
  const before = [{ withinUs: 4096, count: 500 }];
  assert.equal(commitP99([{ withinUs: 128, count: 3 }, { withinUs: 4096, count: 500 }], before), 0.128);
  assert.equal(commitP99(before, before), null, 'no commit between them');
  assert.equal(commitP99([{ withinUs: 64, count: 1 }, { count: 9 }], null), null, 'longer than any bound');
});

test('the last minute of commits forgets what was before it, and an earlier daemon', () => {
  const minute = new LastMinute();
  assert.deepEqual(minute.p99(), { ms: null, spanMs: null });
  minute.add(1, 0, [{ withinUs: 4096, count: 10 }]);
  assert.deepEqual(minute.p99(), { ms: 4.096, spanMs: null }, 'since the start, at the first reading');
  for (let s = 5; s <= 60; s += 5) minute.add(1, s * 1000, [{ withinUs: 64, count: s }, { withinUs: 4096, count: s < 30 ? 10 : 11 }]);
  assert.deepEqual(minute.p99(), { ms: 4.096, spanMs: 60_000 }, 'one of 61');
  for (let s = 65; s <= 90; s += 5) minute.add(1, s * 1000, [{ withinUs: 64, count: s }, { withinUs: 4096, count: 11 }]);
  assert.deepEqual(minute.p99(), { ms: 0.064, spanMs: 60_000 }, 'the slow one was before the minute');
  minute.add(1, 690_000, [{ withinUs: 64, count: 95 }, { withinUs: 4096, count: 12 }]);
  assert.deepEqual(minute.p99(), { ms: 4.096, spanMs: 600_000 }, 'the page was hidden for ten minutes');
  minute.add(2, 695_000, [{ withinUs: 8, count: 1 }]);
  assert.deepEqual(minute.p99(), { ms: 0.008, spanMs: null }, 'the daemon began anew');
});

test('a history goes on, unless points are missing, the clock was set, or the machine began again', () => {
  const slice = (first, length, bootAt = 1_000_000) => ({ stepMs: 1000, first, begins: bootAt + first * 1000, length, columns: { pending: Array.from({ length }, (_, i) => first + i) } });
  const older = slice(10, 20);
  assert.equal(isGap(older, slice(25, 10)), false);
  assert.equal(isGap(older, slice(30, 10)), false, 'just behind it');
  assert.equal(isGap(older, slice(25, 10, 1_000_003)), false, 'times are rounded');
  assert.equal(isGap(older, slice(31, 10)), true, 'the point 30 is missing');
  assert.equal(isGap(older, slice(5, 10)), true, 'a machine that began again');
  assert.equal(isGap(older, slice(25, 10, 1_090_000)), true, 'a machine that began again and has been up for about as long');
  const joined = merge(older, slice(25, 10), 15);
  assert.deepEqual([joined.first, joined.begins, joined.length], [20, 1_020_000, 15]);
  assert.deepEqual(joined.columns.pending, Array.from({ length: 15 }, (_, i) => 20 + i));
});

test('spans stand below their attempts, each at its place within it', () => {
  const span = (spanId, parentId, name, at, ms, more = {}) => ({ traceId: 't', spanId, parentId, name, kind: 'request', at, ms, attributes: {}, ...more });
  const attempts = attemptsOf([
    span('1', 'run', 'q attempt', 1000, 100, { kind: 'attempt', attributes: { 'freshet.attempt': '1' }, error: 'the handler answered 500' }),
    span('2', '1', 'POST', 1010, 80),
    span('3', '2', 'charge', 1050, 20, { kind: 'segment' }),
    span('4', 'run', 'q attempt', 5000, 10, { kind: 'attempt', attributes: { 'freshet.attempt': '2' } }),
    span('5', '4', 'POST', 5005, 15),
  ]);
  assert.deepEqual(attempts.map(({ number, ms, error, rows }) => [number, ms, error, rows.map((row) => [row.name, row.depth, row.from, row.share])]), [
    [1, 100, 'the handler answered 500', [['POST', 1, 0.1, 0.8], ['charge', 2, 0.5, 0.2]]],
    [2, 10, '', [['POST', 1, 0.25, 0.75]]], // It went on after its attempt.
  ]);
  assert.deepEqual(attemptsOf([]), []);
});
