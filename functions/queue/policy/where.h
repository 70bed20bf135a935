// Which tasks a change of many applies to: the grammar of `where`. Pure.
#pragma once

#include <optional>

#include "base/result.h"
#include "runtime/api/queue_admin.h"
#include "tables/value/item_ref.h"

namespace freshet {

// True if the task has each attribute with that value. A string is compared as it is, any other value in its JSON form.
bool matches(const ItemRef& task, const TaskWhere& where);
// kValidation, with the valid choices, if no task can ever match.
std::optional<Error> never_matches(const TaskWhere& where);

}  // namespace freshet
