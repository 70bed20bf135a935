// Transactions of random actions, and what a plain map says of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/tables/engine/store_model.h"

namespace freshet {

struct RandomTransaction {
  std::vector<WriteInput> actions;
  std::string token;
};

// Up to six actions on distinct items of "Queue" and "Pairs" (store_fixture.h), half of them with a condition.
RandomTransaction random_transaction(Random& random, const std::function<Item()>& task,
                                     const std::function<Item()>& pair);

// The writes of the actions if all conditions hold; empty if one does not.
std::optional<std::vector<ModelWrite>> expected_writes(const StoreModel& model, const std::vector<WriteInput>& actions);

}  // namespace freshet
