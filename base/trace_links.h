// Which trace made which change: so that what a table's stream causes goes on with the trace of the write.
//
// In memory only, and bounded: of what is older, and after a restart, a trace ends at the stream. Whoever acts for a
// trace says so for as long as it runs without a wait (Scope); a store that makes a change record meanwhile notes it.
// Loop thread only.
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

  // From here to its end the trace is at work; `links` may be null. Scopes nest.
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

  // The X-Amzn-Trace-Id of what is at work now, or empty.
  std::string current() const { return current_ ? *current_ : std::string(); }

  // A change record was made.
  void note(std::string_view table, uint64_t sequence) {
    if (!current_) return;
    const auto [place, added] = traces_.emplace(Key(table, sequence), current_);
    if (!added) {
      place->second = current_;  // Another table of that name.
      return;
    }
    order_.push_back(place);
    if (order_.size() <= most_) return;
    traces_.erase(order_.front());
    order_.pop_front();
  }
  // The trace that made it, or empty.
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
