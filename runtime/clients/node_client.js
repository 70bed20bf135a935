// Freshet's runtime client for nodejs* functions.
//
// It loads the handler that _HANDLER names (MODULE.EXPORT, from LAMBDA_TASK_ROOT; CommonJS or an ES module) and works
// off one event after the other from the Runtime API at AWS_LAMBDA_RUNTIME_API. It gets its own text on standard input,
// so there is no file of it. Where the official client is installed (npm's aws-lambda-ric) it starts that instead.
//
// While a handler runs, nothing of this client keeps the event loop alive: when that is empty, the invocation is over,
// whether the handler has come to an end or not.
"use strict";

const { spawnSync } = require("child_process");
const fs = require("fs");
const { Console } = require("console");
const http = require("http");
const https = require("https");
const Module = require("module");
const net = require("net");
const path = require("path");
const { Writable } = require("stream");
const { pathToFileURL } = require("url");

const MAX_RESPONSE_BYTES = 6 * 1024 * 1024;
const STREAMING = Symbol("streaming handler");

// The Runtime API over one kept connection, which is all that a process has.
class Api {
  constructor(address) {
    const [host, port] = address.split(":");
    this.address = address;
    this.waiting = []; // Who waits for an answer, in order.
    this.answering = false; // What answered the last event has not been taken yet.
    this.asking = false; // The call for the next event waits.
    this.quitting = null; // The status that the process ends with as soon as that answer has been taken.
    this.received = Buffer.alloc(0);
    this.socket = net.connect(Number(port), host);
    this.socket.setNoDelay(true);
    this.socket.on("data", (part) => this.take(part));
    this.socket.on("error", (error) => this.lost(error.message));
    this.socket.on("close", () => this.lost("the connection is closed"));
  }

  lost(why) {
    console.error("Failed to get next invocation: " + why);
    process.exit(1);
  }

