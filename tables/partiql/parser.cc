#include "tables/partiql/parser.h"

#include <algorithm>

#include "tables/expression/paths.h"
#include "tables/expression/text.h"

namespace freshet::partiql {

using expression::concat;
using expression::is_keyword;

namespace {

constexpr std::string_view kMalformed = "Statement wasn't well formed, can't be processed: ";

// Words of the grammar. As names they need quotes.
bool is_reserved(std::string_view word) {
  static constexpr std::string_view kWords[] = {
      "ALL",    "AND",   "ANY",    "AS",      "ASC",      "AT",     "BETWEEN", "BY",     "CASE",   "CAST",
      "CREATE", "CROSS", "DELETE", "DESC",    "DISTINCT", "DROP",   "ELSE",    "END",    "ESCAPE", "EXCEPT",
      "EXISTS", "FALSE", "FROM",   "FULL",    "GROUP",    "HAVING", "IN",      "INNER",  "INSERT", "INTERSECT",
      "INTO",   "IS",    "JOIN",   "LEFT",    "LIKE",     "LIMIT",  "MISSING", "NOT",    "NULL",   "OFFSET",
      "ON",     "OR",    "ORDER",  "OUTER",   "PIVOT",    "REMOVE", "RIGHT",   "SELECT", "SET",    "TABLE",
      "THEN",   "TRUE",  "UNION",  "UNPIVOT", "UPDATE",   "VALUE",  "VALUES",  "WHEN",   "WHERE",  "RETURNING"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view known) { return is_keyword(word, known) && word.size() == known.size(); });
}

}  // namespace

std::string column_name(const expression::Path& path) {
  size_t last = path.size();
  while (last > 1 && path[last - 1].kind == expression::PathElement::Kind::kIndex) --last;
  std::string name = path[last - 1].name;
  for (size_t i = last; i < path.size(); ++i) name += concat("[", std::to_string(path[i].number), "]");
  return name;
}

Result<Statement> parse_statement(std::string_view text, std::vector<Value> parameters) {
  return Parser(text, std::move(parameters)).run();
}

Parser::Parser(std::string_view text, std::vector<Value> parameters)
    : text_(text), tokens_(lex(text)), parameters_(std::move(parameters)) {}

Result<Statement> Parser::run() {
  if (tokens_.size() > 1 && tokens_[tokens_.size() - 2].kind == TokenKind::kUnknown) {
    const Span bad = tokens_[tokens_.size() - 2].span;
    const bool unended = std::string_view("'\"/").find(text_[bad.offset]) != std::string_view::npos;
    return invalid(concat(kMalformed, unended ? "Text or comment without an end" : "Unexpected character", at(bad)));
  }
  parse_any();
  accept_symbol(";");
  if (!stopped_ && !at_end()) malformed("Unexpected token after expression");
  if (stopped_) return invalid(std::move(*stopped_));
  if (noted_) return invalid(std::move(*noted_));
  if (next_parameter_ != parameters_.size()) {
    return invalid("Number of parameters in request and statement don't match.");
  }
  return std::move(statement_);
}

// --- Tokens ---

