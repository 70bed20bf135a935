// Guesses the setting that somebody meant. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace freshet {

// " (did you mean 'RATE_LIMIT'?)": for a name that is nearly one of `known`, or the first words of one ("RATE"). If
// several begin with it, the first one in setting_table(). Empty if none is close.
std::string nearest_setting(std::string_view name, const std::vector<std::string>& known);

}  // namespace freshet
