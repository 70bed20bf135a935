// "What if": the recording played under other policies, each with what it would have come to, beside the best known.
import { html, useMemo, useState } from '../lib/html.js';
import { get, post, queuePath } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { isFile, needs } from '../lib/who.js';
import { Chart } from '../parts/chart.js';
import { Confirm, say } from '../parts/dialog.js';
import { Failure, Table } from '../parts/bits.js';
import { Difference, Field, GROUPS, difference } from '../parts/settings.js';
import { GuardFields, guardOf } from './guard.js';
import { backTo } from './policy.js';
import * as format from '../lib/format.js';

const MOST = 4; // Policies that are compared at once.
const SPANS = [5, 10, 30, 60]; // Minutes.
const COLOURS = ['c-good', 'c-late', 'c-refused', 'c-failed', 'c-limit'];
// The recorded tasks have theirs, and no worker dies there (docs/simulate.md).
const NOT_PLAYED = ['LEASE_MS', 'DEFAULT_DEADLINE_MS', 'DEFAULT_TTL_S', 'DEFAULT_COST', 'KEEP_MS'];
const GUARD = { on: true, points: 10, minutes: 10 };

const share = (percent) => (percent === null || percent === undefined ? '–' : `${percent.toFixed(1)} %`);
const points = (value) => (value === null || value === undefined ? '–' : value.toFixed(1));

// One policy to try: settings that differ from those in force.
function Candidate({ number, now, help, changes, onChange, onRemove }) {
  const free = [...new Set([...GROUPS.flatMap(([, names]) => names), ...Object.keys(now)])].filter((name) => name in now && !(name in changes) && !NOT_PLAYED.includes(name));
  const without = (name) => Object.fromEntries(Object.entries(changes).filter(([one]) => one !== name));
  return html`<fieldset><legend>Policy ${number}</legend>
    ${Object.entries(changes).map(([name, value]) => html`<div class="pick"><${Field} key=${name} name=${name} scope=${`whatif-${number}`} help=${help.get(name)} before=${now[name] ?? ''} value=${value} onChange=${(next) => onChange({ ...changes, [name]: next })} />
      <button type="button" class="plain" aria-label=${`Take ${name} out of policy ${number}`} onClick=${() => onChange(without(name))}>×</button></div>`)}
    <p class="buttons"><select aria-label=${`Setting for policy ${number}`} value="" onChange=${(event) => event.target.value && onChange({ ...changes, [event.target.value]: now[event.target.value] ?? '' })}>
        <option value="">Change a setting …</option>${free.map((name) => html`<option value=${name}>${name}</option>`)}</select>
      ${onRemove && html`<button type="button" onClick=${onRemove}>Remove</button>`}</p></fieldset>`;
}

function Apply({ queue, settings }) {
  const [asked, setAsked] = useState(null);
  const [guard, setGuard] = useState(GUARD);
  const [error, setError] = useState(null);
  const path = queuePath(queue, 'policy');
  const look = async () => {
    setError(null);
    try {
      const before = await get(path);
      const after = await post(path, { ...settings, dryRun: true });
      setAsked({ before, after });
    } catch (failed) {
      setError(failed);
    }
  };
  const apply = async () => {
    await post(path, { ...settings, ...guardOf(guard) });
    say(`The policy of ${queue} is changed${guard.on ? ', under guard' : ''}.`, () => post(path, backTo(asked.before, asked.after)));
  };
  return html`<button type="button" onClick=${look} ...${needs('operate')}>Apply …</button><${Failure} error=${error} />
    ${asked && html`<${Confirm} title=${`Change the policy of ${queue}?`} verb="Apply" onClose=${() => setAsked(null)} onDo=${apply}>
      <${Difference} rows=${difference(asked.before, asked.after)} /><${GuardFields} value=${guard} onChange=${setGuard} />
    </${Confirm}>`}`;
}

// A step lasts until the next one, so the last one needs an end.
const withEnd = (values) => [...values, values.at(-1) ?? null];

// The policy in force and the best others.
function regretChart({ policies, to }) {
  const shown = [...policies.filter((one) => one.inForce), ...policies.filter((one) => !one.inForce).slice(0, COLOURS.length - 1)];
  const windows = policies[0]?.windows ?? [];
  return {
    title: 'Regret', unit: 'points of the share in time below the best known, by window', format: points,
    at: [...windows.map(({ at }) => at), to].map((at) => at / 1000), // The last window ends with the recording.
    lines: shown.map((policy, i) => ({ label: policy.name, colour: COLOURS[i], wide: policy.inForce, steps: true, values: withEnd(windows.map(({ at }) => policy.windows.find((one) => one.at === at)?.regret ?? null)) })),
  };
}

