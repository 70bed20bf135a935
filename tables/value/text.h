// Small text tools of the value layer: UTF-8 checks and base64. No state, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet {

// Strict UTF-8 (RFC 3629): no surrogates, no overlong forms, nothing above U+10FFFF.
bool is_utf8(std::string_view text);
// Length in bytes of the valid UTF-8 sequence that `text` starts with; 0 if it starts with none.
size_t utf8_sequence(std::string_view text);
// At most `bytes` of `text`, whole characters only; ends at invalid UTF-8.
std::string_view cut_text(std::string_view text, size_t bytes);

// Standard base64 with padding (RFC 4648, section 4).
void append_base64(std::string& out, std::string_view bytes);
// Appends the decoded bytes. Returns an empty string on success, else what is wrong, in the service's words:
// "Base64 encoded length is expected a multiple of 4 bytes but found: 3". `out` is then unchanged.
std::string append_from_base64(std::string& out, std::string_view text);

}  // namespace freshet
