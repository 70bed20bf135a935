// A recording of a queue (GET /queues/NAME/recording), replayed into what the queue was at each second. Pure: it knows
// neither page nor network. It keeps the tasks that live and a row of numbers for each second, so an hour of a busy
// queue is as small as one of a quiet queue.
import { Oldest } from './oldest.js';

const SECOND = 1000;
const MINUTE = 60; // Seconds.
export const MOST_WAITING = 200_000; // The daemon names no more tasks that wait at the end.
const LONGEST_S = 24 * 3600 + 60;

const SHED = ['ttl', 'deadline', 'deadline-margin'];
const REFUSED = ['max-waiting', 'max-waiting-bytes', 'deadline', 'deadline-passed', 'max-lanes'];
// The columns are named as those of a queue's history (GET /queues/NAME/series).
const FLOWS = ['offered', 'started', 'inTime', 'late', 'failed', 'cancelled', ...SHED.map((why) => `shed.${why}`), 'shed.unknown',
  ...REFUSED.map((why) => `refused.${why}`), 'downstreamRefusals', 'wastedCalls'];
const LIVING = ['PENDING', 'DELAYED', 'TAKEN'];
const isLiving = (state) => LIVING.includes(state);
const isWaiting = (state) => state === 'PENDING' || state === 'DELAYED';

const zeros = (length) => new Array(length).fill(0);
const nulls = (length) => new Array(length).fill(null);

export class Replay {
  #tasks = new Map(); // Those that live, by number.
  #depth = { PENDING: 0, DELAYED: 0, TAKEN: 0 };
  #oldest = new Oldest((a, b) => a.created - b.created);
  #newest = new Oldest((a, b) => b.created - a.created);
  #at = 0; // The second whose events come now.
  #pickups = { count: 0, ageMs: 0 };
  #limits = { rateLimit: null, concurrency: null };
  #waits = 0;
  #atEnd = new Set(); // The tasks that waited at the end.

  // One line of the recording, as an object. Throws a TypeError that says what is wrong.
  add(line) {
    if (!this.head) return this.#begin(line);
    if (!Number.isFinite(line.at)) throw new TypeError("a line of the recording has no time in 'at'");
    if (line.policy) return this.policies.push({ at: line.at, policy: line.policy });
    if (line.paused || line.resumed) return this.pauses.push({ at: line.at, paused: Boolean(line.paused), of: line.paused ?? line.resumed, name: line.name ?? '' });
    if (line.waits) return this.#wait(line);
    if (line.at > this.head.to) return this.#moveAfter(line);
    this.#goTo(line.at);
    ++this.events;
    if (line.task !== undefined) return this.#move(line);
    if (line.count !== undefined) return this.#count(line.count, line.number);
    if (line.clockStepMs !== undefined) return this.clockSteps.push({ at: line.at, ms: line.clockStepMs });
    if (line.rateLimit === undefined) return undefined; // A newer daemon may note more.
    this.limitsFrom ??= this.#at;
    this.#limits = { rateLimit: line.rateLimit || null, concurrency: line.concurrency || null };
    return undefined;
  }

  // How much of the time between the bounds has been read, from 0 to 1.
  get share() {
    return this.length > 0 ? Math.min(1, this.#at / this.length) : 0;
  }

  // The end: gives the Recorded.
  finish() {
    if (!this.head) throw new TypeError('the recording is empty');
    while (this.#at < this.length) this.#close();
    this.#addThoseBefore();
    return new Recorded(this);
  }

  #begin(line) {
    if (line.freshet !== 'recording') throw new TypeError('this is no recording: it does not begin with its head');
    if (line.version > 1) throw new TypeError('the recording is of a newer release than this page: reload it');
    this.head = line;
    this.first = Math.ceil(line.from / SECOND) * SECOND;
    this.length = Math.max(0, Math.floor((line.to - this.first) / SECOND) + 1);
    if (this.length > LONGEST_S) throw new TypeError('the recording is longer than a day');
    this.policies = [];
    this.pauses = [];
    this.clockSteps = [];
    this.events = 0;
    this.pulls = false;
    this.limitsFrom = null; // The second from which on they are known.
    this.columns = {};
    for (const name of [...FLOWS, 'pending', 'delayed', 'inWork']) this.columns[name] = zeros(this.length);
    for (const name of ['newestAgeMs', 'oldestAgeMs', 'ageAtStartMs', 'rateLimit', 'concurrency']) this.columns[name] = nulls(this.length);
    // Tasks from before the recording show only when they move, or at its end. By the second in which they first moved:
    // how many were in that state until then, and the creation times of the oldest and the newest.
    this.before = { PENDING: zeros(this.length + 1), DELAYED: zeros(this.length + 1), TAKEN: zeros(this.length + 1) };
    this.beforeOldest = nulls(this.length + 1);
    this.beforeNewest = nulls(this.length + 1);
  }

  #isBeforeBegin(at) {
    return at <= this.first - SECOND;
  }

  // Closes the seconds that ended before `at`: the one with the index i has the events up to first + i seconds.
  #goTo(at) {
    while (this.#at < this.length && at > this.first + this.#at * SECOND) this.#close();
    this.counts = this.#at < this.length && !this.#isBeforeBegin(at);
  }

