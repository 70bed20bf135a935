// Signing in with an access key, where the daemon wants one.
import { html, useEffect, useState } from '../lib/html.js';
import { connection } from '../lib/api.js';
import { isFile, look, signIn, signOut, useWho } from '../lib/who.js';
import { say } from '../parts/dialog.js';

export function SignIn() {
  const [id, setId] = useState('');
  const [secret, setSecret] = useState('');
  const [token, setToken] = useState('');
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  // Another tab of the browser may have signed in.
  useEffect(() => {
    const shown = () => document.hidden || look().catch(() => {});
    document.addEventListener('visibilitychange', shown);
    return () => document.removeEventListener('visibilitychange', shown);
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await signIn(id.trim(), secret, token.trim());
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  const why = connection().message;
  return html`<form class="sign-in" onSubmit=${submit} aria-labelledby="sign-in">
    <h1 id="sign-in">Sign in</h1>
    ${why && html`<p class="notice">${why}</p>`}
    <p>This daemon asks for an access key: one of the file that it was started with (<code>--credentials</code>). The key's role says what you may do here.</p>
    <label class="field">Access key id<input value=${id} required autocomplete="username" spellcheck=${false} autocapitalize="off" onInput=${(event) => setId(event.target.value)} /></label>
    <label class="field">Secret access key<input type="password" value=${secret} required autocomplete="current-password" onInput=${(event) => setSecret(event.target.value)} /></label>
    <details><summary>The key has a session token</summary>
      <label class="field">Session token<input type="password" value=${token} autocomplete="off" onInput=${(event) => setToken(event.target.value)} /></label></details>
    ${error && html`<p class="failure" role="alert">${error.message}</p>`}
    <p class="buttons"><button class="main" disabled=${busy}>Sign in</button></p>
  </form>`;
}

// In the head of the page.
export function Who() {
  const who = useWho();
  if (who.signedInBy !== 'session') return null;
  const leave = () => signOut().catch((failed) => say(`Not signed out: ${failed.message}`));
  return html`<span class="who"><b>${who.accessKeyId}</b> <span class="quiet">${who.role}</span>
    <button class="plain" onClick=${leave}>Sign out</button></span>`;
}

const MAY = {
  read: 'it may look, and change nothing',
  work: 'it may create tasks, and do nothing to queues or to tasks that are there',
  operate: 'it may change queues and tasks, and no functions, tables or topics',
};

// Says once why buttons are off.
export function RoleNote() {
  const who = useWho();
  if (isFile || who.signedInBy === 'nobody' || !MAY[who.role]) return null;
  return html`<aside class="role-note quiet" id="role" aria-label="Your role">The key <b>${who.accessKeyId}</b> has the role <b>${who.role}</b>: ${MAY[who.role]}. Buttons that need more are off.</aside>`;
}
