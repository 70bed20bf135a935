// The asynchronous events of a fleet, in a table of the shared store. Each daemon has the events that it has accepted
// under a kind of its own, with the items of runtime/invoke/event_queue.h, and notes that in an item: others find the
// events of a daemon that is dead, and move them to theirs.
//
// Loop thread. The store must outlive the Asyncs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr const char* kEventsTable = "freshet-events";
// Its name in transactions with other tables of Freshet's own (tables/owned/split_tables.h).
inline constexpr std::string_view kOwnEventsTable = "freshet.events";

KeySchema events_keys();

// Creates the table unless it exists. Errors name the table.
Async<Result<void>> provide_events_table(Tables& tables);

// The kind of a daemon's events.
std::string events_of(std::string_view daemon);
// The kind of the deliveries of a FIFO topic. They are those of the daemon that serves the topic.
std::string events_of_topic(std::string_view topic);

// Notes that this daemon has events from now on. `life`: another one for each of its starts.
Async<Result<void>> note_events_of(Tables& tables, std::string daemon, std::string life);
// All that have been noted: the life by daemon.
Async<Result<std::map<std::string, std::string>>> daemons_with_events(Tables& tables);
// Removes the note, unless the daemon has started again since.
Async<Result<void>> forget_events_of(Tables& tables, std::string daemon, std::string life);

struct MovedEvents {
  size_t moved = 0;
  size_t left = 0;     // Those that `may_move` has refused,
  size_t dropped = 0;  // and those that nobody has run for a day, and that are deleted.
  Item next;           // Where the next page begins; empty: there is none.
};

// Moves a page of the events of one daemon to another one, each in a transaction, the oldest first. `start`: `next` of
// the page before. `may_move`: by the name of the event's function. `now`: by the wall
// clock; empty if that is not trusted, and then none is dropped.
Async<Result<MovedEvents>> move_events(Tables& tables, std::string from, std::string to, Item start,
                                       std::optional<WallTime> now,
                                       std::function<bool(const std::string& function)> may_move);

}  // namespace freshet
