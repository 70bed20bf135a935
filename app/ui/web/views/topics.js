// Topics and their subscriptions.
import { html } from '../lib/html.js';
import { usePoll } from '../lib/poll.js';
import { link } from '../lib/route.js';
import { functionOf, listSubscriptions, listTopics, nameOf } from '../lib/functions.js';
import { Failure, Table, Waiting } from '../parts/bits.js';
import { Pages } from '../parts/pages.js';
import * as format from '../lib/format.js';

const endpointOf = (one) => (one.Protocol === 'lambda' ? html`<a href=${link(['functions', functionOf(one.Endpoint)])}>${nameOf(one.Endpoint)}</a>` : one.Endpoint);
const stateOf = (one) => (one.SubscriptionArn === 'PendingConfirmation' ? html`<span class="status wait">waits for its confirmation</span>` : html`<span class="status good">confirmed</span>`);

function Subscriptions({ topic, token }) {
  const { value, error } = usePoll((signal) => listSubscriptions(topic, token, signal), 5000, [topic, token]);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the subscriptions" />`;
  return html`<${Failure} error=${error} /><${Table} caption="Subscriptions" empty=${topic ? 'Nobody gets the messages of this topic.' : 'Nobody has subscribed to a topic.'}
      columns=${[{ name: 'Topic' }, { name: 'Protocol' }, { name: 'Gets its messages' }, { name: 'State' }]}
      rows=${value.subscriptions.map((one) => [html`<span class="keep">${nameOf(one.TopicArn)}</span>`, one.Protocol, endpointOf(one), stateOf(one)])} />
    <${Pages} what="subscriptions" parts=${['topics']} query=${{ topic, subscriptions: token }} name="subscriptions" next=${value.token} shown=${`${format.plural(value.subscriptions.length, 'subscription')} shown`} />`;
}

// The topic that is chosen stands in the address as its ARN.
export function Topics({ query }) {
  const { value, error } = usePoll((signal) => listTopics(query.topics, signal), 5000, [query.topics]);
  if (!value) return error ? html`<${Failure} error=${error} />` : html`<${Waiting} what="the topics" />`;
  return html`<${Failure} error=${error} />
    <h2>Topics</h2>
    <${Table} caption="Topics" empty="There is no topic."
      columns=${[{ name: 'Topic' }, { name: 'ARN' }]}
      rows=${value.topics.map((arn) => [html`<a class="keep" href=${link(['topics'], { topic: arn })} aria-current=${arn === query.topic ? 'true' : undefined}>${nameOf(arn)}</a>`, html`<span class="id quiet">${arn}</span>`])} />
    <${Pages} what="topics" parts=${['topics']} query=${{ topics: query.topics }} name="topics" next=${value.token} shown=${`${format.plural(value.topics.length, 'topic')} shown`} />
    <h2>Subscriptions ${query.topic && html`<span class="quiet">of ${nameOf(query.topic)} · <a href=${link(['topics'])}>of all topics</a></span>`}</h2>
    <${Subscriptions} topic=${query.topic} token=${query.subscriptions} />`;
}
