// Writes responses of the filtered-queue API as JSON. I/O threads.
#pragma once

#include <string>

#include "runtime/api/filtered_queue.h"

namespace freshet::filtered {

std::string member_json(const FilteredMember& member);
std::string members_json(const MemberPage& page);
std::string enqueued_json(const Enqueued& enqueued);
std::string assigned_json(const Assigned& assigned);
std::string request_json(const FilteredRequest& request);
std::string requests_json(const RequestPage& page);
std::string stats_json(const FilteredStats& stats);
std::string recount_json(const Recount& recount);

}  // namespace freshet::filtered
