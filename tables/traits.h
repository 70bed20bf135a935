// Traits: what a store can do beyond the calls of tables.h. Each part names the traits that it needs when it starts. On
// a store that lacks one, the start fails with a message that names the trait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace freshet {

enum class Trait : uint8_t {
  // Each answer is ready when the call returns, and so none is ever lost. Without it a write may end in
  // kUnknownOutcome, and other calls take effect between a call and its answer.
  kImmediate,
  kSoleWriter,    // Only this process writes to the tables.
  kExactIndex,    // An index shows a write from the moment at which the write is answered.
  kBooks,         // books() has the counts of every commit.
  kTransactions,  // transact_write() and transact_get().
  kStream,        // Tables have change streams, in one shard or many.
  kSingleStream,  // All changes of a table stand in one order. Without it only those of an item do.
  kFullImages,    // Records have both images whole and tell inserts, changes and the service's own deletes apart.
  kPromptTtl,     // Expired items are gone within moments, and a task in work is left alone.
  kAllSettings,   // Descriptions have all settings of a table. Without it they lack tags and point-in-time recovery.
};

enum class StreamShape : uint8_t { kNone, kSingle, kSharded };

struct StoreTraits {
  bool immediate = false;
  bool sole_writer = false;
  bool exact_index = false;
  bool books = false;
  bool transactions = false;
  StreamShape stream = StreamShape::kNone;
  bool full_images = false;
  bool prompt_ttl = false;
  bool all_settings = false;
  // query() takes `whole_items`: a queue's own indexes need not have all attributes.
  bool whole_items = false;
  // The most members of one call; a caller that has more makes several calls.
  size_t largest_write = 0;        // write_many() and edit_many(), without conditions on the members.
  size_t largest_read = 0;         // read_many().
  size_t largest_transaction = 0;  // 0 without transactions.

  bool has(Trait trait) const;
};

// The name in messages and skipped tests, e.g. "exact indexes".
std::string_view trait_name(Trait trait);

// kValidation if the store lacks one of them, naming `who` (e.g. "queue 'A'") and all that it lacks.
Result<void> require_traits(const StoreTraits& traits, std::string_view who, std::initializer_list<Trait> needs);

}  // namespace freshet
