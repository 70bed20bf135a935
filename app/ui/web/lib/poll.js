// Asks the daemon again and again, at a pace: not while the page is hidden, and more slowly while nobody answers.
import { useEffect, useRef, useState } from './html.js';

const LONGEST_WAIT_MS = 10_000;

// `ask(signal)` gives a promise of the next value; it is asked again `everyMs` after the answer. Anew when a value in
// `inputs` changes. Gives { value, error, again }: the last value stays while the daemon is away.
export function usePoll(ask, everyMs, inputs) {
  const [answer, setAnswer] = useState({ value: null, error: null, of: null });
  const asking = useRef(ask);
  asking.current = ask;
  const again = useRef(() => {});
  const of = JSON.stringify(inputs);

  useEffect(() => {
    let timer = 0;
    let failures = 0;
    let controller = null;
    let over = false;
    const plan = () => {
      if (over) return;
      const wait = failures === 0 ? everyMs : Math.min(LONGEST_WAIT_MS, 500 * 2 ** Math.min(failures, 5));
      timer = setTimeout(step, wait);
    };
    const step = async () => {
      clearTimeout(timer);
      if (document.hidden) return;
      controller?.abort();
      controller = new AbortController();
      const mine = controller;
      try {
        const value = await asking.current(mine.signal);
        if (over || mine.signal.aborted) return;
        failures = 0;
        setAnswer({ value, error: null, of });
      } catch (error) {
        if (over || error.name === 'AbortError') return;
        failures = error.status === 0 || error.status === 503 ? failures + 1 : 1;
        setAnswer((before) => ({ value: before.of === of ? before.value : null, error, of }));
      }
      plan();
    };
    const shown = () => {
      if (!document.hidden) step();
    };
    document.addEventListener('visibilitychange', shown);
    again.current = step;
    step();
    return () => {
      over = true;
      clearTimeout(timer);
      controller?.abort();
      document.removeEventListener('visibilitychange', shown);
    };
  }, [of, everyMs]);

  const known = answer.of === of ? answer : { value: null, error: null };
  return { value: known.value, error: known.error, again: () => again.current() };
}
