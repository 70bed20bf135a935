#include "tables/value/billed.h"

#include "base/check.h"
#include "tables/value/encoding.h"

namespace freshet {
namespace {

using namespace encoding;

size_t billed_value(std::string_view value);

// The size of the entries of a map or an item.
size_t billed_entries(std::string_view in, size_t each) {
  size_t sum = 0;
  take_varint(in);
  while (!in.empty()) {
    sum += each + take_text(in).size();
    sum += billed_value(take_value(in));
  }
  return sum;
}

size_t billed_list(std::string_view in) {
  size_t sum = kContainerOverhead;
  take_varint(in);
  while (!in.empty()) sum += kElementOverhead + billed_value(take_value(in));
  return sum;
}

size_t billed_number(std::string_view ordered) {
  Decimal number;
  FRESHET_CHECK(Decimal::read_ordered(ordered, number), "an item in memory holds a damaged number");
  return number.billed_size();
}

template <class Size>
size_t billed_set(std::string_view in, const Size& size) {
  size_t sum = 0;
  take_varint(in);
  while (!in.empty()) sum += size(take_text(in));
  return sum;
}

size_t billed_value(std::string_view value) {
  const std::string_view content = content_of(value);
  switch (type_of(value)) {
    case Type::kString:
    case Type::kBinary:
      return content.size();
    case Type::kNumber:
      return billed_number(content);
    case Type::kBool:
    case Type::kNull:
      return 1;
    case Type::kMap:
      return kContainerOverhead + billed_entries(content, kElementOverhead);
    case Type::kList:
      return billed_list(content);
    case Type::kNumberSet:
      return billed_set(content, billed_number);
    case Type::kStringSet:
    case Type::kBinarySet:
      return billed_set(content, [](std::string_view member) { return member.size(); });
  }
  return 0;
}

}  // namespace

size_t billed_size_of_value(std::string_view value) {
  return billed_value(value);
}

size_t billed_size_of_encoded(std::string_view item) {
  return billed_entries(item, 0);
}

}  // namespace freshet
