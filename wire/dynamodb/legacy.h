// The parameters from before expressions (Expected, AttributeUpdates, KeyConditions, QueryFilter, ScanFilter,
// ConditionalOperator, AttributesToGet), translated to expressions with placeholders of their own: one engine evaluates
// both. Source: Developer Guide, "Legacy conditional parameters". Faults go to the input's checks.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "wire/dynamodb/input.h"

namespace freshet::dynamodb {

// True if a request has legacy parameters. Refuses both kinds in one request, or placeholders without an expression.
bool has_legacy(const Input& in, std::initializer_list<std::string_view> legacy,
                std::initializer_list<std::string_view> expressions);

// Each adds its placeholders and returns the expression; empty if the parameter is absent.
std::string legacy_condition(const Input& in, Placeholders& placeholders);  // Expected.
std::string legacy_update(const Input& in, Placeholders& placeholders);     // AttributeUpdates.
std::string legacy_key_condition(const Input& in, Placeholders& placeholders);
std::string legacy_filter(const Input& in, std::string_view member, Placeholders& placeholders);
// AttributesToGet; also written to `names` unless that is null.
std::string legacy_projection(const Input& in, Placeholders& placeholders, std::vector<std::string>* names = nullptr);

// Rewrites the store's error for a request with AttributeUpdates or KeyConditions in the service's words for these.
Error legacy_update_error(Error error);
Error legacy_query_error(Error error);

}  // namespace freshet::dynamodb
