// Calls of the daemon's own routes, and whether it answers. A call gives the answer's JSON or throws an ApiError.

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status; // 0: no answer came.
    this.code = code;
  }
}

// 'live'; 'away': the daemon does not answer; 'refused': it wants somebody to sign in, and `message` says why if somebody
// had.
let standing = { state: 'live', since: Date.now(), message: '' };
const watchers = new Set();

export function connection() {
  return standing;
}
export function onConnection(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}
function become(state, message = '') {
  if (standing.state === state && standing.message === message) return;
  standing = { state, message, since: standing.state === state ? standing.since : Date.now() };
  for (const watcher of watchers) watcher(standing);
}

// Calls that are under way now may still be answered, and that does not count.
let era = 0;
export function forgetCallsUnderWay() {
  ++era;
}
export function refuse(message) {
  forgetCallsUnderWay();
  become('refused', message);
}

// The daemon's time less the reader's, in ms: ages are shown by the daemon's clock.
let skew = 0;
export function daemonNow() {
  return Date.now() + skew;
}
function learnTime(response) {
  const date = Date.parse(response.headers.get('Date') ?? '');
  // The header has whole seconds, so only a clock that is far off is believed to be.
  if (Number.isFinite(date)) skew = Math.abs(date - Date.now()) > 2500 ? date - Date.now() : 0;
}

// The text of an answer, for readers of exact numbers.
export async function callText(method, path, body, signal) {
  return (await ask(method, path, body, { signal })).text;
}

// An answer's text and headers. `headers`: more of them for the request.
export async function ask(method, path, body, { signal, headers = {} } = {}) {
  const begun = era;
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      cache: 'no-store',
      credentials: 'same-origin',
      headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    become('away');
    throw new ApiError(0, 'NoAnswer', 'the daemon does not answer');
  }
  learnTime(response);
  const text = await response.text();
  if (response.ok) {
    if (begun === era) become('live');
    return { text, headers: response.headers };
  }
  const failed = errorOf(response.status, text);
  if (begun === era) become(failed.isSignature ? 'refused' : 'live', failed.code === 'ExpiredTokenException' ? failed.message : '');
  throw failed;
}

// The daemon's own errors, and those of the Lambda API and of the item store.
function parts(answer) {
  if (answer.error) return answer.error;
  return { code: (answer.__type ?? answer.Type ?? 'Error').split('#').at(-1), message: answer.message ?? answer.Message ?? JSON.stringify(answer) };
}

// The item store answers 400 where the daemon's other routes answer 403.
const NOBODY = ['MissingAuthenticationTokenException', 'ExpiredTokenException'];

function errorOf(status, text) {
  let code = 'Error';
  let message = text.slice(0, 500);
  try {
    ({ code, message } = parts(JSON.parse(text)));
  } catch {
    // Not JSON: its text is all there is.
  }
  const error = new ApiError(status, code, message);
  error.isSignature = NOBODY.includes(code);
  return error;
}

export async function call(method, path, body, signal) {
  const text = await callText(method, path, body, signal);
  return text === '' ? null : JSON.parse(text);
}
export const get = (path, signal) => call('GET', path, undefined, signal);
export const post = (path, body) => call('POST', path, body);
export const remove = (path) => call('DELETE', path);

export function queuePath(queue, ...rest) {
  return ['/queues', queue, ...rest].map((part, i) => (i === 0 ? part : encodeURIComponent(part))).join('/');
}
