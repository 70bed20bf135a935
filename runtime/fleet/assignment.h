// Decides who serves which unit: a pure function of the members and of who serves them now.
#pragma once

#include <map>
#include <set>
#include <string>

namespace freshet {

using UnitOwners = std::map<std::string, std::string>;  // From unit to member.

// `members`: those that may have units, with the units that each can serve. The result has each unit that a member can
// serve. No member has two units more than another that could take one of them. A unit stays where it is unless its
// member cannot serve it any more or has too many: when one of `n` members comes or goes, at most the units that it
// takes or leaves move.
UnitOwners assign_units(const std::map<std::string, std::set<std::string>>& members, const UnitOwners& now);

}  // namespace freshet
