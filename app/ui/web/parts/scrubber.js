// A slider over the seconds of a recording, with a button that plays it. Arrows move by a second, Page Up and Page Down
// by a minute, Home and End to the ends; a screen reader says the time.
import { html, useEffect, useRef, useState } from '../lib/html.js';
import * as format from '../lib/format.js';

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -60, PageUp: 60 };
const SPEEDS = [1, 10];

// `length`: how many seconds there are; `index`: the one that is shown; `timeOf(index)`: its time.
export function Scrubber({ length, index, timeOf, onMove }) {
  const [speed, setSpeed] = useState(0); // 0: it does not play.
  const now = useRef(index);
  now.current = index;
  const last = length - 1;
  const move = (to) => onMove(Math.max(0, Math.min(last, to)));

  useEffect(() => {
    if (speed === 0) return undefined;
    const timer = setInterval(() => (now.current >= last ? setSpeed(0) : move(now.current + 1)), 1000 / speed);
    return () => clearInterval(timer);
  }, [speed, length]);

  const pressed = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? last : event.key in STEPS ? index + STEPS[event.key] : null;
    if (to === null) return;
    event.preventDefault();
    move(to);
  };
  const toEnd = (last - index) * 1000;
  const words = `${format.time(timeOf(index))}, ${toEnd === 0 ? 'the end' : `${format.age(toEnd)} before the end`}`;
  return html`<div class="scrubber">
    <input type="range" min="0" max=${last} step="1" value=${index} aria-label="Moment" aria-valuetext=${words}
      onInput=${(event) => move(Number(event.target.value))} onKeyDown=${pressed} />
    <p class="buttons">
      ${SPEEDS.map((one) => html`<button aria-pressed=${speed === one ? 'true' : 'false'} disabled=${index >= last} onClick=${() => setSpeed(speed === one ? 0 : one)}>${speed === one ? 'Stop' : `Play ${one}×`}</button>`)}
      <span class="quiet"><time dateTime=${new Date(timeOf(0)).toISOString()}>${format.time(timeOf(0))}</time> to <time dateTime=${new Date(timeOf(last)).toISOString()}>${format.time(timeOf(last))}</time> · arrows: a second, page up and down: a minute</span>
    </p>
  </div>`;
}
