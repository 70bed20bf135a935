#include "wire/api/role.h"

namespace freshet {

std::string_view role_name(Role role) {
  constexpr std::string_view kNames[] = {"read", "work", "operate", "admin"};
  return kNames[static_cast<size_t>(role)];
}

}  // namespace freshet
