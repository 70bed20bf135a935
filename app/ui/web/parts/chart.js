// A chart of lines over time (uPlot), with its name, a legend that follows the pointer, and the newest values in words
// for those who do not see it. Colours come from the style sheet, so that dark and light have their own.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { topOf } from '../lib/series.js';
import uPlot from '../vendor/uplot.js';

const HEIGHT = 190;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function useTheme() {
  const [dark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const changed = () => setDark(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, []);
  return dark;
}

function optionsOf({ lines, log, format, from, sync }, width, onCursor, onScale) {
  const font = '12px system-ui, sans-serif';
  const axis = { stroke: colour('quiet'), font, grid: { stroke: colour('grid'), width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    padding: [8, 28, 0, 0], // Room for half of the last label.
    legend: { show: false },
    cursor: { sync: { key: sync }, drag: { x: false, y: false }, points: { size: 6 }, y: false },
    scales: {
      x: { time: true },
      y: log
        ? { distr: 3, log: 10, range: (_, low, high) => logRange(low, high) }
        : { range: (plot, low, high) => [0, Math.max(from ?? 1, topOf(high, limitsIn(plot, lines)) * 1.06)] },
    },
    axes: [
      { ...axis, size: 28, space: 80, values: (_, ticks, axisAt, space, step) => ticks.map((tick) => clockText(tick, step)) },
      log
        ? { ...axis, size: 58, gap: 4, splits: (_, axisAt, low, high) => decades(low, high), filter: (_, ticks) => ticks, values: (_, ticks) => ticks.map(decadeText) }
        : { ...axis, size: 58, gap: 4, space: 30, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        auto: !line.limit,
        stroke: colour(line.colour),
        width: line.wide ? 2.5 : 1.6,
        dash: line.dash ? [5, 4] : undefined,
        fill: line.fill ? `${colour(line.colour)}22` : undefined,
        points: { show: false },
        spanGaps: false,
        paths: line.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      })),
    ],
    hooks: { setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)], setSize: [onScale], setScale: [onScale] },
  };
}

// The values of the limits, as far as they are shown.
function limitsIn(plot, lines) {
  return lines.flatMap((line, i) => (line.limit ? [plot.data[i + 1]] : []));
}

function logRange(low, high) {
  if (low === null || high === null || !(high > 0)) return [1, 1000];
  const bottom = 10 ** Math.floor(Math.log10(Math.max(low, 0.1)));
  const top = 10 ** Math.ceil(Math.log10(high * 1.05));
  return [bottom, Math.max(top, bottom * 10)];
}
function decades(low, high) {
  const out = [];
  for (let tick = low; tick <= high * 1.001; tick *= 10) out.push(tick);
  return out;
}
// A power of ten of milliseconds.
function decadeText(ms) {
  return ms < 1000 ? `${Number(ms.toPrecision(1))} ms` : `${Number((ms / 1000).toPrecision(1)).toLocaleString('en')} s`;
}

const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const withSeconds = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
function clockText(seconds, step) {
  return (step < 60 ? withSeconds : hours).format(seconds * 1000);
}

function lastKnown(values) {
  for (let i = values.length - 1; i >= 0 && i >= values.length - 3; --i) {
    if (values[i] !== null && values[i] !== undefined) return values[i];
  }
  return null;
}

// `lines`: [{ label, colour, values, wide, dash, fill, steps, limit }]; `limit`: what happened has more say in the scale.
// `at`: seconds since the epoch. `mark`: the index of a moment that is marked, whose values the legend has, instead of the
// newest ones; `onPick(index)`: somebody clicks at a moment.
export function Chart({ title, unit, at, lines, format, log = false, from, sync = 'queue', mark = null, onPick }) {
  const room = useRef(null);
  const plot = useRef(null);
  const [cursor, setCursor] = useState(null);
  const marker = useRef(null);
  const latest = useRef({});
  latest.current = { mark, onPick };
  const dark = useTheme();
  const shape = JSON.stringify([lines.map((line) => [line.label, line.colour]), log, dark, sync]);

  // uPlot draws the rest; the mark moves without that.
  const placeMark = (drawn) => {
    const { mark: index } = latest.current;
    if (!marker.current) return;
    marker.current.hidden = index === null;
    if (index !== null) marker.current.style.left = `${drawn.valToPos(drawn.data[0][index], 'x')}px`;
  };
  useLayoutEffect(() => {
    const width = () => Math.max(240, room.current.clientWidth);
    plot.current = new uPlot(optionsOf({ lines, log, format, from, sync }, width(), setCursor, placeMark), [at, ...lines.map((line) => line.values)], room.current);
    marker.current = document.createElement('i');
    marker.current.className = 'mark';
    plot.current.over.append(marker.current);
    plot.current.over.addEventListener('click', () => latest.current.onPick && plot.current.cursor.idx !== null && latest.current.onPick(plot.current.cursor.idx));
    placeMark(plot.current);
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: width(), height: HEIGHT }));
    observer.observe(room.current);
    return () => {
      observer.disconnect();
      plot.current.destroy();
      plot.current = null;
    };
  }, [shape]);
  useLayoutEffect(() => {
    plot.current?.setData([at, ...lines.map((line) => line.values)]);
  }, [at, lines]);
  useLayoutEffect(() => {
    if (plot.current) placeMark(plot.current);
  }, [mark, at]);

  const known = (line) => (mark === null ? lastKnown(line.values) : line.values[mark] ?? null);
  const value = (line) => (cursor === null ? known(line) : line.values[cursor]);
  const text = (line) => {
    const one = value(line);
    return one === null || one === undefined ? '–' : format(one);
  };
  const summary = lines.map((line) => `${line.label} ${known(line) === null ? 'none' : format(known(line))}`);
  return html`<figure class="chart">
    <figcaption><strong>${title}</strong> <span class="quiet">${unit}</span></figcaption>
    <div class="plot" ref=${room} role="img" aria-label=${`${title}, ${unit}. ${mark === null ? 'Newest values' : 'At the moment that is shown'}: ${summary.join(', ')}.`}></div>
    <ul class="legend" aria-hidden="true">
      ${lines.map((line) => html`<li><i class=${`swatch ${line.colour}${line.dash ? ' dashed' : ''}`}></i>${line.label} <b class="num">${text(line)}</b></li>`)}
    </ul>
  </figure>`;
}

// A few points as a small picture without axes: bars of two kinds over each other.
export function Spark({ name, lower, upper }) {
  const length = Math.max(lower.length, upper.length, 1);
  const most = Math.max(1, ...lower.map((value, i) => (value ?? 0) + (upper[i] ?? 0)));
  const bar = (value, below, i, kind) => {
    const height = ((value ?? 0) / most) * 36;
    const base = 36 - (below / most) * 36;
    return height > 0 ? html`<rect class=${kind} x=${(i / length) * 240} y=${base - height} width=${240 / length - 0.4} height=${height} />` : null;
  };
  return html`<svg class="spark" viewBox="0 0 240 36" preserveAspectRatio="none" role="img" aria-label=${name}>
    ${lower.map((value, i) => bar(value, 0, i, 'good'))}
    ${upper.map((value, i) => bar(value, lower[i] ?? 0, i, 'bad'))}
  </svg>`;
}

