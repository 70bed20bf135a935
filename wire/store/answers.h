// Answers of DynamoDB's JSON protocol as outputs of the seam (tables/tables.h). Pure functions; any thread.
//
// kInternal if an answer is not what the protocol says; the message names the member.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ports.h"
#include "tables/tables.h"

namespace freshet::remote {

Result<WriteOutput> write_output_of(std::string_view body);
Result<ReadOutput> read_output_of(std::string_view body);
Result<Page> page_of(std::string_view body);
// One answer for each action, in order.
Result<std::vector<ReadOutput>> transaction_of(std::string_view body, size_t actions);

struct BatchPart {
  std::vector<Item> items;  // In any order. A key without an item adds nothing.
  std::vector<Item> left;   // Keys that the store has not read: request them again.
};
Result<BatchPart> batch_of(std::string_view body, const std::string& table);

struct DescribedTable {
  TableDescription table;
  std::string status;         // "ACTIVE", "CREATING", ...
  bool indexes_ready = true;  // False while one of them is being built, changed or dropped.
};
// From DescribeTable, CreateTable, UpdateTable and DeleteTable. Without ttl.
Result<DescribedTable> description_of(std::string_view body);
// The ttl attribute that DescribeTimeToLive answers; empty if it is off.
Result<std::optional<std::string>> ttl_of(std::string_view body);

struct TableNames {
  std::vector<std::string> names;
  std::string last;  // The name after which the next page begins; "": there is none.
};
Result<TableNames> table_names_of(std::string_view body);

// The meaning of a failure for its request.
enum class Failure {
  kRefused,      // The store has decided, and would decide so again. Nothing was carried out.
  kBusy,         // Throttled, or in conflict with another transaction. Nothing was carried out; ask again later.
  kUnsure,       // The store had an internal failure. The request may have been carried out.
  kCredentials,  // The access key is not, or no longer, accepted. Nothing was carried out.
};
struct ServiceError {
  Error error;
  Failure failure = Failure::kRefused;
  std::string_view throttled = {};  // One of kThrottlingReasons (caller.h); empty: the request was not throttled.
};
// The error in an answer whose status is not 200. If the body is not an error of the protocol, the server is no such
// store, and the message says so.
ServiceError error_of(const HttpResponse& response);

}  // namespace freshet::remote
