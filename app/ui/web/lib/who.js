// Who uses the page: nobody has to sign in without keys, else the key of the session and its role. `file`: the page is
// that of `freshet ui`, which has a saved recording and no daemon: { name, queue, form }.
import { useEffect, useState } from './html.js';
import { ApiError, forgetCallsUnderWay, get, onConnection, refuse, remove } from './api.js';

const ROLES = ['read', 'work', 'operate', 'admin'];

// The page itself says whether it is that of a file: before anybody has been asked.
export const isFile = document.querySelector('meta[name=freshet-file]') !== null;

let now = { signedInBy: 'nothing', role: 'admin' };
const watchers = new Set();

function become(next) {
  now = next;
  for (const watcher of watchers) watcher(now);
}

export function useWho() {
  const [who, setWho] = useState(now);
  useEffect(() => {
    watchers.add(setWho);
    return () => watchers.delete(setWho);
  }, []);
  return who;
}

// Asks the daemon. Fails if it wants somebody to sign in.
export async function look() {
  become(await get('/session'));
}

// Not through api.js: a wrong secret says nothing about the connection, and the form stays.
export async function signIn(accessKeyId, secretAccessKey, sessionToken) {
  const body = { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
  let response;
  try {
    response = await fetch('/session', { method: 'POST', cache: 'no-store', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  } catch {
    throw new ApiError(0, 'NoAnswer', 'the daemon does not answer');
  }
  if (!response.ok) {
    const { error } = await response.json();
    throw new ApiError(response.status, error.code, error.message);
  }
  forgetCallsUnderWay(); // They had no cookie.
  await look();
}

// Nobody is signed in while the daemon refuses; another tab may have signed in as somebody else.
onConnection(({ state }) => {
  if (state === 'refused') become({ signedInBy: 'nobody', role: 'read' });
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && now.signedInBy === 'session') look().catch(() => {});
});

export async function signOut() {
  await remove('/session');
  refuse('You have signed out.');
}

// For a button that changes something: it is off, and says why, if the role is too little.
export function needs(role) {
  if (ROLES.indexOf(now.role) >= ROLES.indexOf(role)) return {};
  return { disabled: true, title: `The key ${now.accessKeyId} has the role ${now.role}. This needs the role ${role}.`, 'aria-describedby': 'role' };
}
