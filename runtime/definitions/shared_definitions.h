// The definitions of clients in a fleet: functions with their versions, aliases and policies, topics, subscriptions and
// event source mappings. A client may make, change or delete one at any daemon. The change holds at all of them.
//
// They are in the store that the daemons share, with a log of their changes (tables/lease/definition_log.h). Each
// daemon follows that log, and has a copy in its own system table, with which it starts when it runs alone. A change
// begins with all that the log has, decides on that, and is written as the next version. If another daemon was faster,
// it begins anew. So changes of all daemons have one order, and a change that comes second gets the answer that it
// would get at a single daemon.
//
// The definitions of a template belong to the daemon that deployed it, as the record of its deployment names them. They
// are not shared. While this daemon's template defines a name, the fleet's definition of that name has no effect here.
//
// Loop thread. Everything that it refers to must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/async.h"
#include "base/log.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "base/turns.h"
#include "streams/definition_writer.h"
#include "tables/lease/definition_log.h"
#include "tables/tables.h"

namespace freshet {

// Makes memory agree with the items that a daemon follows.
class DefinitionFollower {
 public:
  virtual ~DefinitionFollower() = default;
  // The item of that key as the system table has it now; null: it is gone. It may be the same as before.
  virtual void follow(const DefinitionKey& key, const Item* item) = 0;
  // Called before other daemons get an item that this daemon has made alone. Writes into the engine what they need
  // besides, such as a mapping's positions. After an error, the item is not shared yet.
  virtual Async<Result<void>> before_sharing(Item item) = 0;
};

// The folders of this daemon with code that clients uploaded. Each is named by the archive that it was made of.
class DefinitionCode {
 public:
  virtual ~DefinitionCode() = default;
  virtual std::string path_of(const std::string& folder) const = 0;
  // Fetches the code from the fleet into its folder, unless the folder exists. The folder stays while the result lives,
  // or while a function of this daemon names it.
  virtual Async<Result<std::shared_ptr<const void>>> bring(std::string folder) = 0;
  // Stores the folder's code in the fleet, unless it is there.
  virtual Async<Result<void>> give(std::string folder) = 0;
  // Called after give() for a client's upload: the function that was to name the code may still be refused. Null: not
  // called.
  std::function<void()> on_given = nullptr;
};

// The fleet's side. What it refers to must outlive the definitions.
struct DefinitionSharing {
  Tables& engine;                  // The store that the daemons share.
  std::function<void()> announce;  // Called after a change, so that other daemons read it soon. Null: not called.
  DefinitionCode* code = nullptr;  // Null: there is no uploaded code.
};

class SharedDefinitions final : public DefinitionWriter {
 public:
  // `own` has the system table.
  SharedDefinitions(DefinitionSharing sharing, Tables& own, Scheduler& scheduler, Random& random, EventLog log,
                    DefinitionFollower& follower);
  SharedDefinitions(const SharedDefinitions&) = delete;
  SharedDefinitions& operator=(const SharedDefinitions&) = delete;
  ~SharedDefinitions() override;

  // Makes this daemon's definitions those of the fleet, whatever it had before. Definitions that it has made alone, and
  // that the fleet does not have, become the fleet's. Call it before clients are served, and after each deployment.
  Async<Result<void>> compare();
  // Follows what others have changed before the call. Calls that wait at the same time share one read. kUnavailable,
  // also after ten seconds.
  Async<Result<void>> refresh();
  // refresh() for a request about a name that this daemon does not have, as another one may just have made it. All such
  // calls together read at most ten times a second. Resolves after errors, and after two seconds, too.
  Async<void> look_for_new();
  // Tells it the newest version that a read of the fleet's table has shown. Follows the log if that is newer.
  void newest_is(uint64_t version);
  // The version up to which this daemon has followed.
  uint64_t version() const { return version_; }

  // Runs `body`, a change for a client that writes with write(). It may run several times, each time on newer
  // definitions, and the result is that of the last time. A change of what a template defines runs as if there was no
  // fleet. Errors of its own: kUnavailable if the fleet's definitions cannot be read, if this daemon does not have the
  // newest of it, such as the function's code, or if the change could not begin within ten seconds (one of what the
  // template defines waits for longer); kTooManyRequests if others were faster again and again.
  template <class T>
  Async<Result<T>> change(DefinitionName what, std::function<Async<Result<T>>()> body) {
    const auto own = co_await is_of_template(what);
    const auto begin = std::make_shared<Begin>(scheduler_);
    std::function<Async<Result<T>>()> in_turn = [this, begin, what = std::move(what), body = std::move(body)] {
      if (begin->done.is_set()) return Async<Result<T>>(Result<T>(has_waited()));
      begin->done.set(true);
      return change_in_turn<T>(what, body);
    };
    auto going = turns_.run<Result<T>>(std::move(in_turn));
    const bool may_wait = own && *own;
    if (!may_wait && !begin->done.is_set()) co_await begin_in_time(begin);
    if (begin->is_given_up) co_return has_waited();
    co_return co_await going;
  }

