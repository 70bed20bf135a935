// Cursors of lists that are read in pages: an opaque text for the place where a page ended.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace freshet {

// `list` names the list, so that no other one takes its cursors. `place` may be any bytes; an empty one (there is no
// further page) gives an empty text.
std::string make_cursor(std::string_view list, std::string_view place);
// The place; empty for an empty cursor, which stands for the first page. kValidation for a text that make_cursor() did
// not make for this list. It guards against mistakes and not against forgery: check what you read there.
Result<std::string> place_of_cursor(std::string_view list, std::string_view cursor);

}  // namespace freshet
