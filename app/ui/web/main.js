// The dashboard: its frame, and the view that the address names.
import { html, render, useEffect, useState } from './lib/html.js';
import { connection, onConnection } from './lib/api.js';
import { link, useRoute } from './lib/route.js';
import { Messages } from './parts/dialog.js';
import { Nowhere, useTick } from './parts/bits.js';
import { Overview } from './views/overview.js';
import { Queue } from './views/queue.js';
import { Audit } from './views/audit.js';
import { FileView } from './views/recording_file.js';
import { FunctionViews, PLACES } from './views/functions.js';
import { TABLE_PLACES, TableViews } from './views/tables.js';
import { RoleNote, SignIn, Who } from './views/sign_in.js';
import { isFile, look, useWho } from './lib/who.js';
import * as format from './lib/format.js';

function Connection() {
  const [now, setNow] = useState(connection());
  useEffect(() => onConnection(setNow), []);
  useTick();
  if (now.state === 'away') {
    return html`<div class="banner bad" role="alert"><strong>${isFile ? 'freshet ui' : 'The daemon'} has not answered</strong> for ${format.age(Date.now() - now.since)}. What is shown is from before; this page goes on by itself when it is back.</div>`;
  }
  return null;
}

function Live() {
  const [now, setNow] = useState(connection());
  useEffect(() => onConnection(setNow), []);
  return html`<span class=${`live ${now.state}`} role="status">${now.state === 'live' ? (isFile ? 'a file' : 'live') : now.state === 'away' ? 'no answer' : 'signed out'}</span>`;
}

function View({ parts, query }) {
  const [now, setNow] = useState(connection());
  const { file } = useWho(); // Buttons go by the role.
  useEffect(() => onConnection(setNow), []);
  if (now.state === 'refused') return html`<${SignIn} />`;
  if (isFile) return file && html`<${FileView} file=${file} query=${query} />`;
  if (parts[0] === 'queues' && parts[1] !== undefined) return html`<${Queue} key=${parts[1]} name=${parts[1]} parts=${parts.slice(2)} query=${query} />`;
  if (parts[0] === 'audit') return html`<${Audit} />`;
  if (PLACES.includes(parts[0])) return html`<${FunctionViews} parts=${parts} query=${query} />`;
  if (TABLE_PLACES.includes(parts[0])) return html`<${TableViews} parts=${parts} query=${query} />`;
  // An address that was mistyped must not look like the list of queues.
  if (parts.length > 0 && (parts[0] !== 'queues' || parts.length > 1)) return html`<h1>${parts.join(' / ')}</h1><${Nowhere} />`;
  return html`<${Overview} query=${query} />`;
}

function App() {
  const { parts, query } = useRoute();
  const title = parts.length ? `${parts.slice(parts[0] === 'queues' ? 1 : 0).join(' / ')} · Freshet` : 'Freshet';
  useEffect(() => void look().catch(() => {}), []); // If it fails, the page asks to sign in.
  useEffect(() => {
    document.title = title;
  }, [title]);
  const at = (name) => (parts[0] === name || (name === '' && (parts.length === 0 || parts[0] === 'queues')) ? 'page' : undefined);
  return html`
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), document.getElementById('main').focus())}>To the content</a>
    <header class="top">
      <a class="brand" href="#/">Freshet</a>
      ${isFile ? html`<nav aria-label="Views"><a href="#/" aria-current="page">Recording</a></nav>` : html`<nav aria-label="Views"><a href="#/" aria-current=${at('')}>Queues</a><a href=${link(['functions'])} aria-current=${PLACES.includes(parts[0]) ? 'page' : undefined}>Functions</a><a href=${link(['tables'])} aria-current=${TABLE_PLACES.includes(parts[0]) ? 'page' : undefined}>Tables</a><a href=${link(['audit'])} aria-current=${at('audit')}>Audit</a></nav>`}
      <${Who} />
      <${Live} />
    </header>
    <${Connection} />
    <${RoleNote} />
    <main id="main" tabindex="-1"><${View} parts=${parts} query=${query} /></main>
    <${Messages} />`;
}

render(html`<${App} />`, document.getElementById('app'));
