// Calls about functions, their event sources and topics: some are the daemon's own routes, some those of AWS's services.
import { ask, call } from './api.js';
import { find, members, parseXml, plain } from './xml.js';

// At most 100 of them, after `cursor`; or only what is of the function of that name.
function listPath(root, cursor, name) {
  const query = new URLSearchParams({ limit: '100' });
  if (cursor) query.set('cursor', cursor);
  if (name) query.set('function', name);
  return `${root}?${query}`;
}
export const functionsPath = (cursor, name) => listPath('/functions', cursor, name);
export const mappingsPath = (cursor, name) => listPath('/mappings', cursor, name);

const invocations = (name) => `/2015-03-31/functions/${encodeURIComponent(name)}/invocations`;

function fromBase64(text) {
  return new TextDecoder().decode(Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)));
}

// Gives { payload, error, log, version, id }. `error`: 'Handled' or 'Unhandled' if the function failed, else null.
export async function invoke(name, payload) {
  const { text, headers } = await ask('POST', invocations(name), payload, { headers: { 'X-Amz-Log-Type': 'Tail' } });
  return {
    payload: text,
    error: headers.get('X-Amz-Function-Error'),
    log: fromBase64(headers.get('X-Amz-Log-Result') ?? ''),
    version: headers.get('X-Amz-Executed-Version'),
    id: headers.get('x-amzn-RequestId'),
  };
}

// Puts an event into the function's queue; gives its request id.
export async function invokeLater(name, payload) {
  const { headers } = await ask('POST', invocations(name), payload, { headers: { 'X-Amz-Invocation-Type': 'Event' } });
  return headers.get('x-amzn-RequestId');
}

export function switchMapping(id, enabled) {
  return call('PUT', `/2015-03-31/event-source-mappings/${encodeURIComponent(id)}`, { Enabled: enabled });
}

async function topicCall(action, fields, signal) {
  const body = new URLSearchParams({ Action: action, Version: '2010-03-31', ...fields }).toString();
  try {
    const { text } = await ask('POST', '/', body, { signal, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    return parseXml(text);
  } catch (error) {
    const message = /<Message>([^<]*)/.exec(error.message);
    if (message) error.message = plain(message[1]);
    throw error;
  }
}

const withToken = (token) => (token ? { NextToken: token } : {});

// A page of at most 100: { topics: [ARN, ...], token }.
export async function listTopics(token, signal) {
  const answer = await topicCall('ListTopics', withToken(token), signal);
  return { topics: members(answer, 'Topics').map((topic) => topic.TopicArn), token: find(answer, 'NextToken')?.text };
}

// Of one topic, or of all: { subscriptions: [{ SubscriptionArn, TopicArn, Protocol, Endpoint }, ...], token }.
export async function listSubscriptions(topic, token, signal) {
  const answer = topic
    ? await topicCall('ListSubscriptionsByTopic', { TopicArn: topic, ...withToken(token) }, signal)
    : await topicCall('ListSubscriptions', withToken(token), signal);
  return { subscriptions: members(answer, 'Subscriptions'), token: find(answer, 'NextToken')?.text };
}

// The name in an ARN, or the text itself.
export function nameOf(arn) {
  const parts = arn.split(':');
  return parts[0] === 'arn' && parts.length > 5 ? parts.slice(parts[2] === 'lambda' ? 6 : 5).join(':') : arn;
}
// The same without a version or an alias.
export const functionOf = (arn) => nameOf(arn).split(':')[0];
