// The view that is shown stands in the address behind the '#', with its filter: #/queues/jobs/tasks?state=DEAD. So each
// view can be pasted into a chat, and a browser's "back" works.
import { useEffect, useState } from './html.js';

export function parse(hash) {
  const [path, query = ''] = hash.replace(/^#/, '').split('?');
  let parts;
  try {
    parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    parts = [];
  }
  return { parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

// Members that are empty are left out.
export function link(parts, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const text = new URLSearchParams(kept).toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}

export function go(parts, query) {
  location.hash = link(parts, query);
}
// Without a new entry in the history: while somebody types into a filter.
export function replace(parts, query) {
  history.replaceState(null, '', link(parts, query));
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute() {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parse(location.hash));
    window.addEventListener('hashchange', changed);
    return () => window.removeEventListener('hashchange', changed);
  }, []);
  return route;
}
