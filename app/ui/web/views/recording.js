// The flight recorder's last hour of a queue: the card of the overview and the charts, at any second of it. The second
// is in the address.
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js';
import { link, replace } from '../lib/route.js';
import { readRecording, recordingFile } from '../lib/recording_read.js';
import { times } from '../lib/series.js';
import { useWho } from '../lib/who.js';
import { Chart } from '../parts/chart.js';
import { Failure, QueueState } from '../parts/bits.js';
import { Scrubber } from '../parts/scrubber.js';
import { CardFacts, EndsSpark, SPARK_POINTS } from './overview.js';
import { chartsOf } from './history.js';
import { WhatIf } from './whatif.js';
import * as format from '../lib/format.js';

const REST_MS = 250; // The address follows when the moment rests for so long.
const MOST_EVENTS = 100;

// { recorded, error, share, again }
function useRecording(queue) {
  const [known, setKnown] = useState({ recorded: null, error: null, share: 0 });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    setKnown({ recorded: null, error: null, share: 0 });
    const onShare = (share) => !signal.aborted && setKnown((before) => ({ ...before, share }));
    readRecording(queue, { signal, onShare }).then(
      (recorded) => !signal.aborted && setKnown({ recorded, error: null, share: 1 }),
      (error) => !signal.aborted && setKnown({ recorded: null, error, share: 0 }),
    );
    return () => controller.abort();
  }, [queue, turn]);
  return { ...known, again: () => setTurn(turn + 1) };
}

// Changes of the policy, pauses and steps of the clock, as { at, text }.
function eventsOf(recorded) {
  const changes = recorded.policies.slice(1).map(({ at, policy }, i) => {
    const before = recorded.policies[i].policy;
    const names = [...new Set([...Object.keys(before), ...Object.keys(policy)])].filter((name) => before[name] !== policy[name]).sort();
    return { at, text: names.map((name) => `${name} ${before[name] ?? 'not in force'} → ${policy[name] ?? 'not in force'}`).join(', ') || 'the policy was set again' };
  });
  const steps = recorded.clockSteps.map(({ at, ms }) => ({ at, text: `the clock was set ${ms < 0 ? 'back' : 'forward'} by ${format.age(Math.abs(ms))}` }));
  const pauses = recorded.pauses.map(({ at, paused, of, name }) => ({ at, text: `${of === 'queue' ? 'the queue' : `${of} ${name}`} ${paused ? 'was paused' : 'was resumed'}` }));
  return [...changes, ...pauses, ...steps].sort((a, b) => a.at - b.at);
}

function Events({ recorded, parts, index }) {
  const events = useMemo(() => eventsOf(recorded), [recorded]);
  if (events.length === 0) return html`<p class="quiet">The policy did not change, and nothing was paused.</p>`;
  return html`<ul class="events">${events.slice(0, MOST_EVENTS).map(({ at, text }) => html`<li aria-current=${recorded.indexOf(at) === index ? 'true' : undefined}>
    <a href=${link(parts, { at: recorded.timeOf(recorded.indexOf(at)) })}>${format.time(at)}</a> ${text}</li>`)}</ul>
    ${events.length > MOST_EVENTS && html`<p class="quiet">${format.plural(events.length - MOST_EVENTS, 'further event')}</p>`}`;
}

function Export({ queue }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      const url = URL.createObjectURL(await recordingFile(queue));
      const anchor = document.createElement('a');
      anchor.href = url;
      anchor.download = `${queue.replace(/[^\w.-]+/g, '_')}-recording.jsonl`;
      anchor.click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  return html`<button disabled=${busy} onClick=${save} title="A file for freshet ui and freshet simulate">${busy ? 'Exporting …' : 'Export'}</button><${Failure} error=${error} />`;
}

const FILE_LACKS = 'A file of freshet recording save has no limits, refused creations, refusals of the downstream or steps of the clock: they are not shown, and the limits are those of the policy. Tasks that were in work at its start are missing until they wait again.';

