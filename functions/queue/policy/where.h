// Which tasks a change of many is for: the one grammar of `where`. Pure.
#pragma once

#include <optional>

#include "base/result.h"
#include "runtime/api/queue_admin.h"
#include "tables/value/item_ref.h"

namespace freshet {

// True if each attribute is there and as the text says: a string, or anything else as JSON writes it.
bool matches(const ItemRef& task, const TaskWhere& where);
// kValidation with what would be right, if no task can ever match.
std::optional<Error> never_matches(const TaskWhere& where);

}  // namespace freshet
