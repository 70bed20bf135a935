// A walk over the attributes of an item, for code in which each instruction counts; others use ItemRef::find(), pick()
// or NameSlots. Pure; any thread.
#pragma once

#include <string_view>

#include "tables/value/encoding.h"
#include "tables/value/item_ref.h"

namespace freshet {

// Calls visit(name, value) for each attribute, in the order of the names. Both are views into the item; the value is
// encoded (ValueView). Needs an item.
template <class Visit>
void each_attribute(const ItemRef& item, Visit&& visit) {
  const std::string_view in = item.encoded();
  const char* at = in.data();
  const char* const end = at + in.size();
  encoding::take_varint(at);  // Their number.
  while (at != end) {
    const size_t length = encoding::take_varint(at);
    const char* const name = at;
    const char* const value = at + length;
    at = encoding::behind_value(value);
    visit(std::string_view(name, length), std::string_view(value, static_cast<size_t>(at - value)));
  }
}

}  // namespace freshet
