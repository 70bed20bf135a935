#include "wire/store/known_keys.h"

#include <utility>

#include "wire/store/answers.h"
#include "wire/store/requests.h"

namespace freshet::remote {

namespace {

constexpr seconds kKnownFor{60};

}  // namespace

// A request in flight. Its end, for whatever reason, wakes the calls that wait for the answer.
class KnownKeys::Question {
 public:
  Question(KnownKeys& keys, const std::string& table) : keys_(keys), table_(table) { keys_.asked_[table_]; }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question() {
    const auto asked = keys_.asked_.extract(table_);
    for (const auto& waiting : asked.mapped()) waiting.set(answer);
  }

  Answer answer;

 private:
  KnownKeys& keys_;
  const std::string table_;
};

Async<Result<KeySchema>> KnownKeys::of(std::string table) {
  for (;;) {
    const BootTime now = caller_.scheduler().clock().boot();
    if (const auto known = known_.find(table); known != known_.end() && now - known->second.at < kKnownFor) {
      co_return known->second.keys;
    }
    const auto asked = asked_.find(table);
    if (asked == asked_.end()) break;
    Promise<Answer> shared(caller_.scheduler());
    asked->second.push_back(shared);
    auto answer = co_await shared.future();
    if (answer) co_return std::move(*answer);
  }
  Question question(*this, table);
  question.answer = co_await ask(std::move(table));
  co_return *question.answer;
}

Async<Result<KeySchema>> KnownKeys::ask(std::string table) {
  auto request = table_request(table);
  auto answer = co_await caller_.call("DescribeTable", std::move(request), Caller::Kind::kRead);
  if (!answer) co_return fail(answer.error());
  auto described = description_of(*answer);
  if (!described) co_return fail(described.error());
  know(described->table.definition);
  co_return std::move(described->table.definition.keys);
}

void KnownKeys::know(const TableDefinition& definition) {
  known_.insert_or_assign(definition.name, Known{definition.keys, caller_.scheduler().clock().boot()});
}

}  // namespace freshet::remote
