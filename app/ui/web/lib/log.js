// The newest lines of the daemon's log about one function, or of all, kept up to date by long polls.
import { useRef } from './html.js';
import { ask } from './api.js';
import { usePoll } from './poll.js';

const WAIT_MS = 20_000;
const FIRST = 100; // Lines that are asked for at the beginning,
const KEPT = 500; // and those that stay on the page.
const SEARCHED = 1000; // The newest lines, among which those of a task are looked for.
const LOOK_AGAIN_MS = 30_000;

function eventsIn(text) {
  const out = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    try {
      out.push(JSON.parse(line));
    } catch {
      out.push({ event: line });
    }
  }
  return out;
}

// Gives { lines, error }: lines are null before the first answer.
export function useLog(name) {
  const kept = useRef({ of: null, lines: null, next: 0 });
  const { value, error } = usePoll(
    async (signal) => {
      const of = name;
      const now = kept.current.of === of ? kept.current : { of, lines: [], next: 0 };
      const from = now.next ? `from=${now.next}&waitMs=${WAIT_MS}` : `newest=${FIRST}`;
      const { text, headers } = await ask('GET', `/logs?${from}&function=${encodeURIComponent(of)}`, undefined, { signal });
      let next = Number(headers.get('X-Freshet-Next'));
      // A daemon that was started anew counts from 1.
      if (next < now.next) next = 0;
      kept.current = { of, next, lines: [...(next ? now.lines : []), ...eventsIn(text)].slice(-KEPT) };
      return kept.current;
    },
    0,
    [name],
  );
  return { lines: value?.lines ?? null, error };
}

const within = (text, id) => {
  const isOfWord = (at) => at >= 0 && at < text.length && /[\w-]/.test(text[at]);
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    if (!isOfWord(at - 1) && !isOfWord(at + id.length)) return true;
  }
  return false;
};

// Those of the events that name the task, and all others of the same calls of functions.
export function eventsOfTask(events, id) {
  const names = (event) => Object.values(event).some((value) => typeof value === 'string' && within(value, id));
  const named = new Set(events.filter(names));
  const calls = new Set([...named].map((event) => event.requestId).filter(Boolean));
  return events.filter((event) => named.has(event) || calls.has(event.requestId));
}

// The newest lines of the log that belong to the task, looked for again when one of `inputs` changes.
export function useTaskLog(id, inputs) {
  const { value } = usePoll(
    async (signal) => {
      const { text } = await ask('GET', `/logs?newest=${SEARCHED}`, undefined, { signal });
      return eventsOfTask(eventsIn(text), id);
    },
    LOOK_AGAIN_MS,
    [id, ...inputs],
  );
  return value ?? [];
}
