// The rule that orders writes, twice: as conditions that the store checks, and as the same decisions about an item that
// has been read. Pure.
//
// An item is two registers: what puts and deletes write (all of it, at Timestamp), and, where updates are declared, the
// attributes that those write, at UpdateTimestamp, which is there while they are newer than the rest. A write goes
// ahead if it is not older than the registers that it writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "functions/ordered/settings.h"
#include "tables/tables.h"

namespace freshet::ordered {

enum class Kind { kPut, kDelete, kUpdate };

struct Write {
  Kind kind = Kind::kPut;
  Value stamp;
  std::string tie;  // Set with Ties::kContent; "" otherwise.
};

// The parts of an item that decide.
struct Facts {
  std::optional<Value> stamp;
  std::string tie;  // "" if it has none: gives way to every other.
  bool deleted = false;
  std::optional<Value> update_stamp;
  std::string update_tie;
};
// kValidation naming the attribute that has a type which no ordered write gives it.
Result<Facts> read_facts(const ItemRef& item, const Settings& settings);
bool is_tombstone(const ItemRef& item, const Settings& settings);

// Between equal timestamps, of Ties::kContent: names the write by what it writes. The order of the texts decides within
// a kind; a delete's stands behind every put's.
std::string tie_of_put(const Item& item);
std::string tie_of_delete();
std::string tie_of_update(const Map& set);  // An update removes what it does not set, so `set` says all.

// True if the write is not older than what puts and deletes left / than the last update.
bool whole_gives_way(const Facts& facts, const Write& write, Ties ties);
bool update_gives_way(const Facts& facts, const Write& write, Ties ties);

class Guard {
 public:
  explicit Guard(const Settings& settings);  // Which outlive it.

  // The condition that both registers give way. A put has its timestamp already.
  void add_to(PutItemInput& put, const Write& write) const;
  void add_to(UpdateItemInput& update, const Write& write) const;

  // Adds the update in `found`, which is newer than the put or delete and stays. The put then has the condition that it
  // is still the last update, and that the other register gives way.
  void merge(PutItemInput& put, const Write& write, const Item& found) const;

 private:
  struct Texts {
    std::string whole;
    std::string both;
  };
  const Texts& texts(Kind kind) const { return texts_[static_cast<size_t>(kind)]; }
  void fill(Placeholders& placeholders, const Write& write, bool with_update) const;

  const Settings& settings_;
  const bool content_;
  const bool updates_;
  Texts texts_[3];
};

}  // namespace freshet::ordered
