// The rights of an access key, from few to all: each role may do what those before it may.
#pragma once

#include <string_view>

namespace freshet {

enum class Role { kRead, kWork, kOperate, kAdmin };

// "read", as a file of access keys has it. Pure; any thread.
std::string_view role_name(Role role);

}  // namespace freshet
