// Paths and literals.
#include <algorithm>
#include <limits>

#include "base/limits.h"
#include "tables/expression/text.h"
#include "tables/partiql/parser.h"

namespace freshet::partiql {

using expression::concat;
using expression::PathElement;

namespace {

// True if the service's parser can represent the number: its exponent, and the resulting scale, have 32 bits.
bool is_convertible(std::string_view number) {
  const size_t e = number.find_first_of("eE");
  if (e == std::string_view::npos) return true;
  std::string_view exponent = number.substr(e + 1);
  const bool negative = exponent.starts_with('-');
  if (negative || exponent.starts_with('+')) exponent.remove_prefix(1);
  int64_t value = 0;
  for (const char c : exponent) value = std::min<int64_t>(value * 10 + (c - '0'), int64_t{1} << 40);
  if (negative) value = -value;
  const size_t point = number.find('.');
  const int64_t fraction = point < e ? static_cast<int64_t>(e - point - 1) : 0;
  const auto fits = [](int64_t v) {
    return v >= std::numeric_limits<int32_t>::min() && v <= std::numeric_limits<int32_t>::max();
  };
  return fits(value) && fits(fraction - value);
}

}  // namespace

// --- Paths ---

expression::Path Parser::parse_path() {
  Path path;
  auto name = accept_name();
  if (!name) {
    unexpected_term();
    return path;
  }
  path.push_back({PathElement::Kind::kName, 0, std::move(*name)});
  while (!stopped_) {
    if (accept_symbol(".")) {
      name = accept_name();
      if (!name) malformed("Invalid path dot component");
      path.push_back({PathElement::Kind::kName, 0, std::move(name).value_or("")});
    } else if (accept_symbol("[")) {
      parse_index(path);
    } else {
      break;
    }
  }
  if (path.size() > limits::kMaxNesting) {
    note(concat("The document path has too many nesting levels; nesting levels: ", std::to_string(path.size())));
  }
  return path;
}

void Parser::parse_index(Path& path) {
  bool negative = false;
  while (at_symbol("-") || at_symbol("+")) negative = (text_of(take()) == "-") != negative;
  const Token token = take();
  const std::string_view digits = text_of(token);
  if (token.kind == TokenKind::kString) {
    path.push_back({PathElement::Kind::kName, 0, unquoted(digits)});
    if (path.back().name.empty()) note("Path component cannot be an empty string");
  } else if (token.kind == TokenKind::kNumber && digits.find_first_not_of("0123456789") == std::string_view::npos) {
    uint64_t index = 0;
    for (const char c : digits) index = std::min<uint64_t>(index * 10 + static_cast<uint64_t>(c - '0'), UINT32_MAX);
    if (index > std::numeric_limits<int32_t>::max() || (negative && index != 0)) {
      note_at(token.span,
              concat("List index is not within the allowable range; index: [", negative ? "-" : "", digits, "]"));
    }
    path.push_back({PathElement::Kind::kIndex, static_cast<uint32_t>(index), {}});
  } else {
    malformed("Expected a list index or a name between single quotes");
  }
  expect_symbol("]", "Expected a closing bracket");
}

// --- Literals ---

bool Parser::at_literal() const {
  switch (peek().kind) {
    case TokenKind::kString:
    case TokenKind::kNumber:
    case TokenKind::kParameter:
      return true;
    case TokenKind::kWord:
      return at_keyword("TRUE") || at_keyword("FALSE") || at_keyword("NULL");
    case TokenKind::kSymbol:
      return at_symbol("[") || at_symbol("{") || at_symbol("<<") || at_symbol("-") || at_symbol("+");
    default:
      return false;
  }
}

expression::Operand Parser::slot_operand(Value value) {
  Operand operand;
  operand.kind = Operand::Kind::kValue;
  operand.slot = static_cast<uint32_t>(statement_.values.size());
  statement_.values.push_back(std::move(value));
  return operand;
}

Value Parser::take_parameter() {
  take();
  const size_t index = next_parameter_++;
  // Too few: found out at the end.
  return index < parameters_.size() ? std::move(parameters_[index]) : Value();
}

expression::Operand Parser::parse_value_operand() {
  return slot_operand(peek().kind == TokenKind::kParameter ? take_parameter() : parse_literal());
}

Value Parser::parse_literal() {
  const Token& token = peek();
  if (token.kind == TokenKind::kString) return Value(unquoted(text_of(take())));
  if (token.kind == TokenKind::kNumber || at_symbol("-") || at_symbol("+")) return parse_number();
  if (accept_keyword("TRUE")) return Value::boolean(true);
  if (accept_keyword("FALSE")) return Value::boolean(false);
  if (accept_keyword("NULL")) return Value(Null{});
  if (at_symbol("[")) return parse_list();
  if (at_symbol("{")) return parse_map();
  if (at_symbol("<<")) return parse_bag();
  const bool call = at_call();
  if (token.kind == TokenKind::kParameter || call || at_keyword("MISSING")) {
    const std::string_view what = call ? text_of(token) : at_keyword("MISSING") ? "MISSING" : "Parameter";
    stop(concat("Unsupported data type: ", what, " under key ", literal_path_, at(token.span)));
  } else {
    unexpected_term();
  }
  return Value();
}

Value Parser::parse_number() {
  const Token first = peek();
  bool negative = false;
  while (at_symbol("-") || at_symbol("+")) negative = (text_of(take()) == "-") != negative;
  if (peek().kind != TokenKind::kNumber) {
    unexpected_term();
    return Value();
  }
  const std::string_view digits = text_of(take());
  if (!is_convertible(digits)) {
    stop(concat("Statement wasn't well formed, can't be processed: ", at(first.span).substr(1)));
    return Value();
  }
  auto number = Decimal::parse(concat(negative ? "-" : "", digits));
  if (number) return Value(*number);
  note(concat(number.error().message, " under ", literal_path_));
  return Value();
}

bool Parser::enter_literal() {
  ++literal_depth_;
  return !stopped_;
}

// An element or member of a list or map; `literal_path_` leads to it.
Value Parser::parse_nested() {
  if (literal_depth_ > kMaxLiteralNesting) {
    stop(concat("Nesting Levels have exceeded supported limits under ", literal_path_));
    return Value();
  }
  return parse_literal();
}

Value Parser::parse_list() {
  take();
  List list;
  const size_t length = literal_path_.size();
  if (enter_literal() && !accept_symbol("]")) {
    do {
      literal_path_ += concat("[", std::to_string(list.elements.size()), "]");
      list.elements.push_back(parse_nested());
      literal_path_.resize(length);
    } while (accept_symbol(","));
    expect_symbol("]", "Expected a comma or the end of the list");
  }
  --literal_depth_;
  return Value(std::move(list));
}

Value Parser::parse_map() {
  take();
  std::vector<Map::Entry> entries;
  const size_t length = literal_path_.size();
  if (enter_literal() && !accept_symbol("}")) {
    do {
      if (peek().kind != TokenKind::kString) {
        malformed("Expected a name between single quotes");
        break;
      }
      std::string name = unquoted(text_of(take()));
      expect_symbol(":", "Expected a colon after the name");
      literal_path_ += concat(".", name);
      Value value = parse_nested();
      literal_path_.resize(length);
      entries.emplace_back(std::move(name), std::move(value));
    } while (accept_symbol(","));
    expect_symbol("}", "Expected a comma or the end of the map");
  }
  --literal_depth_;
  return Value(Map::from_entries(std::move(entries)));
}

Value Parser::parse_bag() {
  take();
  std::vector<std::string> strings;
  std::vector<Decimal> numbers;
  std::vector<std::string> spelled;
  bool other = false;
  if (accept_symbol(">>")) {
    note("Empty bags are not supported");
    return Value();
  }
  if (enter_literal()) {
    do {
      const size_t start = peek().span.offset;
      Value member = parse_nested();
      const size_t end = position_ > 0 ? tokens_[position_ - 1].span.offset + tokens_[position_ - 1].span.size : start;
      if (auto* text = member.get_if<std::string>()) {
        strings.push_back(std::move(*text));
      } else if (const auto* number = member.get_if<Decimal>()) {
        numbers.push_back(*number);
        spelled.emplace_back(text_.substr(start, end - start));
      } else {
        other = true;
      }
    } while (accept_symbol(","));
    expect_symbol(">>", "Expected a comma or the end of the set");
  }
  --literal_depth_;
  if (other || (!strings.empty() && !numbers.empty())) {
    note("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags");
    return Value();
  }
  return strings.empty() ? number_set(numbers, spelled) : string_set(strings);
}

namespace {

template <class T>
bool make_unique(std::vector<T>& members) {
  std::sort(members.begin(), members.end());
  return std::adjacent_find(members.begin(), members.end()) == members.end();
}

std::string listed(const std::vector<std::string>& members) {
  std::string out;
  for (const auto& member : members) out += concat(out.empty() ? "" : ", ", member);
  return concat("One or more parameter values were invalid: Input collection [", out, "] contains duplicates");
}

}  // namespace

Value Parser::string_set(const std::vector<std::string>& members) {
  StringSet set{members};
  if (!make_unique(set.members)) note(concat(listed(members), "."));
  return Value(std::move(set));
}

Value Parser::number_set(const std::vector<Decimal>& members, const std::vector<std::string>& spelled) {
  NumberSet set{members};
  if (!make_unique(set.members)) note(concat(listed(spelled), "! under ", literal_path_));
  return Value(std::move(set));
}

}  // namespace freshet::partiql
