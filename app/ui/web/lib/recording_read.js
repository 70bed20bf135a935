// Reads the recording of a queue, answer by answer, into a Replay. Each answer has some 2,000 events and is dropped once
// it is replayed, so the page holds little and stays responsive in between.
import { ask, queuePath } from './api.js';
import { Replay } from './recording.js';

const CONFLICT = 409;
const MOST_TRIES = 6;

// The texts of the answers, in their order. The next one is under way while the last one is worked on.
async function* answers(queue, from, signal) {
  const path = queuePath(queue, 'recording');
  let next = ask('GET', from === null ? path : `${path}?from=${from}`, undefined, { signal });
  while (next) {
    const { text, headers } = await next;
    const place = headers.get('X-Freshet-Next');
    next = place ? ask('GET', `${path}?place=${encodeURIComponent(place)}`, undefined, { signal }) : null;
    next?.catch(() => {}); // It is awaited above, unless the caller has ended before.
    yield text;
  }
}

// Where memory is short, the daemon may forget events before they are read: then it is begun again with a later start, as
// freshet recording save does. `read(answers)` reads all; `headOf()` gives what it knows of the head.
async function untorn(queue, signal, read, headOf) {
  let from = null;
  for (let tries = 1; ; ++tries) {
    try {
      return await read(answers(queue, from, signal));
    } catch (error) {
      const head = headOf();
      if (error.status !== CONFLICT || tries === MOST_TRIES || !head) throw error;
      from = Math.round(head.from + (head.to - head.from) / 4);
    }
  }
}

// A browser reads one large array several times faster than many lines.
function linesOf(text) {
  return JSON.parse(`[${text.trimEnd().replaceAll('\n', ',')}]`);
}

// Gives the Recorded. `onShare`: is told how much of it has been replayed, from 0 to 1.
export function readRecording(queue, { signal, onShare = () => {} } = {}) {
  let replay;
  const read = async (texts) => {
    replay = new Replay();
    for await (const text of texts) {
      for (const line of linesOf(text)) replay.add(line);
      onShare(replay.share);
    }
    return replay.finish();
  };
  return untorn(queue, signal, read, () => replay.head);
}

// All of it as a file that `freshet ui` and `freshet simulate` read.
export function recordingFile(queue, { signal } = {}) {
  let head;
  const read = async (texts) => {
    const parts = [];
    for await (const text of texts) {
      if (parts.length === 0) head = JSON.parse(text.slice(0, text.indexOf('\n')));
      parts.push(new Blob([text])); // A browser keeps large ones on its disk.
    }
    return new Blob(parts, { type: 'application/x-ndjson' });
  };
  return untorn(queue, signal, read, () => head);
}
