// Edits and guarded puts in the words of those stores that know expressions only (a remote one).
#pragma once

#include "tables/tables.h"

namespace freshet {

// The UpdateItem that does the same under the same condition and answers with the whole new item. `keys` are those of
// the table, and `input.seen` has them.
UpdateItemInput to_update(const EditItemInput& input, const KeySchema& keys);

// The put whose condition says what only_new and rising do, and that has neither.
PutItemInput with_guards_spelled_out(PutItemInput put, const KeySchema& keys);

}  // namespace freshet
