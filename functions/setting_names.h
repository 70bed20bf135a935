// Guesses which setting somebody meant. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace freshet {

// " (did you mean 'RATE_LIMIT'?)": for a name that is nearly one of `known`, or the first words of one ("RATE"). Of
// several that begin like it the one that comes first in setting_table(). Empty if none is meant.
std::string nearest_setting(std::string_view name, const std::vector<std::string>& known);

}  // namespace freshet
