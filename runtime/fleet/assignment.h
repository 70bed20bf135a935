// Decides who serves which unit: a pure function of the members and of who serves them now.
#pragma once

#include <map>
#include <set>
#include <string>

namespace freshet {

using UnitOwners = std::map<std::string, std::string>;  // From unit to member.

// `members` has the members that may have units, with the units that each can serve. The result has each unit that some
// member can serve. If a member has two or more units more than another, that one can take none of them. A unit stays
// where it is unless its member cannot serve it any more or has too many. So when a member comes or goes, only the
// units that it takes or leaves move.
UnitOwners assign_units(const std::map<std::string, std::set<std::string>>& members, const UnitOwners& now);

}  // namespace freshet
