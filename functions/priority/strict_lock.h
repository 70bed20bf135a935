// Keeps a strict queue to one record in flight while its daemon changes. A former daemon may go on with a peek, and an
// index may not show the last claim yet. So each claim also writes one item of the shared store, in the same
// transaction. The item names the record that was claimed. Nobody unlocks it: the next claim may go ahead once that
// record is no longer in flight.
//
// Loop thread. The store outlives it and its Asyncs.
#pragma once

#include <cstdint>
#include <string>

#include "tables/tables.h"

namespace freshet::priority {

class StrictLock {
 public:
  struct Seen {
    std::string record;  // The id of the record that was claimed last; "" if none was.
    int64_t claims = 0;  // The number of claims so far.
  };

  // Creates the table of the lock unless it exists. Errors: the store's.
  static Async<Result<void>> provide(Tables& tables);

  StrictLock(Tables& tables, const std::string& queue);
  Async<Result<Seen>> read() const;
  // The write to make in the same transaction as the claim of `record`. It fails with kConditionalCheckFailed if
  // another claim was made since `seen`.
  UpdateItemInput claim(const Seen& seen, const std::string& record) const;

 private:
  Tables& tables_;
  const Item key_;
};

}  // namespace freshet::priority
