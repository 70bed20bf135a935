// Items of definitions: as the fleet has them, and as a daemon's own system table has them. Any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "streams/definition_writer.h"
#include "tables/lease/definition_log.h"
#include "tables/tables.h"

namespace freshet {

// The kinds that are shared, in the order in which items are followed, as later ones need earlier ones.
const std::vector<std::string>& shared_kinds();
size_t order_of(std::string_view kind);
bool is_shared_kind(std::string_view kind);

DefinitionKey key_of(const Item& item);
DefinitionKey key_of(const WriteInput& write);
// Versions, aliases and policies are the function's.
DefinitionName owner_of(const DefinitionKey& key);

// The item of the system table as a copy of the fleet's.
Item marked(Item item);
bool is_marked(const Item& item);
// The item as the fleet has it. Each daemon has uploaded code in a folder of its own, so only its name is shared.
Item as_shared(Item item);
// The name of the folder with the function's uploaded code; empty: it has none.
std::string code_folder(const Item& item);

// Adds the condition that the code is there which the write names.
void add_check(const WriteInput& write, std::set<std::string>& checked, std::vector<WriteInput>& checks);
std::set<std::string> names_in(const Item& item, std::string_view member);
WriteInput put_shared(Item item);
// The write of the shared table that stands beside one of the system table.
WriteInput beside(const WriteInput& write);
size_t bytes_of(const WriteInput& write);
GetItemInput get_shared(const DefinitionKey& key);

}  // namespace freshet
