// Numbers, sizes, ages and times as people read them. Times are in the reader's zone.

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function count(value) {
  return value === null || value === undefined ? '–' : grouped.format(value);
}

// 12,345 stays; above that three figures: 123 k, 1.23 M.
export function short(value) {
  if (value === null || value === undefined) return '–';
  const size = Math.abs(value);
  if (size < 100_000) return Number.isInteger(value) ? grouped.format(value) : figures(value);
  if (size < 1_000_000) return `${Math.round(value / 1000)} k`;
  if (size < 1_000_000_000) return `${figures(value / 1_000_000)} M`;
  return `${figures(value / 1_000_000_000)} G`;
}

// Three figures at most.
export function figures(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 100) return grouped.format(value);
  return String(Number(value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3)));
}

// A share from 0 to 1. Never 100 % unless it is.
export function percent(share) {
  if (share === null || share === undefined) return '–';
  const value = share * 100;
  if (value === 100 || value === 0) return `${value} %`;
  if (value > 99.9) return '99.9 %';
  if (value < 0.1) return '0.1 %';
  return `${value.toFixed(1)} %`;
}

export function bytes(value) {
  if (value === null || value === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    ++at;
  }
  return `${figures(value)} ${units[at]}`;
}

// A length of time: 340 ms, 4.2 s, 3 min 20 s, 5 h 3 min, 2 d 4 h.
export function age(ms) {
  if (ms === null || ms === undefined) return '–';
  const sign = ms < 0 ? '−' : '';
  ms = Math.abs(ms);
  if (ms < 1000) return `${sign}${Math.round(ms)} ms`;
  if (ms < 60_000) return `${sign}${figures(ms / 1000)} s`;
  const two = (big, bigName, small, smallName) => `${sign}${big} ${bigName}${small ? ` ${small} ${smallName}` : ''}`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return two(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 48 * 60) return two(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(minutes / 60);
  return two(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const zone = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' });

// Today's times without a date.
export function time(epochMs, now = Date.now()) {
  if (epochMs === null || epochMs === undefined) return '–';
  const text = clock.format(epochMs);
  return day.format(epochMs) === day.format(now) ? text : `${day.format(epochMs)} ${text}`;
}
// For titles: with milliseconds and the zone.
export function fullTime(epochMs) {
  const ms = String(Math.floor(epochMs) % 1000).padStart(3, '0');
  const name = zone.formatToParts(epochMs).find((part) => part.type === 'timeZoneName')?.value ?? '';
  return `${day.format(epochMs)} ${clock.format(epochMs)}.${ms} ${name}`;
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
