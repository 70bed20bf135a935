// The house rules of docs/CONTRIBUTING.md as functions over text, so that they can be tested on samples.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace freshet::house {

// One sentence each: file, line, what is wrong.
using Complaints = std::vector<std::string>;

// The source with comments and the contents of literals blanked out, line breaks kept.
std::string code_only(std::string_view source);

struct Function {
  int first_line = 0;  // The line of its signature, from 1.
  int last_line = 0;   // The line of its closing brace.
  int lines = 0;       // From one to the other; rows of nothing but string literals are data and do not count.
};
// Functions with a body, by a look at braces: lambdas belong to the function around them.
std::vector<Function> functions(std::string_view source);

// Includes only to the left: base < tables < streams < runtime < functions, wire < app; tests/ and app/ are included
// by app, tests and bench alone. Heavy library headers stay out of headers (app/'s own
// excepted).
Complaints check_includes(std::string_view path, std::string_view source);
// The page that wires a daemon names no feature: it includes none of their headers, has no word of theirs, and fewer
// than 300 lines. Modules (app/daemon/modules/) bring features; they do not include each other.
Complaints check_wiring(std::string_view path, std::string_view source);
Complaints check_module(std::string_view path, std::string_view source);
// A part of the queue's core (functions/queue/core/) decides and does nothing else: it names no store, clock, coroutine
// or log, and includes no other part.
Complaints check_core_part(std::string_view path, std::string_view source);
Complaints check_sizes(std::string_view path, std::string_view source);
// The classes that a file defines for others, with their namespaces: not those in unnamed namespaces or within others.
// Two files must not define one name: the linker would keep only one of their functions, for both.
std::vector<std::string> classes(std::string_view source);
// Loose ends and paths of somebody's machine, in any text file.
Complaints check_words(std::string_view path, std::string_view text);

}  // namespace freshet::house
