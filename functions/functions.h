// The built-in functions: create_tasks, trigger and process_tasks. Coroutines; the context, the queues and the log
// outlive them. An Error is an unhandled function error.
#pragma once

#include "base/log.h"
#include "functions/queue/queues.h"
#include "runtime/invoke/function.h"

namespace freshet {

// Puts CREATE_TASKS tasks into the queue, one per CREATE_INTERVAL_MS. Makes the table a queue if it is none, unless
// another daemon serves it. Returns null, as the sample does.
Async<Result<std::string>> create_tasks(Context& context, Queues& queues, const EventLog& log);

// Publishes `Start` to PROCESS_TASKS_TOPIC_ARN if the event is a notification or holds an INSERT. For inserts alone it
// publishes nothing if a processor of that queue is running in this daemon, which takes the tasks anyway. Returns null.
Async<Result<std::string>> trigger(Context& context, Queues& queues, const EventLog& log);

// Works on tasks; publishes `Start` to TRIGGER_TOPIC_ARN when it ends with eligible tasks left (the tail call). Returns
// the counts of its work: {"taken":9,"succeeded":8,"failed":1,"bounced":0,"shed":0,"lost":0,"tailCall":false}. It adds
// "left" before the last member if tasks are still in work; these go on beside the next run.
Async<Result<std::string>> process_tasks(Context& context, Queues& queues, const EventLog& log);

}  // namespace freshet
