// The mark of a task that was cancelled while it was held: who works on it is told, and its next end is CANCELLED.
#pragma once

#include <string_view>

#include "tables/value/item_ref.h"

namespace freshet {

inline constexpr std::string_view kCancelMark = "cancelRequested";

// Only one that is true counts: clients may write anything there.
inline bool is_cancel_requested(const ItemRef& task) {
  const auto value = task.find(kCancelMark);
  return value && value->type() == Type::kBool && *value->decode().get_if<bool>();
}

}  // namespace freshet
