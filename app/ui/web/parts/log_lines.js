// Lines of the daemon's log, the newest at the end and in sight as long as nobody scrolls away from it.
import { html, useLayoutEffect, useRef } from '../lib/html.js';
import * as format from '../lib/format.js';

const SHOWN_APART = ['time', 'level', 'event', 'function', 'requestId', 'line', 'cut', 'stream', 'errorType', 'errorMessage'];

// A runtime writes an error with its stack as JSON at the end of a line: { before, stack }, or null.
function stackIn(line) {
  const brace = line.indexOf('{');
  if (brace < 0 || !line.includes('"stack"', brace)) return null;
  try {
    const { stack } = JSON.parse(line.slice(brace));
    return Array.isArray(stack) ? { before: line.slice(0, brace), stack } : null;
  } catch {
    return null;
  }
}

function wordsOf(event) {
  if (event.event === 'FUNCTION_LOG') {
    const line = event.line ?? '';
    const found = stackIn(line);
    return found ? [found.before.trim(), ...found.stack].join('\n') : `${line}${event.cut ? ' …' : ''}`;
  }
  const rest = Object.entries(event).filter(([name]) => !SHOWN_APART.includes(name)).map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const error = event.errorType ? `${event.errorType}: ${event.errorMessage ?? ''}` : '';
  return [event.event, error, ...rest].filter(Boolean).join(' ');
}

export function LogLines({ lines, label, empty }) {
  const box = useRef(null);
  const follows = useRef(true);
  useLayoutEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  const scrolled = ({ target }) => {
    follows.current = target.scrollHeight - target.scrollTop - target.clientHeight < 30;
  };
  if (lines.length === 0) return html`<p class="quiet">${empty}</p>`;
  return html`<div class="log" role="log" aria-label=${label} tabindex="0" ref=${box} onScroll=${scrolled}>
    ${lines.map((event) => html`<p class=${event.level === 'warn' || event.level === 'error' ? 'bad' : ''}>
      <time dateTime=${event.time} title=${event.time}>${format.time(Date.parse(event.time))}</time>
      <span class="quiet" title=${event.requestId ? `Request ${event.requestId}` : undefined}>${(event.requestId ?? '').slice(0, 8)}</span>
      <span>${wordsOf(event)}</span></p>`)}
  </div>`;
}
