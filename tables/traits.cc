#include "tables/traits.h"

#include "base/check.h"

namespace freshet {

bool StoreTraits::has(Trait trait) const {
  switch (trait) {
    case Trait::kImmediate:
      return immediate;
    case Trait::kSoleWriter:
      return sole_writer;
    case Trait::kExactIndex:
      return exact_index;
    case Trait::kBooks:
      return books;
    case Trait::kTransactions:
      return transactions;
    case Trait::kStream:
      return stream != StreamShape::kNone;
    case Trait::kSingleStream:
      return stream == StreamShape::kSingle;
    case Trait::kFullImages:
      return full_images;
    case Trait::kPromptTtl:
      return prompt_ttl;
    case Trait::kAllSettings:
      return all_settings;
  }
  FRESHET_CHECK(false, "a Trait outside the enumeration");
}

std::string_view trait_name(Trait trait) {
  switch (trait) {
    case Trait::kImmediate:
      return "immediate answers";
    case Trait::kSoleWriter:
      return "one writer";
    case Trait::kExactIndex:
      return "exact indexes";
    case Trait::kBooks:
      return "books";
    case Trait::kTransactions:
      return "transactions";
    case Trait::kStream:
      return "change streams";
    case Trait::kSingleStream:
      return "a change stream in one shard";
    case Trait::kFullImages:
      return "full images in its streams";
    case Trait::kPromptTtl:
      return "prompt TTL";
    case Trait::kAllSettings:
      return "tags and point-in-time recovery";
  }
  FRESHET_CHECK(false, "a Trait outside the enumeration");
}

Result<void> require_traits(const StoreTraits& traits, std::string_view who, std::initializer_list<Trait> needs) {
  std::string lacks;
  for (const Trait need : needs) {
    if (traits.has(need)) continue;
    lacks.append(lacks.empty() ? "" : ", ").append(trait_name(need));
  }
  if (lacks.empty()) return {};
  return invalid(std::string(who) + " cannot work on this store, which lacks what it needs: " + lacks);
}

}  // namespace freshet