  #close() {
    const i = this.#at++;
    const now = this.first + i * SECOND;
    const { columns } = this;
    columns.pending[i] = this.#depth.PENDING;
    columns.delayed[i] = this.#depth.DELAYED;
    columns.inWork[i] = this.#depth.TAKEN;
    const [oldest, newest] = [this.#oldest.first(), this.#newest.first()];
    if (oldest) columns.oldestAgeMs[i] = Math.max(0, now - oldest.created);
    if (newest) columns.newestAgeMs[i] = Math.max(0, now - newest.created);
    columns.rateLimit[i] = this.#limits.rateLimit;
    columns.concurrency[i] = this.#limits.concurrency;
    if (this.#pickups.count > 0) columns.ageAtStartMs[i] = Math.round(this.#pickups.ageMs / this.#pickups.count);
    this.#pickups = { count: 0, ageMs: 0 };
  }

  #note(flow, number = 1) {
    if (this.counts && this.columns[flow]) this.columns[flow][this.#at] += number;
  }
  #count(flow, number) {
    this.#note(flow, number);
    if (flow.startsWith('refused.')) this.#note('offered', number);
  }

  #move(line) {
    const comes = !isLiving(line.from) && isLiving(line.to);
    if (comes && line.from === undefined) this.#note('offered');
    let task = this.#tasks.get(line.task);
    if (!task && !comes && isLiving(line.from)) {
      this.#wasThere(line.from, line.about, line.at, this.#at);
      this.#depth[line.from] += 1;
    }
    if (!task && (comes || line.about || isLiving(line.to))) {
      task = { state: comes ? null : line.from, created: null, due: undefined, started: !comes && line.from === 'TAKEN', old: false, new: false };
      this.#tasks.set(line.task, task);
    }
    if (task && line.about) learn(task, line.about, line.at);
    this.#tell(line, task);
    if (task) this.#put(line.task, task, line.to);
    else if (isLiving(line.from)) this.#depth[line.from] -= 1;
  }

  #put(number, task, to) {
    if (task.state) this.#depth[task.state] -= 1;
    task.state = isLiving(to) ? to : null;
    if (!task.state) return this.#tasks.delete(number);
    this.#depth[to] += 1;
    if (to === 'PENDING' && task.created !== null) {
      this.#oldest.add(task, this.#depth.PENDING);
      this.#newest.add(task, this.#depth.PENDING);
    }
    return undefined;
  }

  // Counts the move as the queue's history does.
  #tell(line, task) {
    const { from, to, at } = line;
    if (to === 'TAKEN') {
      this.#note('started');
      if (line.pulled) this.pulls = true;
      if (task && !task.started && task.created !== null) {
        this.#pickups.count += 1;
        this.#pickups.ageMs += Math.max(0, at - task.created);
      }
      if (task) task.started = true;
    }
    let late = false;
    if (to === 'SUCCESS' && task && task.due !== undefined) {
      late = task.due !== null && at > task.due;
      this.#note(late ? 'late' : 'inTime');
    }
    if (to === 'FAILURE' || to === 'DEAD') this.#note('failed');
    if (to === 'CANCELLED') this.#note('cancelled');
    if (to === 'SHED') this.#note(`shed.${SHED.includes(line.because) ? line.because : 'unknown'}`);
    if (to === undefined && line.byTtl && isWaiting(from)) this.#note('shed.ttl');
    if (from === 'TAKEN' && (to !== 'SUCCESS' || late)) this.#note('wastedCalls');
  }

  // A task that was there before the recording was in that state in all seconds before `until`.
  #wasThere(state, about, at, until) {
    if (until === 0) return;
    this.before[state][until] += 1;
    if (state !== 'PENDING' || !about) return;
    const created = at - (about.ageMs ?? 0);
    this.beforeOldest[until] = Math.min(created, this.beforeOldest[until] ?? Infinity);
    this.beforeNewest[until] = Math.max(created, this.beforeNewest[until] ?? -Infinity);
  }

  // A task that waits at the end. One that never moved was there all the time, unless it came after the end.
  #wait(line) {
    ++this.#waits;
    this.waitsMore = this.#waits >= MOST_WAITING;
    this.#waited(line.task, line.waits, line);
  }

  // The last part of a recording: what moved while its waiting tasks were fetched, and may be missing there.
  #moveAfter(line) {
    if ((line.from === 'PENDING' || line.from === 'DELAYED') && line.about) this.#waited(line.task, line.from, line);
  }

  #waited(task, state, { about, at }) {
    if (this.#atEnd.has(task)) return;
    this.#atEnd.add(task);
    const created = at - (about?.ageMs ?? 0);
    if (this.#tasks.has(task) || created > this.head.from) return;
    this.#wasThere(state, about, at, this.length);
  }

  // From the last second to the first: those that moved later were still where they had been.
  #addThoseBefore() {
    const names = { PENDING: 'pending', DELAYED: 'delayed', TAKEN: 'inWork' };
    const there = { PENDING: 0, DELAYED: 0, TAKEN: 0 };
    let [oldest, newest] = [Infinity, -Infinity];
    for (let i = this.length - 1; i >= 0; --i) {
      for (const state of LIVING) this.columns[names[state]][i] += there[state] += this.before[state][i + 1];
      oldest = Math.min(oldest, this.beforeOldest[i + 1] ?? Infinity);
      newest = Math.max(newest, this.beforeNewest[i + 1] ?? -Infinity);
      const now = this.first + i * SECOND;
      const { oldestAgeMs, newestAgeMs } = this.columns;
      if (oldest !== Infinity) oldestAgeMs[i] = Math.max(oldestAgeMs[i] ?? 0, now - oldest, 0);
      if (newest !== -Infinity) newestAgeMs[i] = Math.max(0, Math.min(newestAgeMs[i] ?? Infinity, now - newest));
    }
  }
}

