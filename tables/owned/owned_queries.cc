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

std::optional<ItemRef> OwnedTables::remembered(const std::string& table, const Item& key) const {
  if (recent_.cause_of_unsure(table, key)) return std::nullopt;
  return recent_.find(table, key);
}

// The current items with these keys, null for one that is gone: those that are remembered, and the others by a read.
Async<Result<std::vector<ItemRef>>> OwnedTables::current_items(std::string table, std::vector<Item> keys) {
  std::vector<ItemRef> items(keys.size());
  std::vector<size_t> asked;
  std::vector<GetItemInput> reads;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (const auto known = remembered(table, keys[i])) {
      items[i] = *known;
      continue;
    }
    GetItemInput get;
    get.table = table;
    get.key = keys[i];
    get.consistent = true;
    asked.push_back(i);
    reads.push_back(std::move(get));
  }
  if (reads.empty()) co_return items;
  const auto answers = co_await read_many(std::move(reads));
  for (size_t n = 0; n < asked.size(); ++n) {
    if (!answers[n]) co_return fail(answers[n].error());
    items[asked[n]] = answers[n]->item;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (const auto known = remembered(table, keys[i])) items[i] = *known;  // Perhaps written during the read.
  }
  co_return items;
}

// The whole items of a page, if the query asks for them and its index does not have them. Adds to `gone` the number of
// those that it leaves out, because they are no longer in this place of the index. A page with much more than a
// megabyte, or of which only the first items can be read, is cut there. `query` and `gone` outlive the work.
Async<Result<Page>> OwnedTables::complete(const QueryInput& query, Page page, size_t& gone) {
  constexpr size_t kFirstPortion = 16;
  constexpr size_t kLargestPortion = 100;
  constexpr size_t kMostBytes = 1u << 20;
  if (!query.whole_items || page.items.empty()) co_return page;
  const TableDefinition* table = recent_.definition(query.table);
  const IndexDefinition* found = table == nullptr ? nullptr : table->index(query.index);
  if (!found) co_return fail(ErrorCode::kUnavailable, "index '" + query.index + "' cannot be looked at: try again");
  if (found->projection == Projection::kAll) co_return page;
  const KeySchema index = found->keys;
  std::vector<ItemRef> items;
  size_t bytes = 0;
  size_t done = 0;
  while (done < page.items.size() && bytes < kMostBytes) {
    const size_t fit = done == 0 ? kFirstPortion : (kMostBytes - bytes) * done / std::max<size_t>(bytes, 1) + 1;
    const size_t end = done + std::min({fit, kLargestPortion, page.items.size() - done});
    std::vector<Item> keys;
    for (size_t i = done; i < end; ++i) keys.push_back(key_in(page.items[i].decode(), query.table));
    std::vector<Item> asked = keys;
    std::string name = query.table;
    const uint64_t call = recent_.begin_call();
    auto current = co_await current_items(std::move(name), std::move(asked));
    if (!current && done == 0) co_return fail(std::move(current.error()));
    if (!current) break;
    for (size_t i = done; i < end; ++i) {
      ItemRef& now = (*current)[i - done];
      if (now) bytes += now.encoded().size();
      if (now && same_place(index, now, page.items[i])) {
        items.push_back(std::move(now));
        continue;
      }
      ++gone;
      const Item& key = keys[i - done];
      if (!recent_.find(query.table, key)) recent_.refused(query.table, key, std::move(now), call, this->now());
    }
    done = end;
  }
  if (done < page.items.size()) page.last_evaluated_key = place_in(index, page.items[done - 1], query.table);
  page.items = std::move(items);
  page.count = page.items.size();
  co_return page;
}

// The start key of a page that goes on behind the item.
Item OwnedTables::place_in(const KeySchema& index, const ItemRef& item, const std::string& table) const {
  Item place = key_in(item.decode(), table);
  for (const KeyAttribute* attribute : index.attributes()) {
    if (const auto value = item.find(attribute->name)) place.set(attribute->name, value->decode());
  }
  return place;
}

// Reads further pages if items of a page turn out to have moved: a caller that wants ten items gets ten.
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