  request(method, target, body = "", errorType = null) {
    let head = `${method} /2018-06-01/runtime/${target} HTTP/1.1\r\nHost: ${this.address}\r\n`;
    if (errorType) head += `Lambda-Runtime-Function-Error-Type: ${errorType.replace(/[^\x20-\x7e]/g, "?")}\r\n`;
    if (method === "POST") {
      head += `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
    }
    return head + "\r\n" + body;
  }

  send(text, ...takers) {
    this.socket.ref();
    this.waiting.push(...takers);
    this.socket.write(text);
  }

  take(part) {
    this.received = this.received.length ? Buffer.concat([this.received, part]) : part;
    for (;;) {
      const end = this.received.indexOf("\r\n\r\n");
      if (end < 0) return;
      const lines = this.received.toString("latin1", 0, end).split("\r\n");
      const status = Number(lines[0].split(" ")[1]);
      const headers = {};
      for (const line of lines.slice(1)) {
        const colon = line.indexOf(":");
        headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
      }
      const length = status < 200 ? 0 : Number(headers["content-length"] || 0);
      if (this.received.length < end + 4 + length) return;
      const body = this.received.toString("utf8", end + 4, end + 4 + length);
      this.received = this.received.subarray(end + 4 + length);
      if (status < 200) continue;
      const taker = this.waiting.shift();
      if (taker) taker(status, headers, body);
    }
  }

  taken() {
    this.answering = false;
    if (this.quitting !== null) process.exit(this.quitting);
  }

  // Ends the process. An event that comes from now on is not run: it is run again elsewhere.
  quit(status) {
    this.quitting = status;
    if (!this.answering) process.exit(status);
  }

  // Sends what answers the last event, if there is one, and with it the call for the next: one way less.
  next(answer, taker) {
    const takers = answer ? [() => this.taken()] : [];
    this.answering = Boolean(answer);
    this.asking = true;
    this.send(answer + this.request("GET", "invocation/next"), ...takers, (status, headers, body) => {
      if (status !== 200) return this.lost(`${status} ${body}`);
      this.asking = false;
      this.socket.unref();
      taker(headers, body);
    });
  }
}

// What is thrown may be anything, and its own code may throw, too.
function text(value) {
  try {
    return String(value);
  } catch (_) {
    return `<${typeof value} that cannot be shown as text>`;
  }
}

function property(value, name) {
  try {
    return value[name];
  } catch (_) {
    return undefined;
  }
}

function isError(value) {
  try {
    return value instanceof Error || (typeof value === "object" && value !== null && "message" in value && "stack" in value);
  } catch (_) {
    return false;
  }
}

function errorDocument(error) {
  if (!isError(error)) return { errorType: typeof error, errorMessage: text(error), trace: [] };
  return {
    errorType: text(property(error, "errorType") || property(error, "name") || "Error"),
    errorMessage: text(property(error, "message")),
    trace: text(property(error, "stack") || "").split("\n").filter((line) => !line.includes("/dev/stdin")),
  };
}

function named(errorType, message) {
  const error = new Error(message);
  error.name = error.errorType = errorType;
  return error;
}

function logError(title, document) {
  console.error(`ERROR\t${title}\t${JSON.stringify({ errorType: document.errorType,
    errorMessage: document.errorMessage, stack: document.trace })}`);
}

function parsed(json) {
  return json === undefined ? undefined : JSON.parse(json);
}

// One event, from its arrival until it is answered.
class Invocation {
  constructor(api, headers, body, answered) {
    this.api = api;
    this.body = body;
    this.answered = answered;
    this.id = headers["lambda-runtime-aws-request-id"];
    this.done = false;
    this.held = null; // The answer of a callback, until the event loop is empty.
    const deadline = Number(headers["lambda-runtime-deadline-ms"]);
    const invocation = this;
    this.context = {
      callbackWaitsForEmptyEventLoop: true,
      functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
      functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
      memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
      logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
      logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
      invokedFunctionArn: headers["lambda-runtime-invoked-function-arn"],
      awsRequestId: this.id,
      clientContext: parsed(headers["lambda-runtime-client-context"]),
      identity: parsed(headers["lambda-runtime-cognito-identity"]),
      getRemainingTimeInMillis: () => Math.max(deadline - Date.now(), 0),
      done: (error, result) => invocation.callback(error, result),
      succeed: (result) => invocation.succeed(result),
      fail: (error) => invocation.fail(error || new Error("Unknown")),
    };
  }

  callback(error, result) {
    if (this.done || this.held) return;
    this.held = () => (error !== undefined && error !== null ? this.fail(error) : this.succeed(result));
    if (!this.context.callbackWaitsForEmptyEventLoop) this.held();
  }

  // Nothing is left that could still happen.
  emptied() {
    if (this.held) return this.held();
    this.succeed(null);
  }

  succeed(result) {
    let body;
    try {
      body = result === undefined ? "null" : JSON.stringify(result);
    } catch (error) {
      const { errorMessage } = errorDocument(error);
      return this.fail(named("Runtime.MarshalError", "Unable to stringify response body: " + errorMessage));
    }
    this.respond(body === undefined ? "null" : body);
  }

  respond(body) {
    const bytes = Buffer.byteLength(body);
    if (bytes > MAX_RESPONSE_BYTES) {
      return this.fail(named("Function.ResponseSizeTooLarge", `Response payload size (${bytes} bytes) exceeded ` +
        `maximum allowed payload size (${MAX_RESPONSE_BYTES} bytes)`));
    }
    this.answer(this.api.request("POST", `invocation/${this.id}/response`, body));
  }

  fail(error) {
    if (this.done) return;
    const document = errorDocument(error);
    logError("Invoke Error", document);
    this.answer(this.failure(document));
  }

  failure(document) {
    return this.api.request("POST", `invocation/${this.id}/error`, JSON.stringify(document), document.errorType);
  }

  answer(request) {
    if (this.done) return;
    this.done = true;
    this.answered(request);
  }

  run(handler) {
    let result;
    try {
      const event = JSON.parse(this.body);
      if (handler[STREAMING]) return this.stream(handler, event);
      result = handler(event, this.context, (error, value) => this.callback(error, value));
      if (result && typeof result.then === "function") {
        result.then((value) => this.succeed(value), (error) => this.fail(error));
      }
    } catch (error) {
      return this.fail(error);
    }
  }

  // What is written is gathered: callers get it in one piece.
  stream(handler, event) {
    const parts = [];
    const output = new Writable({
      write(part, encoding, done) {
        parts.push(Buffer.from(part, encoding === "buffer" ? undefined : encoding));
        done();
      },
    });
    output.setContentType = () => {};
    output.on("finish", () => this.respond(Buffer.concat(parts).toString("utf8")));
    output.on("error", (error) => this.fail(error));
    Promise.resolve(handler(event, output, this.context)).then(() => {
      if (!output.writableEnded) output.end();
    }, (error) => this.fail(error));
  }
}

// SDKs that do not know AWS_ENDPOINT_URL call SERVICE.REGION.amazonaws.com: they find what it names instead.
function endpointOf(host) {
  const found = /^(.*)\.amazonaws\.com(\.cn)?$/.exec(String(host || "").replace(/:\d+$/, ""));
  if (!found) return null;
  const labels = found[1].split(".");
  const service = labels[0] === "streams" && labels[1] === "dynamodb" ? "DYNAMODB_STREAMS" : labels[0].toUpperCase();
  const url = process.env["AWS_ENDPOINT_URL_" + service.replace(/-/g, "_")] || process.env.AWS_ENDPOINT_URL;
  return url ? new URL(url) : null;
}

function redirected(options, endpoint) {
  const there = { ...options };
  for (const name of ["host", "agent", "servername", "href", "_defaultAgent"]) delete there[name];
  there.protocol = endpoint.protocol;
  there.hostname = endpoint.hostname;
  there.port = endpoint.port || (endpoint.protocol === "https:" ? 443 : 80);
  if (there.headers && !Array.isArray(there.headers)) {
    there.headers = { ...there.headers };
    for (const name of Object.keys(there.headers)) if (name.toLowerCase() === "host") delete there.headers[name];
    there.headers.host = endpoint.host;
  }
  return there;
}

function redirectOldSdks() {
  const send = { "http:": http.request, "https:": https.request };
  for (const module of [http, https]) {
    const request = module.request;
    module.request = function (...parameters) {
      let [first, second, third] = parameters;
      if (typeof first === "string") first = new URL(first);
      if (first instanceof URL) {
        const { protocol, hostname, port, pathname, search } = first;
        const rest = typeof second === "object" ? second : {};
        if (typeof second !== "function") second = third;
        first = { protocol, hostname, port, path: pathname + search, ...rest };
      }
      const endpoint = first && typeof first === "object" ? endpointOf(first.hostname || first.host) : null;
      if (!endpoint) return request.apply(this, parameters);
      return send[endpoint.protocol](redirected(first, endpoint), second);
    };
    module.get = function (...parameters) {
      const call = module.request(...parameters);
      call.end();
      return call;
    };
  }
  Module.syncBuiltinESMExports();
}

// Each call of console.* is one line of output, as with the official client: line feeds in it become carriage returns,
// which the daemon turns back. So one call is one event of the log, however many lines its text has.
function writeEachCallAsOneLine() {
  const oneLine = (stream) => Object.create(stream, {
    write: { value: (text, ...rest) => stream.write(String(text).replace(/\n(?!$)/g, "\r"), ...rest) },
  });
  const ours = new Console({ stdout: oneLine(process.stdout), stderr: oneLine(process.stderr) });
  for (const [name, method] of Object.entries(ours)) {
    if (typeof method === "function") console[name] = method;
  }
}

// The file that starts npm's aws-lambda-ric, or null: that of the function's folder or those above it, of NODE_PATH, or
// installed globally. FRESHET_RUNTIME_CLIENT says whether it is wanted.
function officialClient(root) {
  const wanted = process.env.FRESHET_RUNTIME_CLIENT || "auto";
  if (wanted === "own") return null;
  const paths = [root, path.resolve(process.execPath, "../../lib")];
  let found;
  try {
    found = require.resolve("aws-lambda-ric/package.json", { paths });
  } catch (error) {
    if (wanted === "auto") return null;
    throw named("Runtime.ClientNotFound", `FRESHET_RUNTIME_CLIENT is ${wanted}, but there is no aws-lambda-ric in ${root}`);
  }
  const { bin } = JSON.parse(fs.readFileSync(found, "utf8"));
  return path.resolve(path.dirname(found), typeof bin === "string" ? bin : bin["aws-lambda-ric"]);
}

// As its command does, `aws-lambda-ric HANDLER`. What goes wrong once it is there is its own to tell.
async function startOfficial(file) {
  process.argv = [process.argv[0], file, process.env._HANDLER];
  try {
    await import(pathToFileURL(file));
  } catch (error) {
    if (process.listenerCount("uncaughtException") > 0) return void setImmediate(() => { throw error; });
    throw named("Runtime.ClientNotStarted", `${file} cannot be loaded (FRESHET_RUNTIME_CLIENT=own does without it): ` +
      String(error && error.message || error));
  }
}

function filesOf(name) {
  return [".js", ".mjs", ".cjs", ""].map((extension) => name + extension)
    .filter((file) => fs.existsSync(file) && !fs.statSync(file).isDirectory());
}

// " (FILE, line N)" of a syntax error. Node.js tells it of an ES module only when it checks the file by itself.
function placeOf(error, name) {
  const place = (text) => /^(?:file:\/\/)?(\/.+):(\d+)\r?\n/.exec(text);
  let found = place(text(property(error, "stack")));
  for (const file of filesOf(name)) {
    if (!found) found = place(text(spawnSync(process.execPath, ["--check", file]).stderr));
  }
  return found ? ` (${path.relative(path.dirname(name), found[1])}, line ${found[2]})` : "";
}

async function loadModule(file) {
  for (const candidate of filesOf(file)) {
    const extension = path.extname(candidate);
    if (extension === ".mjs") return import(pathToFileURL(candidate));
    try {
      return require(candidate);
    } catch (error) {
      if (error.code !== "ERR_REQUIRE_ESM" && error.code !== "ERR_REQUIRE_ASYNC_MODULE") throw error;
      return import(pathToFileURL(candidate));
    }
  }
  return require(file); // A folder with its index, or the error that says what is missing.
}

async function loadHandler(root, name) {
  const base = path.basename(name);
  const dot = base.indexOf(".");
  if (dot <= 0 || name.includes("..")) {
    throw named("Runtime.MalformedHandlerName", `Bad handler '${name}': it is MODULE.EXPORT`);
  }
  const file = path.resolve(root, path.dirname(name), base.slice(0, dot));
  let found;
  try {
    found = await loadModule(file);
  } catch (error) {
    if (error instanceof SyntaxError) {
      error.errorType = "Runtime.UserCodeSyntaxError";
      error.message += placeOf(error, file);
    }
    if (error.code === "MODULE_NOT_FOUND" || error.code === "ERR_MODULE_NOT_FOUND") {
      error.errorType = "Runtime.ImportModuleError";
    }
    throw error;
  }
  const wanted = base.slice(dot + 1).split(".");
  const follow = (from) => wanted.reduce((at, part) => (at === undefined || at === null ? undefined : at[part]), from);
  const handler = follow(found) || follow(found.default);
  if (!handler) throw named("Runtime.HandlerNotFound", `${name} is undefined or not exported`);
  if (typeof handler !== "function") throw named("Runtime.HandlerNotFound", `${name} is not a function`);
  return handler;
}

// Each invocation has a trace id of its own in the environment, and the C library never gives back what a variable once
// held (setenv(3)): that one stands beside the environment. What is started from here gets it with the others; a worker
// thread, which Node.js gives the environment of the process, does not. structuredClone refuses a Proxy: who wants to
// send the environment so, sends a copy of it.
function keepTraceBesideEnvironment() {
  const name = "_X_AMZN_TRACE_ID";
  let trace = process.env[name];
  delete process.env[name];
  const outer = new Proxy(process.env, {
    get: (env, key) => (key === name ? trace : env[key]),
    has: (env, key) => (key === name ? trace !== undefined : key in env),
    set: (env, key, value, receiver) => {
      // An object that inherits from the environment keeps what is set in it for itself.
      if (receiver !== outer) return Reflect.set(Object.create(null), key, value, receiver);
      if (key === name) trace = `${value}`; // A symbol is refused here, as the environment does.
      else env[key] = value;
      return true;
    },
    defineProperty: (env, key, descriptor) => {
      const done = Reflect.defineProperty(env, key, descriptor); // Which refuses what it has to.
      if (key === name) {
        trace = env[name];
        delete env[name];
      }
      return done;
    },
    deleteProperty: (env, key) => {
      if (key !== name) return delete env[key];
      trace = undefined;
      return true;
    },
    ownKeys: (env) => {
      const others = Reflect.ownKeys(env).filter((key) => key !== name); // A worker that shares it may have set it there.
      return trace === undefined ? others : [...others, name];
    },
    getOwnPropertyDescriptor: (env, key) => {
      if (key !== name) return Reflect.getOwnPropertyDescriptor(env, key);
      return trace === undefined ? undefined : { value: trace, writable: true, enumerable: true, configurable: true };
    },
  });
  process.env = outer;
  Module.syncBuiltinESMExports(); // `import { env } from "node:process"` is the same.
}

// A function may ask for nodejs18.x where another Node.js is there.
function warnOfAnotherVersion() {
  const wanted = (process.env.AWS_EXECUTION_ENV || "").replace("AWS_Lambda_", "");
  const version = /^nodejs(\d+)/.exec(wanted);
  if (!version || version[1] === process.versions.node.split(".")[0]) return;
  const here = `Node.js ${process.versions.node} (${process.execPath})`;
  process.stderr.write(`WARNING: Runtime ${wanted} is not on PATH; this function runs on ${here}\n`);
}

async function main() {
  warnOfAnotherVersion();
  keepTraceBesideEnvironment();
  redirectOldSdks();
  let problem = null;
  try {
    const official = officialClient(process.env.LAMBDA_TASK_ROOT);
    if (official) return await startOfficial(official);
  } catch (error) {
    problem = error;
  }
  writeEachCallAsOneLine();
  globalThis.awslambda = {
    streamifyResponse: (handler) => Object.assign(handler, { [STREAMING]: true }),
    HttpResponseStream: {
      from: (output, head) => {
        output.write(JSON.stringify(head));
        output.write(Buffer.alloc(8));
        return output;
      },
    },
  };
  const api = new Api(process.env.AWS_LAMBDA_RUNTIME_API);
  let current = null;
  let crashed = false;

  const crash = (error, type) => {
    const document = errorDocument(error);
    if (type) document.errorType = type;
    logError("Uncaught Exception", document);
    // Between two invocations: nobody is to hear of it, and nothing more is to be run.
    if (api.asking) return api.quit(129);
    if (crashed) return;
    crashed = true;
    const request = current
      ? current.failure(document)
      : api.request("POST", "init/error", JSON.stringify(document), document.errorType);
    if (current) current.done = true;
    api.send(request, () => process.exit(129));
  };
  process.on("uncaughtException", (error) => crash(error));
  process.on("unhandledRejection", (reason) => crash(reason, "Runtime.UnhandledPromiseRejection"));
  process.on("beforeExit", () => {
    if (current && !current.done) current.emptied();
  });

  let handler;
  try {
    if (problem) throw problem;
    handler = await loadHandler(process.env.LAMBDA_TASK_ROOT, process.env._HANDLER);
  } catch (error) {
    return crash(error);
  }
  if (crashed) return;
  const answered = (request) => api.next(request, take);
  const take = (headers, body) => {
    const trace = headers["lambda-runtime-trace-id"];
    if (trace) process.env._X_AMZN_TRACE_ID = trace;
    else delete process.env._X_AMZN_TRACE_ID;
    current = new Invocation(api, headers, body, answered);
    current.run(handler);
  };
  answered("");
}

main();
