// Expresses edits and guarded puts as expressions, for stores that know only expressions (a remote one).
#pragma once

#include "tables/tables.h"

namespace freshet {

// The equivalent UpdateItem: it has the same condition and returns the whole new item. `keys` are the table's keys, and
// `input.seen` has them.
UpdateItemInput to_update(const EditItemInput& input, const KeySchema& keys);

// The put with `only_new` and `rising` replaced by an equivalent condition.
PutItemInput with_guards_spelled_out(PutItemInput put, const KeySchema& keys);

}  // namespace freshet