function Notes({ recorded, file }) {
  const notes = [];
  if (file?.form === 'fixture') notes.push(FILE_LACKS);
  if (recorded.head.forgot) notes.push('Earlier events were forgotten: the recorder keeps an hour, and what fits into its memory (--recording-bytes).');
  if (recorded.waitsMore && file?.form !== 'fixture') notes.push('200,000 tasks or more wait at the end. The recording does not name the others, so some that waited all the time are missing.');
  return html`${notes.map((note) => html`<p class="quiet">${note}</p>`)}`;
}

// The second that the address names, and how to go to another. The address follows a moment later.
function useMoment(recorded, parts, query) {
  const asked = Number(query.at) || recorded.last;
  const [index, setIndex] = useState(() => recorded.indexOf(asked));
  const timer = useRef(0);
  const own = useRef(query.at); // What this view has written into the address.
  useEffect(() => {
    if (query.at !== own.current) setIndex(recorded.indexOf(asked));
    own.current = query.at;
  }, [query.at, recorded]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const move = (to) => {
    setIndex(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      own.current = String(recorded.timeOf(to));
      replace(parts, { ...query, at: own.current });
    }, REST_MS);
  };
  return [index, move];
}

function At({ recorded, parts, query, file, onAgain }) {
  const [index, move] = useMoment(recorded, parts, query);
  const shown = useMemo(() => {
    const series = recorded.series();
    return { at: times(series), charts: chartsOf(series) };
  }, [recorded]);
  const now = recorded.at(index);
  const from = Math.max(0, index + 1 - SPARK_POINTS);
  const asked = Number(query.at);
  const isOutside = asked > 0 && (asked < recorded.first || asked > recorded.last + 999);
  const picture = (chart) => html`<${Chart} key=${chart.title} at=${shown.at} ...${chart} mark=${index} onPick=${move} sync="recording" />`;
  return html`
    ${isOutside && html`<p class="notice">The recording does not have <strong>${format.time(asked)}</strong>, which the address names. This is its nearest moment.</p>`}
    <div class="moment">
      <article class="card" aria-label=${`Queue ${recorded.queue} at ${format.time(now.at)}`}>
        <header><h2>${recorded.queue}</h2>${now.state === 'paused' && html`<${QueueState} state="paused" />`}<time class="num" dateTime=${new Date(now.at).toISOString()} title=${format.fullTime(now.at)}>${format.time(now.at)}</time></header>
        <${CardFacts} queue=${now} spark=${html`<${EndsSpark} series=${recorded.series(from, index + 1 - from)} />`} />
      </article>
      <section aria-label="Moment">
        <${Scrubber} length=${recorded.length} index=${index} timeOf=${(one) => recorded.timeOf(one)} onMove=${move} />
        <p class="buttons">${file ? null : html`<button onClick=${onAgain}>Read again</button><${Export} queue=${recorded.queue} />`}
          <span class="quiet">${format.plural(recorded.events, 'event')}</span></p>
        ${picture(shown.charts[0])}
        <h2>Policy, pauses, clock</h2>
        <${Events} recorded=${recorded} parts=${parts} index=${index} />
        <${Notes} recorded=${recorded} file=${file} />
      </section>
    </div>
    <div class="charts three">${shown.charts.slice(1).map(picture)}</div>
    <${WhatIf} queue=${recorded.queue} now=${recorded.policyAt(recorded.last)} />`;
}

export function Recording({ queue, query }) {
  const { file } = useWho();
  const { recorded, error, share, again } = useRecording(queue);
  const parts = ['queues', queue, 'recording'];
  if (error) return html`<${Failure} error=${error}> <button onClick=${again}>Read again</button></${Failure}>`;
  if (!recorded) {
    return html`<p role="status"><label for="read">Reading the recording: ${Math.floor(share * 100)} %</label> <progress id="read" max="1" value=${share}></progress></p>`;
  }
  if (recorded.length === 0) return html`<p>Nothing is recorded yet. <button onClick=${again}>Read again</button></p>`;
  return html`<${At} key=${recorded.head.to} recorded=${recorded} parts=${parts} query=${query} file=${file} onAgain=${again} />`;
}