const COLUMNS = [{ name: 'Policy' }, { name: 'Tasks', number: true }, { name: 'In time', number: true }, { name: '90 % interval', number: true }, { name: 'Regret, points', number: true }, ...(isFile ? [] : [{ name: 'Apply' }])];

function Answer({ queue, answer }) {
  const chart = useMemo(() => regretChart(answer), [answer]);
  const { recorded, bestKnown } = answer;
  const rows = [
    ['As it was', format.count(recorded.tasks), share(recorded.percent), '', '', ''],
    ...answer.policies.map((policy) => [
      policy.inForce ? html`<strong>In force</strong>` : html`<code>${policy.name}</code>`, format.count(policy.tasks), share(policy.percent),
      policy.low === undefined ? '–' : `${share(policy.low)} to ${share(policy.high)}`, points(policy.regret), policy.inForce || isFile ? '' : html`<${Apply} queue=${queue} settings=${policy.settings} />`,
    ]),
    [html`The best known <span class="quiet">knows what comes</span>`, '', share(bestKnown.percent), '', '', ''],
  ];
  return html`<div aria-live="polite">
    <p>${format.time(answer.from)} to ${format.time(answer.to)}, in windows of ${format.age(answer.windowMs)}. ${answer.assumes}</p>
    <${Table} caption="What each policy would have come to" columns=${COLUMNS} rows=${rows.map((cells) => cells.slice(0, COLUMNS.length))} />
    ${answer.skipped.length > 0 && html`<p class="quiet">Left out: ${answer.skipped.map(({ from, to, why }) => `${format.time(from)} to ${format.time(to)} (${why})`).join('; ')}</p>`}
    ${chart.at.length > 1 && html`<div class="charts"><${Chart} ...${chart} sync="whatif" /></div>`}</div>`;
}

// `now`: the settings in force at the end of the recording.
export function WhatIf({ queue, now }) {
  const [candidates, setCandidates] = useState([{}]);
  const [minutes, setMinutes] = useState(10);
  const [downstream, setDownstream] = useState('');
  const [state, setState] = useState({ answer: null, error: null, busy: false });
  const settings = usePoll((signal) => (isFile ? { settings: [] } : get('/settings', signal)), 3_600_000, []);
  const help = useMemo(() => new Map((settings.value?.settings ?? []).map((row) => [row.name, row])), [settings.value]);
  const asked = candidates.filter((one) => Object.keys(one).length > 0);
  const compare = async (event) => {
    event.preventDefault();
    if (state.busy) return;
    setState({ answer: null, error: null, busy: true });
    try {
      setState({ answer: await post(queuePath(queue, 'whatif'), { lastMs: minutes * 60_000, ...(downstream.trim() ? { downstream: downstream.trim() } : {}), ...(asked.length > 0 ? { settings: asked } : {}) }), error: null, busy: false });
    } catch (error) {
      setState({ answer: null, error, busy: false });
    }
  };
  const replaceOne = (at, one) => setCandidates(candidates.map((before, i) => (i === at ? one : before)));
  return html`<section aria-label="What if">
    <h2>What if <span class="quiet">the same tasks came, and the policy was another</span></h2>
    <form class="whatif" onSubmit=${compare}>
      ${candidates.map((one, i) => html`<${Candidate} key=${i} number=${i + 1} now=${now} help=${help} changes=${one} onChange=${(next) => replaceOne(i, next)}
        onRemove=${candidates.length > 1 ? () => setCandidates(candidates.filter((_, at) => at !== i)) : null} />`)}
      <p class="buttons">
        <label>The last <select value=${minutes} onChange=${(event) => setMinutes(Number(event.target.value))}>${SPANS.map((one) => html`<option value=${one}>${one} minutes</option>`)}</select></label>
        <label title="Without it, what was refused is refused again">Limiter behind the queue <input type="text" maxlength="200" size="27" placeholder="not known; token-bucket 20/s" value=${downstream} onInput=${(event) => setDownstream(event.target.value)} /></label>
        <button type="button" disabled=${candidates.length >= MOST} onClick=${() => setCandidates([...candidates, {}])}>Another policy</button>
        <button class="main" disabled=${state.busy} ...${needs('operate')}>${state.busy ? 'Comparing …' : 'Compare'}</button>
        <span class="quiet">${asked.length > 0 ? '' : 'Without a change, the usual policies are compared.'}</span>
      </p>
    </form>
    <${Failure} error=${state.error} />
    ${state.answer && html`<${Answer} queue=${queue} answer=${state.answer} />`}
  </section>`;
}
