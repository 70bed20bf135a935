// The PartiQL console. A statement in the address fills the field and does not run: whoever opens a link runs nothing.
import { html, useState } from '../lib/html.js';
import { replace } from '../lib/route.js';
import { needs } from '../lib/who.js';
import { PAGE, itemStore } from '../lib/items.js';
import { Failure } from '../parts/bits.js';
import { ItemTable } from '../parts/item_table.js';
import * as format from '../lib/format.js';

export function Statements({ query }) {
  const [statement, setStatement] = useState(query.statement ?? '');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const [answer, setAnswer] = useState(null);
  // `after`: an answer whose next page is wanted.
  const run = async (text, after) => {
    setBusy(true);
    setError(null);
    if (!after) setAnswer(null);
    const began = performance.now();
    try {
      const got = await itemStore('ExecuteStatement', { Statement: text, Limit: PAGE, ...(after ? { NextToken: after.next } : {}) });
      setAnswer({ text, items: got.get('Items') ?? [], next: got.get('NextToken'), page: (after?.page ?? 0) + 1, ms: performance.now() - began });
      replace(['partiql'], { statement: text });
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  const submit = (event) => {
    event.preventDefault();
    if (!busy && statement.trim()) run(statement);
  };
  const keys = (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };
  const reads = answer && /^\s*select\b/i.test(answer.text);
  return html`<form class="invoke" onSubmit=${submit}>
      <label class="field">Statement<textarea rows="4" spellcheck=${false} value=${statement} placeholder=${'SELECT * FROM "Orders" WHERE customer = \'ada\''} onInput=${(event) => setStatement(event.target.value)} onKeyDown=${keys}></textarea></label>
      <p class="buttons"><button class="main" disabled=${busy || !statement.trim()} ...${needs('work')}>Run</button>
        <span class="quiet">or Ctrl+Enter. SELECT reads ${PAGE} items at a time; INSERT, UPDATE and DELETE change items at once.</span></p>
    </form>
    <${Failure} error=${error} />
    ${answer && html`<section aria-label="Answer"><h2>Answer <span class="quiet">${format.age(answer.ms)}</span></h2>
      <${ItemTable} items=${answer.items} keys=${[]} linkOf=${() => null} caption="Items of the answer" empty=${reads ? 'No item of this page fits.' : 'Done. The statement returns no item.'} />
      <nav class="pages" aria-label="Pages of the answer">
        ${answer.next && html`<button disabled=${busy} onClick=${() => run(answer.text, answer)}>Next page</button>`}
        <span class="quiet" role="status">${format.plural(answer.items.length, 'item')}${answer.page > 1 || answer.next ? ` on page ${answer.page}` : ''}</span></nav></section>`}`;
}
