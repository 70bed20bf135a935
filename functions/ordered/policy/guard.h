// The rule that orders writes, twice: as conditions that the store checks, and as the same decisions about an item that
// has been read. Pure.
//
// An item has two registers: the attributes that puts and deletes write (all of them, at Timestamp), and, if updates
// are declared, the attributes that updates write, at UpdateTimestamp, which exists while they are newer than the rest.
// A write is carried out if it is not older than the registers that it writes.
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

// The facts about an item on which the decision depends.
struct Facts {
  std::optional<Value> stamp;
  std::string tie;  // "" if it has none: it gives way to every other.
  bool deleted = false;
  std::optional<Value> update_stamp;
  std::string update_tie;
};
// kValidation naming an attribute whose type no ordered write would give it.
Result<Facts> read_facts(const ItemRef& item, const Settings& settings);
bool is_tombstone(const ItemRef& item, const Settings& settings);

// For equal timestamps with Ties::kContent: names the write by its content. Within a kind the order of the texts
// decides; a delete sorts after every put.
std::string tie_of_put(const Item& item);
std::string tie_of_delete();
std::string tie_of_update(const Map& set);  // An update removes the attributes that it does not set, so `set` is its
                                            // whole content.

// whole_gives_way(): true if the write is not older than the last put or delete. The second function: not older than
// the last update.
bool whole_gives_way(const Facts& facts, const Write& write, Ties ties);
bool update_gives_way(const Facts& facts, const Write& write, Ties ties);

class Guard {
 public:
  explicit Guard(const Settings& settings);  // The settings outlive it.

  // Adds the condition that both registers give way. The put already has its timestamp.
  void add_to(PutItemInput& put, const Write& write) const;
  void add_to(UpdateItemInput& update, const Write& write) const;

  // Adds the update in `found`, which is newer than the put or delete and stays. The put then has the conditions that
  // this update is still the last one, and that the other register gives way.
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
