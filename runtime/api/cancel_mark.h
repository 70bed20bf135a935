// Marks a task that was cancelled while it was held: its worker learns of it, and its claim ends as CANCELLED unless it
// succeeds.
#pragma once

#include <string_view>

#include "tables/value/item_ref.h"

namespace freshet {

inline constexpr std::string_view kCancelMark = "cancelRequested";

// Only the value true counts, because clients may write anything there.
inline bool is_cancel_requested(const ItemRef& task) {
  const auto value = task.find(kCancelMark);
  return value && value->type() == Type::kBool && *value->decode().get_if<bool>();
}

}  // namespace freshet
