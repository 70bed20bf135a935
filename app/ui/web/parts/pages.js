// The links below a part of a list: to its beginning, and to what follows.
import { html } from '../lib/html.js';
import { link } from '../lib/route.js';

// `parts` and `query` as of link(); `next`: the query of what follows, or null. `name`: the member of the query that
// says where this part begins. `what`: what the list has.
export function Pages({ what, parts, query, name, next, shown }) {
  const { [name]: begins, ...first } = query;
  return html`<nav class="pages" aria-label=${`Pages of ${what}`}>
    ${begins && html`<a class="button" href=${link(parts, first)}>First page</a>`}
    ${next && html`<a class="button" href=${link(parts, { ...first, [name]: next })}>Next page</a>`}
    <span class="quiet">${shown}</span></nav>`;
}
