// The newest lines of the daemon's log about one function, or of all, kept up to date by long polls.
import { useRef } from './html.js';
import { ask } from './api.js';
import { usePoll } from './poll.js';

const WAIT_MS = 20_000;
const FIRST = 100; // Lines that are asked for at the beginning,
const KEPT = 500; // and those that stay on the page.

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
