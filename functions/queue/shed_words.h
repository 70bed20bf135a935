// Says in a sentence why a task was shed or refused, for people. Programs use the reason itself. Pure.
#pragma once

#include <string>
#include <string_view>

namespace freshet {

// The reason of a shed ("deadline") in words: "it had not started by its deadline". An unknown reason is returned as it
// is.
std::string shed_in_words(std::string_view reason);

// The reason why a waiting task will be shed: "its deadline has passed".
std::string doom_in_words(std::string_view reason);

// Why a creation was refused: "the queue was full (MAX_WAITING=2)". `policy`: ShedLine::policy.
std::string refusal_in_words(std::string_view reason, std::string_view policy);

}  // namespace freshet
