// Makes a fixture from a live table: the snapshot first, then the stream in pieces, each as lines of streams/fixture.h.
// Stateless between calls, so that a client can ask for piece after piece. Loop thread.
//
// The table needs a stream, and the store must keep both images for it while it is recorded (EmbeddedTables::
// keep_images) from before begin_fixture() on; else a later record without its new image is an error.
#pragma once

#include <map>
#include <string>

#include "base/async.h"
#include "base/scheduler.h"
#include "streams/fixture.h"
#include "tables/tables.h"

namespace freshet {

struct FixtureChunk {
  std::string lines;  // Whole lines; empty if there was no change.
  uint64_t next = 1;  // The `next` of the following call.
};

struct BeginFixtureInput {
  std::string table;
  std::string note;
  std::map<std::string, std::string> policy = {};  // For a queue's table, the settings in force.
  size_t max_items = 200'000;                      // kLimitExceeded for a table with more.
};

// Header and snapshot. Writes may go on meanwhile: the snapshot is what the table held at one moment, and `next` is the
// first change after it. Lets other work run between pages. Tables and scheduler outlive the Async. kResourceNotFound
// without a table, kValidation without a stream.
Async<Result<FixtureChunk>> begin_fixture(Tables& tables, Scheduler& scheduler, BeginFixtureInput input);

struct ContinueFixtureInput {
  std::string table;
  Account account;
  uint64_t from = 1;      // The `next` of the previous chunk.
  uint32_t limit = 1000;  // Records.
  BootTime wait_until{};  // Waits until then for the first record; BootTime{} does not wait.
};

// kTrimmedDataAccess if the next records are no longer kept: the recording has a gap and is over.
Async<Result<FixtureChunk>> continue_fixture(Tables& tables, ContinueFixtureInput input);

}  // namespace freshet
