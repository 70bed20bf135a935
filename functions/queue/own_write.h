// How a queue knows its own writes again on a store whose answers may be lost (tables/traits.h). Pure.
//
// There each transition raises `taskRev`, under the one that was seen. So a write that arrives late, or twice, fails as
// soon as anything else has happened to the task, and an attempt that was given back brings no old state back. A claim
// is known by its lease, the end of a claim by `lastLease`, any other transition by `taskRev`, state and time.
#pragma once

#include "tables/tables.h"

namespace freshet {

// The edit of a task with what it takes to know it again. Marks of a held task stay as they are: they are made under
// a lease, which never comes back, and making them twice is making them once.
EditItemInput recognisable(EditItemInput write);

enum class Fate {
  kDone,       // The write was carried out, and nothing since makes that void.
  kNotDone,    // It was not, and may be sent again: at most one of the sendings can be carried out.
  kOvertaken,  // Something else happened to the task. The write was not carried out, will not be, or is void.
};

// Tells what became of a write of recognisable(). `now`: the task as it was read by key, null if it is not there.
Fate fate_of(const EditItemInput& write, const ItemRef& now);
// The same for the put of a new task.
Fate fate_of(const PutItemInput& put, const ItemRef& now);

// True if an earlier sending of the same settlement can have made the task what it is: its claim ended under that
// lease, in that state.
bool ended_the_same(const EditItemInput& write, const ItemRef& now);

// A heartbeat is done as soon as such a beat is there, whoever wrote it.
bool is_heartbeat(const EditItemInput& write);

// The lease of the claim that the write ends; empty if it ends none.
std::string_view lease_ended_by(const EditItemInput& write);

}  // namespace freshet
