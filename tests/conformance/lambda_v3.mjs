// The AWS SDK for JavaScript makes a function, calls it, changes it, drives it with a stream and deletes it.
import assert from "node:assert";
import { readFileSync } from "node:fs";
import {
  CreateEventSourceMappingCommand, CreateFunctionCommand, DeleteFunctionCommand, GetFunctionCommand,
  GetFunctionConcurrencyCommand, InvokeCommand, LambdaClient, ListEventSourceMappingsCommand, ListFunctionsCommand,
  PutFunctionConcurrencyCommand, PutFunctionEventInvokeConfigCommand, ResourceNotFoundException,
  UpdateFunctionConfigurationCommand,
} from "@aws-sdk/client-lambda";

const client = new LambdaClient({ maxAttempts: 1 });
const FunctionName = "ByJavaScript";
const made = await client.send(new CreateFunctionCommand({
  FunctionName, Runtime: "python3.11", Handler: "app.handler", Role: "arn:aws:iam::000000000000:role/any", Timeout: 20,
  Code: { ZipFile: readFileSync(process.argv[2]) }, Environment: { Variables: { PATH: "/usr/local/bin:/usr/bin:/bin" } },
}));
assert.equal(made.State, "Active");
const called = await client.send(new InvokeCommand({ FunctionName, Payload: '{"n": 3}' }));
const result = JSON.parse(Buffer.from(called.Payload).toString());
const changed = await client.send(new UpdateFunctionConfigurationCommand({ FunctionName, MemorySize: 512 }));
assert.equal(changed.MemorySize, 512);
await client.send(new PutFunctionConcurrencyCommand({ FunctionName, ReservedConcurrentExecutions: 1 }));
const limit = await client.send(new GetFunctionConcurrencyCommand({ FunctionName }));
assert.equal(limit.ReservedConcurrentExecutions, 1);
const config = await client.send(new PutFunctionEventInvokeConfigCommand({ FunctionName, MaximumRetryAttempts: 1 }));
assert.ok(config.LastModified instanceof Date);
await assert.rejects(client.send(new CreateEventSourceMappingCommand({
  FunctionName, EventSourceArn: "arn:aws:dynamodb:us-east-1:000000000000:table/None/stream/latest", StartingPosition: "LATEST",
})), { name: "InvalidParameterValueException" });
assert.deepEqual((await client.send(new ListEventSourceMappingsCommand({ FunctionName }))).EventSourceMappings, []);
assert.ok((await client.send(new ListFunctionsCommand({}))).Functions.some((one) => one.FunctionName === FunctionName));
await client.send(new DeleteFunctionCommand({ FunctionName }));
await assert.rejects(client.send(new GetFunctionCommand({ FunctionName })), ResourceNotFoundException);
console.log(JSON.stringify({ result }));
