// One operation of the protocol: parsed on an I/O thread, run on the loop, written on an I/O thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/async.h"
#include "base/result.h"
#include "streams/stream_reader.h"
#include "tables/tables.h"
#include "wire/dynamodb/input.h"

namespace freshet {
struct BackupDescription;  // tables/backups.h
}  // namespace freshet

namespace freshet::dynamodb {

// The account, region and address in responses.
struct ResponseScope {
  std::string region;
  std::string account;
  std::string table_arn(std::string_view table) const;
  std::string backup_arn(const BackupDescription& backup) const;
  std::string backup_arn(std::string_view table, std::string_view id) const;
};

class Operation {
 public:
  virtual ~Operation() = default;
  virtual Async<Result<void>> run(Tables& tables) = 0;  // Loop thread; call it once.
  // Appends the response's JSON document. I/O thread, after run() has succeeded.
  virtual void write(std::string& json, const ResponseScope& place) const = 0;
};

using Parsed = Result<std::unique_ptr<Operation>>;

// The parser of an operation by its name ("PutItem"); null for an unknown name.
using Parser = Parsed (*)(const JsonView& body);
Parser find_parser(std::string_view operation);

Parsed parse_put_item(const JsonView& body);
Parsed parse_get_item(const JsonView& body);
Parsed parse_update_item(const JsonView& body);
Parsed parse_delete_item(const JsonView& body);
Parsed parse_query(const JsonView& body);
Parsed parse_scan(const JsonView& body);
Parsed parse_batch_get_item(const JsonView& body);
Parsed parse_batch_write_item(const JsonView& body);
Parsed parse_transact_write_items(const JsonView& body);
Parsed parse_transact_get_items(const JsonView& body);
Parsed parse_execute_statement(const JsonView& body);
Parsed parse_batch_execute_statement(const JsonView& body);
Parsed parse_execute_transaction(const JsonView& body);
Parsed parse_create_table(const JsonView& body);
Parsed parse_describe_table(const JsonView& body);
Parsed parse_delete_table(const JsonView& body);
Parsed parse_list_tables(const JsonView& body);
Parsed parse_update_time_to_live(const JsonView& body);
Parsed parse_describe_time_to_live(const JsonView& body);
Parsed parse_update_table(const JsonView& body);
Parsed parse_tag_resource(const JsonView& body);
Parsed parse_untag_resource(const JsonView& body);
Parsed parse_list_tags_of_resource(const JsonView& body);
Parsed parse_describe_continuous_backups(const JsonView& body);
Parsed parse_update_continuous_backups(const JsonView& body);
Parsed parse_describe_limits(const JsonView& body);
Parsed parse_create_backup(const JsonView& body);
Parsed parse_describe_backup(const JsonView& body);
Parsed parse_list_backups(const JsonView& body);
Parsed parse_delete_backup(const JsonView& body);
Parsed parse_restore_table_from_backup(const JsonView& body);

// Operations of the streams' protocol, by their names there. `streams` belongs to the loop thread and outlives them.
using StreamParser = Parsed (*)(const JsonView& body, StreamReader& streams);
StreamParser find_stream_parser(std::string_view operation);

// Detail of kConditionalCheckFailed for an INSERT, for which the protocol has DuplicateItem.
struct DuplicateItem : ErrorDetail {
  explicit DuplicateItem(std::shared_ptr<const ErrorDetail> failed) : condition(std::move(failed)) {}
  std::shared_ptr<const ErrorDetail> condition;  // A ConditionFailed, or null.
};

// The errors of an operation on a table, and of one on its items, if the table does not exist or must not be seen.
tl::unexpected<Error> table_not_found(std::string_view table);
tl::unexpected<Error> item_table_not_found();

}  // namespace freshet::dynamodb
