// One invocation of the LIFO sample's ProcessTasksFunction (limits_sample.mjs), with a task runner that calls the API.
const http = require('node:http');
const path = require('node:path');

const app = path.resolve(process.env.LIFO_SAMPLE, 'app');

function taskRunner(task) {
  const body = JSON.stringify({ taskId: task.taskId });
  return new Promise((resolve, reject) => {
    const request = http.request(process.env.LAB_HANDLER, { method: 'POST', headers: { 'Content-Length': body.length } }, answer => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode === 200 ? 'SUCCESS' : 'PENDING'));
    });
    request.on('error', reject);
    request.end(body);
  });
}

const runner = path.join(app, 'task_runner.js');
require.cache[runner] = { id: runner, filename: runner, loaded: true, exports: { taskRunner } };
require(path.join(app, 'process_tasks.js')).handler();
