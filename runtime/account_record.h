// Under which account and region a store's topics and functions were made. Their ARNs are kept with it (subscriptions,
// environments, events under way), so that another account or region would find nothing.
#pragma once

#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "streams/arn.h"
#include "tables/tables.h"

namespace freshet {

// kValidation with both if the store's is another one and `in_use`: something is kept under it. Else the store has this
// one from now on. Stores of before there was a record are asked by their subscriptions.
Async<Result<void>> keep_account(Tables& tables, Account account, bool in_use);

}  // namespace freshet
