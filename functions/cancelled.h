// Why a transaction was not carried out.
#pragma once

#include "base/result.h"

namespace freshet {

// kConditionalCheckFailed if nothing but somebody faster stood against it (conditions that failed, conflicts with other
// transactions), so that trying again may help; kValidation with its message for an action that fits no item as it is;
// every other error as it is.
Error cause_of_failure(const Error& error);

}  // namespace freshet
