// Definitions of priority queues, from a file: Freshet's own form, the configuration.json of the sample, or a
// CloudFormation template in JSON with tables that have a queue's index. The forms: docs/priority-queue.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/priority/settings.h"

namespace freshet::priority {

struct Definition {
  Settings settings;
  std::optional<TableDefinition> table;  // How to make the table if it does not exist; empty: with the key `id` (S).
};

// At least one. kValidation naming the member: unknown ones, wrong types, a table without an index that can be a
// queue's, settings that validate() refuses.
Result<std::vector<Definition>> read_definitions(std::string_view json);

}  // namespace freshet::priority
