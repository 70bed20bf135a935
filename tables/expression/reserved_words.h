// Names that an expression may not spell out ("#n" must stand for them).
// Source: Amazon DynamoDB Developer Guide, "Reserved words in DynamoDB": 573 words.
#pragma once

#include <string_view>

namespace freshet::expression {

bool is_reserved_word(std::string_view word);  // In any case.

}  // namespace freshet::expression
