// In a fleet, a strict queue has one record in flight at most even while its daemon changes: a daemon that stood still
// may go on with a peek, and the indexes may not show yet what the daemon before has claimed. So an item in the shared
// store names the record that was claimed last, and each claim writes that item in its own transaction. Nobody needs to
// unlock it: while the record that it names is not in flight, the next one may be claimed.
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
    int64_t claims = 0;  // Rises with each claim.
  };

  // Creates the table of the lock unless it exists. Errors: the store's.
  static Async<Result<void>> provide(Tables& tables);

  StrictLock(Tables& tables, const std::string& queue);
  Async<Result<Seen>> read() const;
  // The write to make in the same transaction as the claim of `record`. It requires that nothing was claimed since.
  UpdateItemInput claim(const Seen& seen, const std::string& record) const;

 private:
  Tables& tables_;
  const Item key_;
};

}  // namespace freshet::priority