  Async<Result<bool>> is_of_template(DefinitionName what);
  // In the body of change(), or about what a template defines. kConflict if others were faster: change() begins anew.
  Async<Result<void>> write(DefinitionName what, std::vector<WriteInput> writes) override;

 private:
  static constexpr int kMostTries = 10;
  static constexpr seconds kLongestWait{10};
  static constexpr milliseconds kLookPause{100};
  static constexpr seconds kLongestLook{2};

  struct Timer {
    Scheduler& scheduler;
    TimerId id;
    ~Timer() { scheduler.cancel(id); }
  };
  // `done` is true when the turn of a change comes, false if that takes too long.
  struct Begin {
    explicit Begin(Scheduler& scheduler) : done(scheduler) {}
    Promise<bool> done;
    bool is_given_up = false;
  };
  Async<void> begin_in_time(std::shared_ptr<Begin> begin);
  // The result of the promise, or `late` after that time.
  template <class T>
  Async<T> within(nanoseconds most, Promise<T> done, T late) {
    const BootTime latest = scheduler_.clock().boot() + most;
    const Timer timer{scheduler_, scheduler_.call_at(latest, [done, late] { done.set(late); })};
    T result = co_await done.future();
    co_return result;
  }

  // The names that the last deployment of this daemon's template has.
  struct TemplateNames {
    std::set<std::string> functions{};
    std::set<std::string> topics{};
    std::set<std::string> subscriptions{};  // "TOPIC:ID".
    std::set<std::string> mappings{};       // By id.
    bool has(const DefinitionName& what) const;
  };
  struct Found {
    DefinitionKey key;
    std::optional<Item> item{};  // Empty: it is gone.
  };

  struct Followed {
    size_t count = 0;                // Items that hold here now.
    std::optional<Error> passing{};  // An item could not be followed for a reason that passes.
  };

  // A change of what a template defines takes its turn, too: nothing is followed while it is under way.
  template <class T>
  Async<Result<T>> change_in_turn(DefinitionName what, std::function<Async<Result<T>>()> body) {
    auto looking = is_of_template(what);
    const auto own = co_await looking;
    if (!own) co_return fail(own.error());
    auto work = *own ? body() : change_now<T>(std::move(what), std::move(body));
    auto done = co_await work;
    co_return done;
  }
  template <class T>
  Async<Result<T>> change_now(DefinitionName what, std::function<Async<Result<T>>()> body) {
    for (int tries = 0; tries < kMostTries; ++tries) {
      auto known = co_await catch_up();
      if (!known) co_return fail(ErrorCode::kUnavailable, cannot_read(known.error()));
      if (lacks(what))
        co_return fail(ErrorCode::kUnavailable, "this daemon does not have the newest one yet: try another daemon");
      is_stale_ = false;
      may_write_ = true;
      auto work = body();
      auto done = co_await work;
      may_write_ = false;
      if (done || !is_stale_) co_return done;
    }
    co_return fail(ErrorCode::kTooManyRequests,
                   "other daemons of the fleet change definitions at the moment: try again");
  }
  static std::string cannot_read(const Error& error);
  static tl::unexpected<Error> has_waited();
  Async<void> look_in_time();
  Async<void> refresh_in_turn();
  Async<Result<void>> refresh_now();
  bool lacks(const DefinitionName& what) const;
  bool must_look_again() const;

  Item as_own(Item item) const;
  Async<Result<std::vector<Item>>> with_code(std::vector<Item> items);
  void sweep_code_later();
  Async<void> sweep_code();
  Async<Result<size_t>> sweep_code_now();
  Async<Result<TemplateNames>> template_names();
  Async<Result<void>> catch_up();
  Async<Result<void>> compare_now();
  Async<Result<void>> compare_once();
  Async<Result<void>> bring_along(std::vector<Item> items);
  Async<Result<Followed>> follow(std::vector<Found> found);
  Async<Result<bool>> follow_one(Found found);
  void log_left(const DefinitionKey& key, const Error& error) const;
  Async<Result<void>> write_shared(std::vector<WriteInput> shared, uint64_t& version);
  Async<void> follow_newest();
  void announce();

  const DefinitionSharing sharing_;
  Tables& own_;
  Scheduler& scheduler_;
  Random& random_;
  const EventLog log_;
  DefinitionFollower& follower_;
  uint64_t version_ = 0;
  bool is_compared_ = false;  // False: what this daemon has may differ from that version.
  bool may_write_ = false;    // The body of a change is at work.
  bool is_stale_ = false;     // Others were faster than this body.
  uint64_t newest_ = 0;
  bool is_following_ = false;
  bool is_sweeping_ = false;
  bool must_sweep_ = false;
  // Items that cannot be followed, such as a function whose code cannot be brought. They do not hold here yet.
  std::set<DefinitionKey> lacking_;
  BootTime look_again_{};
  std::vector<Promise<Result<void>>> refreshing_;  // Calls of refresh() whose read has not begun.
  std::vector<Promise<bool>> looking_;             // Calls of look_for_new() whose read has not begun.
  BootTime may_look_{};                            // When the next such read may begin.
  std::string trouble_;                            // Why the log could not be followed, as it was logged last.
  Turns turns_{scheduler_};
  Scope scope_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
