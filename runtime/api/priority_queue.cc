#include "runtime/api/priority_queue.h"

#include <array>

namespace freshet {
namespace {

struct CodeText {
  std::string_view name;
  std::string_view message;
};
// In the order of PriorityCode; the sentences are the sample's, byte for byte.
constexpr std::array<CodeText, 9> kCodes = {{
    {"NONE", "API was not called!"},
    {"SUCCESS", "No error"},
    {"FAILED_ID_NOT_PROVIDED", "ID was not provided!"},
    {"FAILED_ID_NOT_FOUND", "Provided Shipment ID was not found in the Dynamo DB!"},
    {"FAILED_RECORD_NOT_CONSTRUCTED", "Shipment record not yet fully constructed .. cannot execute API!"},
    {"FAILED_ON_CONDITION", "Condition on the 'version' attribute has failed!"},
    {"FAILED_EMPTY_QUEUE", "Cannot proceed, queue is empty!"},
    {"FAILED_ILLEGAL_STATE", "Illegal state, cannot proceed!"},
    {"FAILED_DYNAMO_ERROR", "Unspecified DynamoDB error is encountered!"},
}};

}  // namespace

std::string_view code_name(PriorityCode code) {
  return kCodes[static_cast<size_t>(code)].name;
}

std::string_view code_message(PriorityCode code) {
  return kCodes[static_cast<size_t>(code)].message;
}

std::string_view place_name(RecordPlace place) {
  switch (place) {
    case RecordPlace::kOutside:
      return "outside";
    case RecordPlace::kReady:
      return "ready";
    case RecordPlace::kInFlight:
      return "in-flight";
    case RecordPlace::kDelayed:
      return "delayed";
    case RecordPlace::kDead:
      return "dead";
    case RecordPlace::kElsewhere:
      return "elsewhere";
  }
  return "outside";
}

}  // namespace freshet
