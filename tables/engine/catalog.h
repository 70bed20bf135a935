// All tables of one store, and the counters that outlive them. Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tables/engine/batch.h"
#include "tables/engine/live_segments.h"
#include "tables/engine/table.h"

namespace freshet {

class Catalog {
 public:
  explicit Catalog(size_t stream_memory_bytes) : stream_memory_(stream_memory_bytes) {}

  StoredCounters counters;
  LiveSegments live;

  // For reads and writes: kResourceNotFound with the service's text, also for a table that is being restored.
  Result<Table*> find(const std::string& name) const;
  // Null if there is none.
  Table* find_any(const std::string& name) const;
  // Null if there is none.
  Table* find_number(uint32_t number) const;
  Table& add(uint32_t number, TableDescription description);
  // Nobody finds it any more; its memory is given back by bury(), as a large one takes long.
  void remove(Table& table);
  // Gives back some of what removed tables hold.
  void bury(size_t items);
  bool has_removed() const { return !removed_.empty(); }

  const std::map<std::string, std::unique_ptr<Table>, std::less<>>& tables() const { return tables_; }
  const StreamMemory& stream_memory() const { return stream_memory_; }
  StreamMemory& stream_memory() { return stream_memory_; }

 private:
  StreamMemory stream_memory_;  // Outlives the tables.
  std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;
  std::map<uint32_t, Table*> by_number_;
  std::vector<std::unique_ptr<Table>> removed_;
};

}  // namespace freshet
