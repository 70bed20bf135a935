// Keys and values of tags: characters and lengths. Source: the service's Developer Guide, "Tagging restrictions". Any
// thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace freshet::dynamodb {

// The pattern that messages show for is_tag_text().
inline constexpr std::string_view kTagPattern = "^([\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*)$";

// True if the text has only letters, digits and blanks of any script, and the signs + - = . _ : / @. `text` is UTF-8.
bool is_tag_text(std::string_view text);

// The length in characters of a UTF-8 text.
int64_t count_characters(std::string_view text);

}  // namespace freshet::dynamodb
