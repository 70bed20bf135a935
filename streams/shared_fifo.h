// The memory of a FIFO topic of a fleet, in the table of its events (docs/formats.md). The daemon that serves the topic
// claims its record, and then has the same in memory. Pure functions; the values are for the loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "streams/fifo_record.h"
#include "tables/tables.h"

namespace freshet {

// The record of a topic. Each of its writes is on the condition that it is as the writer knows it. So of two daemons
// that both take themselves for the owner, only the one that has claimed it last writes anything.
struct FifoClaim {
  std::string owner;   // Another one with each claim. Empty: there is no record yet.
  uint64_t last = 0;   // The number of messages so far.
  uint64_t parts = 0;  // How many writes the last of them has taken so far.
};
GetItemInput get_claim(const std::string& topic);
FifoClaim claim_of(const Item& record);
// Writes `next` if the table still has `seen`.
PutItemInput put_claim(const std::string& topic, const FifoClaim& next, const FifoClaim& seen);

// The messages of the last five minutes, as the daemon that serves the topic knows them.
class SentLately {
 public:
  // A page of them, as the table has them.
  static QueryInput page(const std::string& topic, Item start);
  // The key of a message within its topic; see deduplication_key() for `scope` and `id`.
  static std::string key_of(std::string_view scope, std::string_view id);

  void clear();
  void add(SentMessage message);
  void add(const Item& item);
  const SentMessage* find(const std::string& key) const;  // Null if there is none. Valid until the next change.
  PutItemInput put(const std::string& topic, const SentMessage& message) const;
  // Up to `most` of those whose window is over at `now`, the oldest first.
  std::vector<std::string> over(WallTime now, size_t most) const;
  static DeleteItemInput removal_of(const std::string& topic, const std::string& key);
  void remove(const std::string& key);

 private:
  std::map<std::string, SentMessage> messages_;      // By key.
  std::set<std::pair<WallTime, std::string>> ends_;  // The end of the window, and the key.
};

}  // namespace freshet