function learn(task, about, at) {
  task.created ??= at - (about.ageMs ?? 0); // It stays, for it is what tasks are sorted by.
  // Null: it has no deadline, or its TTL is over before that.
  task.due = about.dueInMs !== undefined && about.dueBy !== 'ttl' ? at + about.dueInMs : null;
}

// A recording that was replayed. Times are in epoch milliseconds.
export class Recorded {
  constructor(replay) {
    Object.assign(this, { head: replay.head, queue: replay.head.queue, first: replay.first, length: replay.length, columns: replay.columns,
      events: replay.events, pauses: replay.pauses, clockSteps: replay.clockSteps, pulls: replay.pulls, waitsMore: replay.waitsMore ?? false });
    this.last = this.first + Math.max(0, this.length - 1) * SECOND;
    this.policies = [{ at: this.head.from, policy: this.head.policy ?? {} }, ...replay.policies].sort((a, b) => a.at - b.at);
    this.#takeLimitsFromPolicy(replay.limitsFrom ?? this.length);
  }

  // Limits are noted when they change, so a recording may be without the one that was set before it began.
  #takeLimitsFromPolicy(until) {
    for (const [column, setting] of [['rateLimit', 'RATE_LIMIT'], ['concurrency', 'CONCURRENCY']]) {
      for (let i = 0; i < until; ++i) this.columns[column][i] = positive(this.policyAt(this.timeOf(i))[setting]);
    }
  }

  timeOf(index) {
    return this.first + index * SECOND;
  }
  // The second that shows `at`; the nearest one if it is outside.
  indexOf(at) {
    return Math.max(0, Math.min(this.length - 1, Math.round((at - this.first) / SECOND)));
  }
  isPausedAt(at) {
    return this.pauses.findLast((change) => change.of === 'queue' && change.at <= at)?.paused ?? false;
  }
  policyAt(at) {
    return this.policies.findLast((change) => change.at <= at)?.policy ?? this.policies[0].policy;
  }

  // The queue's history as GET /queues/NAME/series has it.
  series(from = 0, length = this.length - from) {
    const columns = Object.fromEntries(Object.entries(this.columns).map(([name, column]) => [name, column.slice(from, from + length)]));
    return { stepMs: SECOND, first: from, begins: this.timeOf(from), length, columns };
  }

  // The queue at that second, in the form in which GET /queues has it now.
  at(index) {
    const policy = this.policyAt(this.timeOf(index));
    const { columns } = this;
    const sum = (name) => columns[name].slice(Math.max(0, index + 1 - MINUTE), index + 1).reduce((all, one) => all + one, 0);
    const kinds = (kind) => Object.keys(columns).filter((name) => name.startsWith(`${kind}.`)).map((name) => [name.slice(kind.length + 1), sum(name)]).filter(([, count]) => count > 0);
    const total = (parts) => parts.reduce((all, [, count]) => all + count, 0);
    const shed = kinds('shed');
    const minute = { inTime: sum('inTime'), late: sum('late'), failed: sum('failed'), shed: total(shed), refused: total(kinds('refused')) };
    minute.ended = minute.inTime + minute.late + minute.failed + minute.shed;
    if (minute.ended > 0) minute.inTimeShare = minute.inTime / minute.ended;
    const now = {};
    if (columns.rateLimit[index]) now.rateLimit = { perSecond: columns.rateLimit[index], learnt: policy.RATE_LIMIT === 'adaptive' };
    if (columns.concurrency[index]) now.concurrency = { most: columns.concurrency[index], learnt: policy.CONCURRENCY === 'adaptive' };
    return {
      name: this.queue, state: this.isPausedAt(this.timeOf(index)) ? 'paused' : 'running', at: this.timeOf(index), secondsBefore: Math.min(index + 1, MINUTE), pending: columns.pending[index], delayed: columns.delayed[index], taken: columns.inWork[index],
      newestAgeMs: columns.newestAgeMs[index], oldestAgeMs: columns.oldestAgeMs[index], runner: this.pulls ? 'none' : '',
      lastMinute: minute, shedLastMinute: Object.fromEntries(shed), now,
    };
  }
}

function positive(text) {
  const number = Number(text);
  return number > 0 ? number : null;
}