const Token& Parser::peek(size_t ahead) const {
  return stopped_ ? tokens_.back() : tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

Token Parser::take() {
  const Token token = peek();
  if (!stopped_ && position_ + 1 < tokens_.size()) ++position_;
  return token;
}

std::string_view Parser::text_of(const Token& token) const {
  return text_.substr(token.span.offset, token.span.size);
}

bool Parser::at_symbol(std::string_view symbol, size_t ahead) const {
  return peek(ahead).kind == TokenKind::kSymbol && text_of(peek(ahead)) == symbol;
}

bool Parser::at_keyword(std::string_view upper, size_t ahead) const {
  const std::string_view word = text_of(peek(ahead));
  return peek(ahead).kind == TokenKind::kWord && word.size() == upper.size() && is_keyword(word, upper);
}

bool Parser::at_reserved(size_t ahead) const {
  return peek(ahead).kind == TokenKind::kWord && is_reserved(text_of(peek(ahead)));
}

bool Parser::at_call() const {
  return peek().kind == TokenKind::kWord && at_symbol("(", 1) && (!at_reserved() || at_keyword("EXISTS"));
}

bool Parser::accept_symbol(std::string_view symbol) {
  if (!at_symbol(symbol)) return false;
  take();
  return true;
}

bool Parser::accept_keyword(std::string_view upper) {
  if (!at_keyword(upper)) return false;
  take();
  return true;
}

void Parser::expect_symbol(std::string_view symbol, std::string_view what) {
  if (!accept_symbol(symbol)) malformed(what);
}

std::optional<std::string> Parser::accept_name() {
  if (peek().kind == TokenKind::kQuoted) {
    std::string name = unquoted(text_of(take()));
    if (name.empty()) note("Path component cannot be an empty string");
    return name;
  }
  if (peek().kind != TokenKind::kWord || at_reserved()) return std::nullopt;
  return std::string(text_of(take()));
}

// --- Errors ---

std::string Parser::at(Span span) const {
  return concat(" at ", place_of(text_, span));
}

void Parser::stop(std::string message) {
  if (!stopped_) stopped_ = std::move(message);
}

void Parser::malformed(std::string_view what) {
  if (!stopped_) stop(concat(kMalformed, what, at(peek().span)));
}

void Parser::unexpected_term() {
  static constexpr std::string_view kOperators[] = {"AND", "OR", "IS", "IN", "LIKE", "BETWEEN"};
  for (const std::string_view word : kOperators) {
    if (at_keyword(word)) return malformed("Unexpected operator");
  }
  malformed(at_reserved() ? "Unexpected keyword" : "Unexpected term");
}

bool Parser::enter() {
  if (++depth_ > kMaxDepth) malformed(concat("Nested deeper than ", std::to_string(kMaxDepth), " levels"));
  return !stopped_;
}

// --- Statements ---

void Parser::parse_any() {
  if (at_keyword("SELECT")) return parse_select();
  if (at_keyword("INSERT")) return parse_insert();
  if (at_keyword("UPDATE")) return parse_update();
  if (at_keyword("FROM")) return parse_update_from();
  if (at_keyword("DELETE")) return parse_delete();
  if (at_keyword("EXISTS")) return parse_exists();
  malformed("Expected data manipulation");
}

void Parser::parse_select() {
  take();
  parse_projection();
  if (!accept_keyword("FROM")) malformed("Expected FROM after the SELECT list");
  parse_table("Unexpected term");
  refuse_alias();
  parse_where();
  parse_order();
  refuse_clauses();
}

void Parser::parse_projection() {
  if (accept_symbol("*")) {
    if (at_symbol(",")) stop("Other attributes should not be present in the projection when '*' is used.");
    return;
  }
  std::vector<std::string> columns;
  do {
    if (at_call() || at_literal()) return stop(concat("Unexpected path component", at(peek().span)));
    statement_.projection.push_back(parse_path());
    refuse_alias();
    if (!stopped_) columns.push_back(column_name(statement_.projection.back()));
  } while (accept_symbol(","));
  if (stopped_) return;
  std::sort(columns.begin(), columns.end());
  const auto twice = std::adjacent_find(columns.begin(), columns.end());
  if (twice != columns.end()) note(concat("Duplicate identifiers in select clause: ", *twice));
  std::vector<const expression::Path*> paths;
  for (const auto& path : statement_.projection) paths.push_back(&path);
  if (auto message = expression::overlap_message(paths, {}); !message.empty()) note(std::move(message));
}

void Parser::parse_table(std::string_view expected) {
  size_t components = 0;
  do {
    auto name = accept_name();
    if (!name) return malformed(components == 0 ? expected : "Invalid path dot component");
    (components == 0 ? statement_.table : statement_.index) = std::move(*name);
    ++components;
  } while (accept_symbol("."));
  if (components > 2) note("A path may contain at most 2 components in the FROM clause");
}

void Parser::refuse_alias() {
  const bool name = peek().kind == TokenKind::kQuoted || (peek().kind == TokenKind::kWord && !at_reserved());
  if (name || at_keyword("AS") || at_keyword("AT")) stop("Aliasing is not supported");
}

void Parser::refuse_index() {
  if (!statement_.index.empty()) note("This operation is not supported on an index");
}

void Parser::parse_where() {
  if (accept_keyword("WHERE")) statement_.where = parse_condition();
}

void Parser::parse_order() {
  if (!at_keyword("ORDER") || !at_keyword("BY", 1)) return;
  take();
  take();
  do {
    const Path path = parse_path();
    if (stopped_) return;
    OrderTerm& term = statement_.order.emplace_back();
    term.attribute = column_name(path);
    if (path.size() > 1)
      note(concat("Attribute ", term.attribute, " in ORDER BY clause must be part of the primary key"));
    term.descending = accept_keyword("DESC");
    if (!term.descending) accept_keyword("ASC");
  } while (accept_symbol(","));
}

void Parser::refuse_clauses() {
  for (const std::string_view clause : {"LIMIT", "OFFSET", "GROUP", "HAVING"}) {
    if (!at_keyword(clause)) continue;
    take();
    return stop(concat("Unsupported clause: ", clause, at(peek().span)));
  }
}

void Parser::parse_insert() {
  take();
  statement_.kind = Statement::Kind::kInsert;
  if (!accept_keyword("INTO")) return malformed("Expected INTO after INSERT");
  parse_table("Expected identifier for simple path");
  if (!statement_.index.empty()) note("FROM clause may only contain a single table name");
  if (!accept_keyword("VALUE"))
    return malformed(at_reserved() ? "Unexpected keyword" : "Unexpected token after expression");
  if (!accept_symbol("{")) return malformed("Expected a tuple in VALUE");
  std::vector<Map::Entry> entries;
  if (!accept_symbol("}")) {
    do {
      if (peek().kind != TokenKind::kString) return malformed("Expected an attribute name between single quotes");
      std::string name = unquoted(text_of(take()));
      expect_symbol(":", "Expected a colon after the attribute name");
      Value value = peek().kind == TokenKind::kParameter ? take_parameter() : parse_literal();
      entries.emplace_back(std::move(name), std::move(value));
    } while (accept_symbol(","));
    expect_symbol("}", "Expected a comma or the end of the tuple");
  }
  statement_.item = Map::from_entries(std::move(entries));
  if (at_keyword("RETURNING")) stop("RETURNING is not supported in INSERT");
}

void Parser::parse_update() {
  take();
  statement_.kind = Statement::Kind::kUpdate;
  parse_table("Expected identifier for simple path");
  refuse_index();
  refuse_alias();
  if (!parse_changes()) return malformed("Expected data manipulation");
  parse_where();
  parse_returning();
}

void Parser::parse_update_from() {
  take();
  statement_.kind = Statement::Kind::kUpdate;
  parse_table("Unexpected term");
  refuse_index();
  refuse_alias();
  parse_where();
  if (!parse_changes()) return malformed("Expected data manipulation");
  parse_returning();
}

void Parser::parse_delete() {
  take();
  statement_.kind = Statement::Kind::kDelete;
  if (!accept_keyword("FROM")) return malformed("Expected FROM after DELETE");
  parse_table("Expected identifier for simple path");
  refuse_index();
  refuse_alias();
  parse_where();
  parse_returning();
  const auto& returning = statement_.returning;
  if (!returning || *returning == ReturnValues::kAllOld) return;
  const std::string_view clause = *returning == ReturnValues::kAllNew       ? "ALL NEW"
                                  : *returning == ReturnValues::kUpdatedOld ? "MODIFIED OLD"
                                                                            : "MODIFIED NEW";
  note(concat("Invalid returning clause: RETURNING ", clause,
              " *. Only RETURNING ALL OLD * is allowed in DELETE statements."));
}

void Parser::parse_returning() {
  if (!accept_keyword("RETURNING")) return;
  const bool all = accept_keyword("ALL");
  if (!all && !accept_keyword("MODIFIED")) return malformed("Expected ALL or MODIFIED in the RETURNING clause");
  const bool old = accept_keyword("OLD");
  if (!old && !accept_keyword("NEW")) return malformed("Expected OLD or NEW in the RETURNING clause");
  expect_symbol("*", "Expected * in the RETURNING clause");
  statement_.returning = all ? (old ? ReturnValues::kAllOld : ReturnValues::kAllNew)
                             : (old ? ReturnValues::kUpdatedOld : ReturnValues::kUpdatedNew);
}

void Parser::parse_exists() {
  take();
  expect_symbol("(", "Expected a parenthesis after EXISTS");
  if (!at_keyword("SELECT")) return malformed("Expected SELECT in EXISTS");
  parse_select();
  statement_.kind = Statement::Kind::kExists;
  expect_symbol(")", "Expected a parenthesis after the SELECT of EXISTS");
}

}  // namespace freshet::partiql
