// The mark of a task that was cancelled while it was held. Pure.
#pragma once

#include "functions/queue/attributes.h"

namespace freshet {

// Only one that is true counts: clients may write anything there.
inline bool is_cancel_requested(const ItemRef& task) {
  const auto value = task.find(attribute::kCancelRequested);
  return value && value->type() == Type::kBool && *value->decode().get_if<bool>();
}

}  // namespace freshet
