// Functions, and what calls them: event sources, topics and schedules.
import { html } from '../lib/html.js';
import { get } from '../lib/api.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { functionsPath } from '../lib/functions.js';
import { Failure, Table, Tabs, Waiting } from '../parts/bits.js';
import { Pages } from '../parts/pages.js';
import { FunctionView } from './function.js';
import { Mappings } from './mappings.js';
import { Schedules } from './schedules.js';
import { Topics } from './topics.js';
import * as format from '../lib/format.js';

const TABS = [
  ['functions', 'Functions', Functions],
  ['mappings', 'Event sources', Mappings],
  ['topics', 'Topics', Topics],
  ['schedules', 'Schedules', Schedules],
];
// The first parts of the addresses of these views.
export const PLACES = TABS.map(([id]) => id);

export function errorsOf(one) {
  if (one.errors === 0) return '0';
  return html`<strong class="bad">${format.count(one.errors)}</strong> <span class="quiet">${format.percent(one.errors / one.invocations)}</span>`;
}

function Numbers({ functions }) {
  const sum = (of) => functions.reduce((all, one) => all + of(one), 0);
  const facts = [
    ['functions', functions.length],
    ['run now', sum((one) => one.running)],
    ['calls', sum((one) => one.invocations)],
    ['errors', sum((one) => one.errors)],
    ['events wait', sum((one) => one.events.waiting)],
    ['tried again', sum((one) => one.events.retries)],
    ['given up', sum((one) => one.events.dropped)],
    ['turned away', sum((one) => one.throttles)],
  ];
  return html`<dl class="numbers">${facts.map(([name, value]) => html`<div><dd class="num">${format.short(value)}</dd><dt>${name}</dt></div>`)}</dl>`;
}

function Functions({ query }) {
  const path = functionsPath(query.cursor);
  const { value, error } = usePoll((signal) => get(path, signal), 2000, [path]);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the functions" />`;
  const row = (one) => [
    html`<a class="keep" href=${link(['functions', one.name])}>${one.name}</a>${one.description && html`<br /><span class="quiet clip">${one.description}</span>`}`,
    html`<span class="quiet">${one.runtime}</span>`,
    one.reservedConcurrency === undefined ? format.count(one.running) : html`${format.count(one.running)} <span class="quiet">of ${format.count(one.reservedConcurrency)}</span>`,
    format.short(one.invocations),
    errorsOf(one),
    format.short(one.events.waiting),
    format.short(one.events.retries),
    one.events.dropped ? html`<strong class="bad">${format.short(one.events.dropped)}</strong>` : '0',
  ];
  return html`<${Failure} error=${error} />
    ${value.functions.length > 0 && html`<${Numbers} functions=${value.functions} />`}
    <p class="quiet">Calls and errors count since the daemon started. Events are calls that wait for nobody: they stay in a durable queue until they are done.</p>
    <${Table} caption="Functions" empty="There is no function. A template brings them, or the Lambda API."
      columns=${[{ name: 'Function' }, { name: 'Runs as' }, { name: 'Running', number: true }, { name: 'Calls', number: true }, { name: 'Errors', number: true },
        { name: 'Events wait', number: true }, { name: 'Tried again', number: true }, { name: 'Given up', number: true }]}
      rows=${value.functions.map(row)} />
    <${Pages} what="functions" parts=${['functions']} query=${query} name="cursor" next=${value.cursor} shown=${`${format.plural(value.functions.length, 'function')} shown`} />`;
}

export function FunctionViews({ parts, query }) {
  const [place, name] = parts;
  if (place === 'functions' && name !== undefined) return html`<${FunctionView} key=${name} name=${name} />`;
  const [id, , View] = TABS.find(([one]) => one === place) ?? TABS[0];
  return html`<header class="head"><h1>Functions</h1></header>
    <${Tabs} name="Functions and what calls them" now=${id} all=${TABS.map(([one, text]) => ({ id: one, label: text, href: link([one]) }))} />
    <div class="view"><${View} parts=${parts} query=${query} /></div>`;
}
