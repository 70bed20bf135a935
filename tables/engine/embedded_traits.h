// The traits of the embedded store: it has all of them.
#pragma once

#include <limits>

#include "base/limits.h"
#include "tables/traits.h"

namespace freshet {

inline constexpr StoreTraits kEmbeddedTraits{.immediate = true,
                                             .sole_writer = true,
                                             .exact_index = true,
                                             .books = true,
                                             .transactions = true,
                                             .stream = StreamShape::kSingle,
                                             .full_images = true,
                                             .prompt_ttl = true,
                                             .all_settings = true,
                                             .largest_write = std::numeric_limits<size_t>::max(),
                                             .largest_read = std::numeric_limits<size_t>::max(),
                                             .largest_transaction = limits::kMaxTransactionActions};

}  // namespace freshet
