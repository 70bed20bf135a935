// One function: its figures, what calls it, a call by hand, and its log as it is written.
import { html } from '../lib/html.js';
import { get } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { useLog } from '../lib/log.js';
import { link } from '../lib/route.js';
import { functionOf, functionsPath, listSubscriptions, mappingsPath, nameOf } from '../lib/functions.js';
import { Failure, Facts, Waiting, When } from '../parts/bits.js';
import { LogLines } from '../parts/log_lines.js';
import { InvokeForm } from './invoke.js';
import { MappingTable } from './mappings.js';
import { ScheduleTable } from './schedules.js';
import * as format from '../lib/format.js';

async function look(name, signal) {
  const [found] = (await get(functionsPath(undefined, name), signal)).functions;
  if (!found) throw new Error(`There is no function ${name}.`);
  return found;
}

function Numbers({ one }) {
  const facts = [
    ['run now', one.reservedConcurrency === undefined ? format.count(one.running) : `${format.count(one.running)} of ${format.count(one.reservedConcurrency)}`],
    ['calls', format.short(one.invocations)],
    ['errors', format.short(one.errors)],
    ['of them timeouts', format.short(one.timeouts)],
    ['turned away', format.short(one.throttles)],
    ['events wait', format.short(one.events.waiting)],
    ['tried again', format.short(one.events.retries)],
    ['given up', format.short(one.events.dropped)],
  ];
  return html`<dl class="numbers">${facts.map(([name, value]) => html`<div><dd class="num">${value}</dd><dt>${name}</dt></div>`)}</dl>`;
}

const targetOf = (arn) => (arn.split(':')[2] === 'lambda' ? html`<a href=${link(['functions', functionOf(arn)])}>${nameOf(arn)}</a>` : nameOf(arn));

function Settings({ one }) {
  const { events } = one;
  return html`<${Facts} rows=${[
    ['Handler', html`<code>${one.handler}</code>`],
    ['Timeout', format.age(one.timeoutMs)],
    one.memoryMiB !== undefined && ['Memory', `${format.count(one.memoryMiB)} MiB`],
    ['Events', `tried ${format.plural(events.maxRetries, 'time')} more, for ${format.age(events.maxAgeSeconds * 1000)} at most`],
    events.onSuccess && ['When one is done', targetOf(events.onSuccess)],
    events.onFailure && ['When one is given up', targetOf(events.onFailure)],
    events.deadLetter && ['The event itself goes to', targetOf(events.deadLetter)],
    one.modified !== undefined && ['Changed', html`<${When} at=${one.modified} />`],
  ]} />`;
}

// Of the first 100 of each kind.
function Callers({ name }) {
  const mappings = usePoll((signal) => get(mappingsPath(undefined, name), signal), 2000, [name]);
  const others = usePoll(
    async (signal) => {
      const [{ schedules }, { subscriptions }] = await Promise.all([get('/schedules', signal), listSubscriptions(undefined, undefined, signal)]);
      return { schedules: schedules.slice(0, 100).filter((one) => functionOf(one.function) === name),
        topics: subscriptions.filter((one) => one.Protocol === 'lambda' && functionOf(one.Endpoint) === name).map((one) => one.TopicArn) };
    },
    5000,
    [name],
  );
  const streams = mappings.value?.mappings ?? [];
  const { schedules = [], topics = [] } = others.value ?? {};
  if (!mappings.value || !others.value) {
    const error = mappings.error ?? others.error;
    return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="what calls it" />`;
  }
  if (streams.length + schedules.length + topics.length === 0) return html`<p class="quiet">No stream, topic or schedule calls it.</p>`;
  return html`
    ${streams.length > 0 && html`<${MappingTable} mappings=${streams} ofFunction onChange=${mappings.again} />`}
    ${topics.length > 0 && html`<p>Topics: ${topics.map((arn, i) => html`${i > 0 ? ', ' : ''}<a href=${link(['topics'], { topic: arn })}>${nameOf(arn)}</a>`)}</p>`}
    ${schedules.length > 0 && html`<${ScheduleTable} schedules=${schedules} ofFunction />`}`;
}

function Log({ name }) {
  const { lines, error } = useLog(name);
  return html`<${Failure} error=${error} />
    ${lines === null ? !error && html`<${Waiting} what="its log" />` : html`<${LogLines} lines=${lines} label=${`Log of ${name}`} empty="It has said nothing yet. Lines come here as they are written." />`}`;
}

export function FunctionView({ name }) {
  const { value: one, error, again } = usePoll((signal) => look(name, signal), 2000, [name]);
  const head = html`<p class="crumbs"><a href=${link(['functions'])}>functions</a></p>
    <header class="head"><h1>${name}</h1>${one && html`<span class="status off">${one.runtime}</span>`}</header>`;
  if (!one) return html`${head}${error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the function" />`}`;
  return html`${head}
    <${Failure} error=${error} />
    ${one.description && html`<p>${one.description}</p>`}
    <${Numbers} one=${one} />
    <div class="halves">
      <section aria-label="Call it"><h2>Call it</h2><${InvokeForm} name=${name} onDone=${again} /></section>
      <section aria-label="Its log"><h2>Its log <span class="quiet">as it is written</span></h2><${Log} name=${name} /></section>
    </div>
    <section aria-label="What calls it"><h2>What calls it</h2><${Callers} name=${name} /></section>
    <section class="narrow" aria-label="Its settings"><h2>Its settings</h2><${Settings} one=${one} /></section>`;
}
