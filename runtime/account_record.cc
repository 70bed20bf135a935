#include "runtime/account_record.h"

#include <algorithm>
#include <optional>

#include "streams/system_table.h"
#include "streams/topic_service.h"

namespace freshet {
namespace {

constexpr std::string_view kKind = "account";
constexpr std::string_view kId = "current";

Async<Result<std::optional<Account>>> account_of(Tables& tables) {
  GetItemInput get = get_system_item(kKind, kId);
  auto record = co_await tables.get_item(std::move(get));
  if (!record) co_return fail(std::move(record.error()));
  if (*record) {
    const Item item = record->decode();
    co_return Account{std::string(item.string_or("region")), std::string(item.string_or("account"))};
  }
  auto subscriptions = co_await load_system_items(tables, std::string(kSubscriptionKind));
  if (!subscriptions) co_return fail(std::move(subscriptions.error()));
  for (const ItemRef& item : *subscriptions) {
    if (const auto arn = parse_arn(item.decode().string_or("id"))) co_return Account{arn->region, arn->account};
  }
  co_return std::nullopt;
}

std::string named(const Account& account) {
  return "account " + account.id + " in " + account.region;
}

}  // namespace

Async<Result<void>> keep_account(Tables& tables, Account account, bool in_use) {
  auto kept = co_await account_of(tables);
  if (!kept) co_return fail(std::move(kept.error()));
  const bool same = *kept && (*kept)->id == account.id && (*kept)->region == account.region;
  if (*kept && !same && in_use) {
    co_return invalid("this data has topics and functions of " + named(**kept) + ", and the daemon was started for " +
                      named(account) + ": their ARNs are kept in it. Start with --account " + (*kept)->id +
                      " --region " + (*kept)->region + ", or with other data (--data)");
  }
  Item item = system_item(kKind, kId);
  item.set("account", account.id);
  item.set("region", account.region);
  PutItemInput put = put_system_item(std::move(item));
  put.condition = "attribute_not_exists(account) OR account <> :a OR #r <> :r";
  put.placeholders.names.emplace_back("#r", "region");
  put.placeholders.values.set(":a", account.id);
  put.placeholders.values.set(":r", account.region);
  auto written = co_await tables.put_item(std::move(put));
  // The record exists; or the disk is full, and a later start writes it.
  const auto harmless = {ErrorCode::kConditionalCheckFailed, ErrorCode::kThroughputExceeded};
  if (!written && std::find(harmless.begin(), harmless.end(), written.error().code) == harmless.end()) {
    co_return fail(std::move(written.error()));
  }
  co_return Result<void>();
}

}  // namespace freshet
