// The queries of OwnedTables: corrected by what this process has written, and with pages of a moment ago.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/points.h"
#include "tables/owned/owned_tables.h"

namespace freshet {

std::optional<Page> OwnedTables::known_page(const QueryInput& query) {
  const auto* kept = pages_.find(query, now());
  if (kept == nullptr) return std::nullopt;
  if (FRESHET_PLANTED("fleet-own-writes-not-in-page")) return kept->page;
  size_t masked = 0;
  Page page = recent_.corrected(query, kept->page, kept->asked, masked);
  for (auto& doubt : recent_.take_doubts()) scope_.spawn(look_at_lag(std::move(doubt)));
  if (page.items.size() < query.limit && !page.last_evaluated_key.empty()) return std::nullopt;
  FRESHET_REACHED("a take used the page of another one");
  page.scanned_bytes = page.billed_bytes = 0;
  page.is_old = true;
  return page;
}

// Reads whole items of an index that does not have all attributes, but for those that are remembered. Adds to `gone`
// how many are no longer in this place of the index. What it is given outlives it.
Async<Result<Page>> OwnedTables::complete(const QueryInput& query, Page page, size_t& gone) {
  const TableDefinition* table = recent_.definition(query.table);
  const IndexDefinition* found = table == nullptr ? nullptr : table->index(query.index);
  if (!query.whole_items || !found || found->projection == Projection::kAll) co_return page;
  const KeySchema keys = found->keys;
  std::vector<GetItemInput> reads;
  std::vector<Item> places;  // The table's key of each item.
  for (const ItemRef& item : page.items) {
    places.push_back(key_in(item.decode(), query.table));
    if (recent_.find(query.table, places.back())) continue;
    GetItemInput get;
    get.table = query.table;
    get.key = places.back();
    get.consistent = true;
    reads.push_back(std::move(get));
  }
  std::vector<Item> asked;
  for (const GetItemInput& read : reads) asked.push_back(read.key);
  std::vector<Result<ReadOutput>> answers;
  if (!reads.empty()) answers = co_await read_many(std::move(reads));
  std::vector<ItemRef> items;
  for (size_t i = 0, next = 0; i < places.size(); ++i) {
    const bool was_read = next < asked.size() && asked[next] == places[i];
    if (was_read && !answers[next]) co_return fail(answers[next].error());
    ItemRef now = was_read ? answers[next++]->item : ItemRef();
    if (const auto known = recent_.find(query.table, places[i])) now = *known;  // Perhaps written during the read.
    if (now && same_place(keys, now, page.items[i])) {
      items.push_back(std::move(now));
    } else {
      ++gone;
    }
  }
  page.items = std::move(items);
  co_return page;
}

// Reads further pages if most items of a page turn out to have moved: a caller that wants ten items gets ten.
Async<Result<Page>> OwnedTables::query(QueryInput input) {
  if (input.index.empty() || input.count_only || !input.projection.empty() ||
      FRESHET_PLANTED("fleet-own-writes-forgotten")) {
    auto work = store_.query(std::move(input));
    co_return co_await work;
  }
  constexpr int kMostPages = 4;
  std::vector<std::string> tables{input.table};
  co_await know_tables(std::move(tables));
  recent_.expire(now());
  const uint32_t limit = input.limit;
  const bool keeps_page =
      input.may_be_old.count() > 0 && limit > 0 && input.exclusive_start_key.empty() && recent_.can_correct(input);
  if (keeps_page) {
    if (auto known = known_page(input)) {
      size_t gone = 0;
      auto whole = co_await complete(input, std::move(*known), gone);
      if (!whole || gone == 0) co_return whole;
    }
  }
  Page out;
  for (int pages = 1;; ++pages) {
    QueryInput sent = input;
    const bool is_kept = keeps_page && pages == 1;
    if (is_kept) sent.limit = pages_.wide_limit(input.table, limit);
    const uint64_t generation = pages_.generation(input.table);
    const BootTime asked = now();  // The store may repeat the request for seconds.
    auto page = co_await store_.query(std::move(sent));
    if (!page) co_return page;
    if (is_kept) pages_.keep(input, *page, asked, generation);
    size_t masked = 0;
    if (FRESHET_PLANTED("fleet-tasks-of-others-hidden")) {
      std::erase_if(page->items, [&](const ItemRef& item) {
        return !recent_.find(input.table, key_in(item.decode(), input.table));
      });
    }
    Page right = recent_.corrected(input, std::move(*page), asked, masked);
    for (auto& doubt : recent_.take_doubts()) scope_.spawn(look_at_lag(std::move(doubt)));
    end_lags();
    auto whole = co_await complete(input, std::move(right), masked);
    if (!whole) co_return whole;
    right = std::move(*whole);
    std::move(right.items.begin(), right.items.end(), std::back_inserter(out.items));
    out.count += right.count;
    out.scanned += right.scanned;
    out.scanned_bytes += right.scanned_bytes;
    out.billed_bytes += right.billed_bytes;
    out.last_evaluated_key = std::move(right.last_evaluated_key);
    const bool is_short = limit != 0 && out.items.size() < limit && masked > 0;
    if (!is_short || out.last_evaluated_key.empty() || pages == kMostPages) co_return out;
    input.limit = limit - static_cast<uint32_t>(out.items.size());
    input.exclusive_start_key = out.last_evaluated_key;
  }
}

}  // namespace freshet
