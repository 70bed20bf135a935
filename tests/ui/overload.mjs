// An overloaded queue for pictures: a downstream that takes some calls a second, of which the daemon is not told, and three
// times as many tasks with deadlines.
import http from 'node:http';

const LIMIT = 20;
const TIMES = 3;
const GROUPS = ['acme', 'globex', 'initech'];

// Takes `limit` calls in each second, and answers 429 to the others.
export async function limitedDownstream(limit = LIMIT) {
  let second = 0;
  let calls = 0;
  const downstream = http.createServer((request, response) => {
    request.resume();
    const now = Math.floor(Date.now() / 1000);
    if (now !== second) [second, calls] = [now, 0];
    const refused = ++calls > limit;
    setTimeout(() => {
      response.writeHead(refused ? 429 : 200);
      response.end('{}');
    }, 30 + Math.random() * 60);
  });
  await new Promise((resolve) => downstream.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${downstream.address().port}/`,
    close() {
      downstream.closeAllConnections();
      downstream.close();
    },
  };
}

// Creates tasks until the timer that it gives is cleared.
export function overload(daemon, limit = LIMIT) {
  let number = 0;
  return setInterval(() => {
    const now = Date.now() / 1000;
    const few = Math.round(((TIMES * limit) / 5) * (0.75 + 0.5 * Math.sin(now / 9)));
    daemon.put(...Array.from({ length: few }, () => ({ taskId: `order-${++number}`, payload: { order: number, amount: 19.9 }, deadlineMs: 5000, group: GROUPS[number % 3] }))).catch(() => {});
  }, 200);
}
