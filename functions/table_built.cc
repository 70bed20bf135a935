#include "functions/table_built.h"

#include "tables/traits.h"

namespace freshet {

namespace {

constexpr seconds kLookAtEngine{2};    // Each look is a request, and building takes minutes there.
constexpr seconds kReportedEach{600};  // Amazon DynamoDB takes some minutes for an index of a small table.
constexpr seconds kSaidAfter{1};       // The embedded store mostly takes less.

struct Look {
  std::string building;  // "index 'a', index 'b'"; empty: nothing is being built.
  std::string trouble;   // Why the engine cannot be asked; empty: it answered.
  bool is_over() const { return building.empty() && trouble.empty(); }
};

void add(std::string& names, const std::string& name) {
  names.append(names.empty() ? "" : ", ").append(name);
}

Async<Look> look_at(Services& services, std::string table) {
  Look look;
  std::string copy = table;
  const auto described = co_await services.tables.describe_table(std::move(copy));
  if (!described) {
    // An engine that does not answer for a while, or answers 500, goes on building.
    const Error& error = described.error();
    if (is_passing(error) || error.code == ErrorCode::kInternal) look.trouble = error.message;
    co_return look;
  }
  for (const IndexState& index : described->indexes) {
    if (index.building) add(look.building, "index '" + index.name + "'");
  }
  const auto books = co_await services.tables.books(std::move(table));
  if (!books && books.error().code == ErrorCode::kUnavailable) add(look.building, "its books");
  co_return look;
}

}  // namespace

Async<void> table_built(Services& services, EventLog log, std::string table) {
  Scheduler& scheduler = services.scheduler;
  // The embedded store builds a part in each turn.
  const bool is_immediate = services.tables.traits().has(Trait::kImmediate);
  const BootTime began = scheduler.clock().boot();
  BootTime reported = began;
  std::string waited_for;  // All that was ever seen in building.
  for (;;) {
    std::string copy = table;
    const Look look = co_await look_at(services, std::move(copy));
    const BootTime now = scheduler.clock().boot();
    const int64_t took_ms = std::chrono::duration_cast<milliseconds>(now - began).count();
    if (look.is_over()) {
      if (!waited_for.empty()) log.info("TABLE_BUILT", {{"table", table}, {"built", waited_for}, {"tookMs", took_ms}});
      co_return;
    }
    const bool is_long = !is_immediate || now - began >= kSaidAfter;
    if (waited_for.empty() && is_long && !look.building.empty()) {
      waited_for = look.building;
      log.info("TABLE_BUILDING", {{"table", table}, {"building", waited_for}});
    }
    if (now - reported >= kReportedEach) {
      reported = now;
      const std::string& building = look.building.empty() ? waited_for : look.building;
      const std::string why = look.trouble.empty() ? "a large table takes hours: the engine says how far it is"
                                                   : "the engine cannot be asked: " + look.trouble;
      log.warn("TABLE_STILL_BUILDING", {{"table", table}, {"building", building}, {"tookMs", took_ms}, {"what", why}});
    }
    co_await sleep_for(scheduler, is_immediate ? nanoseconds(0) : nanoseconds(kLookAtEngine));
  }
}

std::string lacking(const TableDefinition& wanted, const TableDefinition& there) {
  std::string names;
  for (const IndexDefinition& index : wanted.indexes) {
    const IndexDefinition* same = there.index(index.name);
    if (same != nullptr && *same == index) continue;
    names.append(names.empty() ? "index '" : ", index '").append(index.name).append("'");
  }
  return names.empty() ? "its books" : names;
}

}  // namespace freshet
