// Freshet's own table: the durable state of streams and the runtime (topics, functions, asynchronous events,
// positions). One partition for each kind; the documents are in docs/formats.md, "System tables".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/async.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr std::string_view kSystemTable = "freshet.system";

// Creates the table if it does not exist.
Async<Result<void>> ensure_system_table(Tables& tables);

// An item with its key attributes `kind` and `id` set.
Item system_item(std::string_view kind, std::string_view id);
PutItemInput put_system_item(Item item);
DeleteItemInput delete_system_item(std::string_view kind, std::string_view id);
GetItemInput get_system_item(std::string_view kind, std::string_view id);

// Every item of a kind, in order of id.
Async<Result<std::vector<ItemRef>>> load_system_items(Tables& tables, std::string kind);
// The same for a table with the same keys, and ids that begin with `prefix`.
Async<Result<std::vector<ItemRef>>> load_items_of(Tables& tables, std::string table, std::string kind,
                                                  std::string prefix);
// Moves writes of system items to a table with the same keys.
void move_to_table(std::vector<WriteInput>& writes, const std::string& table);

// Applies all writes of system items, none or all of them up to limits::kMaxTransactionActions, however large they are;
// beyond that in groups of that size, in order, up to the first group that fails. A crash may come between groups.
Async<Result<void>> write_together(Tables& tables, std::vector<WriteInput> writes);

}  // namespace freshet
