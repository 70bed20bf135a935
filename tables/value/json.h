// Items <-> the item store's JSON ({"S": "..."}, {"N": "1"}, ...) and <-> plain JSON ("...", 1, true, ...).
// No JSON library leaks out of here: reading is simdjson inside json_reader.cc, writing is by hand, straight from the
// encoded form. Documents that hold items among other things: json_reader.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tables/value/item_ref.h"

namespace freshet {

// Writing: append to `out`. Any thread. Members stand in the order of their names, sets in the order of their members.
// append_json_string() quotes and escapes; invalid UTF-8 becomes U+FFFD (no stored string has any).
void append_json_string(std::string& out, std::string_view text);
void append_attribute_json(std::string& out, const Value& value);          // {"S":"x"}
void append_item_json(std::string& out, const Item& item);                 // {"id":{"S":"x"},...}
void append_item_json(std::string& out, const ItemRef& item);              // Reads the encoded form.
void append_items_json(std::string& out, std::span<const ItemRef> items);  // [{...},...]
void append_plain_json(std::string& out, const Value& value);  // "x", 1.5, true, null, {...}, [...]; B as base64.
void append_plain_json(std::string& out, const Item& item);
void append_plain_json(std::string& out, const ItemRef& item);
void append_attribute_json(std::string& out, const ValueView& value);
void append_plain_json(std::string& out, const ValueView& value);

// Reading. kSerialization for malformed JSON (says at which offset) or wrong structure (says at which path),
// kValidation for values that no item may hold, with the service's text and then the path: "(at tags.SS)". If a name
// occurs twice in one object, the last one counts; a member that is null counts as absent.
Result<Item> parse_item_json(std::string_view json);
// Plain JSON: strings S, numbers N, booleans BOOL, null NULL, objects M, arrays L.
Result<Value> parse_plain_json(std::string_view json);

}  // namespace freshet
