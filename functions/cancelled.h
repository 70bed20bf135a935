// Finds out why a transaction was not carried out.
#pragma once

#include "base/result.h"

namespace freshet {

// kConditionalCheckFailed if only a faster writer prevented it (failed conditions, conflicts with other transactions),
// so that another attempt may succeed; kValidation with its message for an action that does not fit the existing item;
// every other error unchanged.
Error cause_of_failure(const Error& error);

}  // namespace freshet
