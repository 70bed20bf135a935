// Things of one kind, other than queues of tasks, that one daemon of a fleet at a time serves. Loop thread. It outlives
// the QueueUnits that it is given to, or the loop.
#pragma once

#include <string>
#include <string_view>

namespace freshet {

class UnitKind {
 public:
  virtual ~UnitKind() = default;
  // The unit of the thing NAME is KIND/NAME.
  virtual std::string_view kind() const = 0;
  // From now on this daemon serves NAME (true), or starts no new work for it (false).
  virtual void serve(const std::string& name, bool is_mine) = 0;
  // After serve(name, false): true while something is under way that must end before another daemon serves it.
  virtual bool is_busy(const std::string& name) const = 0;
};

}  // namespace freshet
