// The page of `freshet ui FILE`: a saved recording, and nothing else.
import { html } from '../lib/html.js';
import { Recording } from './recording.js';

export function FileView({ file, query }) {
  return html`<header class="head"><h1>${file.queue}</h1></header>
    <p class="notice">You look at the file <strong>${file.name}</strong>. There is no daemon behind this page.</p>
    <section class="view" aria-label="Recording"><${Recording} queue=${file.queue} query=${query} /></section>`;
}
