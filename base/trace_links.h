// Remembers which trace made which change, so that work caused by a table's stream continues the trace of the write.
//
// It lives in memory and is bounded: for older changes, and after a restart, a trace ends at the stream. Code that runs
// for a trace opens a Scope for as long as it does not wait; a store that makes a change record meanwhile notes the
// trace. Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace freshet {

class TraceLinks {
 public:
  explicit TraceLinks(size_t most = 65'536) : most_(most) {}
  TraceLinks(const TraceLinks&) = delete;
  TraceLinks& operator=(const TraceLinks&) = delete;

  // The trace is current from here to the end of the scope; `links` may be null. Scopes nest.
  class Scope {
   public:
    Scope(TraceLinks* links, std::string_view header) : links_(header.empty() ? nullptr : links) {
      if (links_) before_ = std::exchange(links_->current_, std::make_shared<const std::string>(header));
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      if (links_) links_->current_ = std::move(before_);
    }

   private:
    TraceLinks* links_;
    std::shared_ptr<const std::string> before_;
  };

  // The X-Amzn-Trace-Id of the current trace, or empty.
  std::string current() const { return current_ ? *current_ : std::string(); }

  // Records that the current trace made this change record.
  void note(std::string_view table, uint64_t sequence) {
    if (!current_) return;
    const auto [place, added] = traces_.emplace(Key(table, sequence), current_);
    if (!added) {
      place->second = current_;  // The table was deleted and created again under the same name.
      return;
    }
    order_.push_back(place);
    if (order_.size() <= most_) return;
    traces_.erase(order_.front());
    order_.pop_front();
  }
  // The trace that made the change record, or empty.
  std::string find(std::string_view table, uint64_t sequence) const {
    const auto found = traces_.find(Key(table, sequence));
    return found == traces_.end() ? std::string() : *found->second;
  }

 private:
  using Key = std::pair<std::string, uint64_t>;
  using Traces = std::map<Key, std::shared_ptr<const std::string>>;

  const size_t most_;
  std::shared_ptr<const std::string> current_;
  Traces traces_;
  std::deque<Traces::iterator> order_;
};

}  // namespace freshet
