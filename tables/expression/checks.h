// The order of a request's checks, worked out once per expression: walks the finished trees.
#pragma once

#include "tables/expression/ast.h"

namespace freshet::expression {

// Fill `checks` and `written`. The trees do not move afterwards.
void add_checks(CompiledCondition& condition);
void add_checks(CompiledUpdate& update);
void add_checks(CompiledProjection& projection);

// Runs the checks against a request's placeholders. `bindings` has all slots filled; null values and names without data
// stand for undefined ones.
Result<void> run_checks(const Compiled& compiled, const Bindings& bindings);

}  // namespace freshet::expression
