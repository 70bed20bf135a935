// The parameters from before expressions (Expected, AttributeUpdates, KeyConditions, QueryFilter, ScanFilter,
// ConditionalOperator, AttributesToGet), written as expressions with placeholders of their own: one engine does both.
// Source: Developer Guide, "Legacy conditional parameters". What is wrong goes to the input's checks.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "wire/dynamodb/input.h"

namespace freshet::dynamodb {

// Whether a request has parameters of that time. Refuses both kinds in one, or placeholders without an expression.
bool has_legacy(const Input& in, std::initializer_list<std::string_view> legacy,
                std::initializer_list<std::string_view> expressions);

// Each adds what it needs to the placeholders and returns the expression; empty if the parameter is not there.
std::string legacy_condition(const Input& in, Placeholders& placeholders);  // Expected.
std::string legacy_update(const Input& in, Placeholders& placeholders);     // AttributeUpdates.
std::string legacy_key_condition(const Input& in, Placeholders& placeholders);
std::string legacy_filter(const Input& in, std::string_view member, Placeholders& placeholders);
// AttributesToGet; `names` gets them if that is not null.
std::string legacy_projection(const Input& in, Placeholders& placeholders, std::vector<std::string>* names = nullptr);

// The store's error of a request that had AttributeUpdates or KeyConditions, in the service's words for these.
Error legacy_update_error(Error error);
Error legacy_query_error(Error error);

}  // namespace freshet::dynamodb
