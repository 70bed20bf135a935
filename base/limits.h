// Every limit of Freshet in one place, with the relations between them checked at compile time.
// The service's limits: Amazon DynamoDB Developer Guide, "Service, account, and table quotas".
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::limits {

inline constexpr size_t kMaxRequestBytes = 16u << 20;
inline constexpr size_t kMaxItemBytes = 400u << 10;
inline constexpr size_t kMaxPartitionKeyBytes = 2048;
inline constexpr size_t kMaxSortKeyBytes = 1024;
inline constexpr size_t kMaxNesting = 32;
inline constexpr size_t kMaxAttributeNameBytes = 65'535;
inline constexpr size_t kMaxExpressionBytes = 4096;
inline constexpr size_t kMaxExpressionOperators = 300;
inline constexpr size_t kMaxPageBytes = 1u << 20;  // The most that one query or scan reads.
// The most filter and projection work of one page, so that no page holds up the loop: operands of the filter and paths
// of the projection, counted for each item and each 256 bytes of it.
inline constexpr size_t kMaxPageWork = 200'000;
inline constexpr size_t kMaxTransactionActions = 100;
inline constexpr size_t kMaxTransactionBytes = 4u << 20;
inline constexpr size_t kMaxBatchGets = 100;
inline constexpr size_t kMaxBatchWrites = 25;
inline constexpr size_t kMaxTableNameBytes = 255;
inline constexpr size_t kMinTableNameBytes = 3;
inline constexpr size_t kMaxGlobalIndexes = 20;
inline constexpr size_t kMaxKeyPartAttributes = 4;  // In the partition key of a global index, and in its sort key.
inline constexpr size_t kMaxLocalIndexes = 5;
inline constexpr int kMaxDigits = 38;
inline constexpr size_t kMaxAsyncEventBytes = 256u << 10;
inline constexpr size_t kMaxInvokePayloadBytes = 6u << 20;
inline constexpr size_t kMaxMessageBytes = 256u << 10;  // The longest message of a topic.

static_assert(kMaxItemBytes < kMaxPageBytes);
static_assert(kMaxPageBytes < kMaxRequestBytes);

}  // namespace freshet::limits
