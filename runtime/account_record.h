// Records the account and region that a store's topics and functions were made under. Their ARNs are stored
// (subscriptions, environments, queued events), so another account or region would not find them.
#pragma once

#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "streams/arn.h"
#include "tables/tables.h"

namespace freshet {

// Adopts the account for this store from now on. kValidation with both accounts if the store has another one and
// `in_use` says that something is kept under it. For stores that are older than this record, the subscriptions tell the
// account.
Async<Result<void>> keep_account(Tables& tables, Account account, bool in_use);

}  // namespace freshet
