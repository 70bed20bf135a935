// Questions before something is changed, and the messages after it. A dialog is the browser's own: it keeps the
// keyboard inside, and Escape closes it.
import { html, useEffect, useRef, useState } from '../lib/html.js';

export function Dialog({ title, onClose, children }) {
  const element = useRef(null);
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  return html`<dialog ref=${element} aria-labelledby="dialog-title" onCancel=${(event) => (event.preventDefault(), onClose())}>
    <h2 id="dialog-title">${title}</h2>
    ${children}
  </dialog>`;
}

// Asks, does it, shows why it failed. `typed`: what has to be typed before.
export function Confirm({ title, verb, danger = false, typed, onClose, onDo, children }) {
  const [text, setText] = useState('');
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    if (busy || (typed && text !== typed)) return;
    setBusy(true);
    setError(null);
    try {
      await onDo();
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      ${children}
      ${typed && html`<label class="field">Type <code>${typed}</code> to go on
        <input value=${text} onInput=${(event) => setText(event.target.value)} autocomplete="off" spellcheck=${false} /></label>`}
      ${error && html`<p class="failure" role="alert">${error.message}</p>`}
      <p class="buttons">
        <button type="button" onClick=${onClose}>Leave it</button>
        <button class=${danger ? 'danger' : 'main'} disabled=${busy || Boolean(typed && text !== typed)}>${verb}</button>
      </p>
    </form>
  </${Dialog}>`;
}

// The message of what was done last, for eyes and screen readers.
let tell = () => {};
export function say(text, undo) {
  tell({ text, undo, at: Date.now() });
}
export function Messages() {
  const [message, setMessage] = useState(null);
  tell = setMessage;
  useEffect(() => {
    if (!message) return undefined;
    const timer = setTimeout(() => setMessage(null), message.undo ? 20_000 : 8_000);
    return () => clearTimeout(timer);
  }, [message]);
  const undo = async () => {
    setMessage(null);
    try {
      await message.undo();
      say('Undone.');
    } catch (error) {
      say(`Not undone: ${error.message}`);
    }
  };
  return html`<div class="messages" role="status" aria-live="polite">
    ${message && html`<p>${message.text} ${message.undo && html`<button onClick=${undo}>Undo</button>`}
      <button class="plain" aria-label="Close the message" onClick=${() => setMessage(null)}>×</button></p>`}
  </div>`;
}
