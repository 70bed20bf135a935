// Sends documents about outcomes to a function or a topic, named by its ARN. Loop thread only.
#pragma once

#include <string>
#include <vector>

#include "runtime/invoke/function.h"
#include "streams/delivery_queue.h"
#include "streams/topic_service.h"

namespace freshet {

// An asynchronous event that was given up.
struct DeadLetter {
  std::string request_id;
  std::string event;  // JSON.
  int error_code = 200;
  std::string error_message;
};

class Destinations {
 public:
  Destinations(DeliveryQueue& queue, TopicService& topics) : queue_(queue), topics_(topics) {}
  // Returns the events to write so that `document` (JSON) reaches the target. kResourceNotFound / kNotFound if it does
  // not exist, kTooManyRequests if its queue is full.
  Async<Result<std::vector<PreparedEvent>>> prepare(std::string target, std::string document);
  // The same for an event itself, which goes to a topic, with attributes that describe its end.
  Async<Result<std::vector<PreparedEvent>>> prepare_dead_letter(std::string topic, DeadLetter letter);

 private:
  Async<Result<std::vector<PreparedEvent>>> prepare_message(PublishInput input);

  DeliveryQueue& queue_;
  TopicService& topics_;
};

// Writes the document's events and delivers them.
Async<Result<void>> send_to(Destinations& destinations, Tables& tables, std::string target, std::string document);

// One finished asynchronous invocation, for destinations.
struct InvocationRecord {
  WallTime at{};
  std::string request_id;
  std::string function_arn;
  std::string condition;  // "Success", "RetriesExhausted", "EventAgeExceeded", "FunctionRemoved".
  int invocations = 0;
  std::string request_payload;             // JSON; empty for null.
  const InvokeOutcome* outcome = nullptr;  // Null if it never ran.
};
std::string destination_document(const InvocationRecord& record);

}  // namespace freshet
