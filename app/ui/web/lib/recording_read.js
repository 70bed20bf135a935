// Reads the recording of a queue, answer by answer, into a Replay. Each answer has some 2,000 events and is dropped once
// it is replayed, so the page holds little and stays responsive in between.
import { ask, queuePath } from './api.js';
import { Replay } from './recording.js';

// The texts of the answers, in their order. The next one is under way while the last one is worked on.
async function* answers(queue, signal) {
  const path = queuePath(queue, 'recording');
  let next = ask('GET', path, undefined, { signal });
  while (next) {
    const { text, headers } = await next;
    const place = headers.get('X-Freshet-Next');
    next = place ? ask('GET', `${path}?place=${encodeURIComponent(place)}`, undefined, { signal }) : null;
    next?.catch(() => {}); // It is awaited above, unless the caller has ended before.
    yield text;
  }
}

// A browser reads one large array several times faster than many lines.
function linesOf(text) {
  return JSON.parse(`[${text.trimEnd().replaceAll('\n', ',')}]`);
}

// Gives the Recorded. `onShare`: is told how much of it has been replayed, from 0 to 1.
export async function readRecording(queue, { signal, onShare = () => {} } = {}) {
  const replay = new Replay();
  for await (const text of answers(queue, signal)) {
    for (const line of linesOf(text)) replay.add(line);
    onShare(replay.share);
  }
  return replay.finish();
}

// All of it as a file that `freshet ui` and `freshet simulate` read.
export async function recordingFile(queue, { signal } = {}) {
  const parts = [];
  for await (const text of answers(queue, signal)) parts.push(new Blob([text])); // A browser keeps large ones on its disk.
  return new Blob(parts, { type: 'application/x-ndjson' });
}
