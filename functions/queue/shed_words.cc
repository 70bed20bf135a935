#include "functions/queue/shed_words.h"

#include <algorithm>
#include <iterator>

namespace freshet {

namespace {

struct Words {
  std::string_view reason;
  std::string_view shed;
  std::string_view doom;
};
constexpr Words kWords[] = {
    {"deadline", "it had not started by its deadline", "its deadline has passed"},
    {"ttl", "nobody had started it when its time to live (ttl) was over", "its time to live (ttl) is over"},
    {"deadline-margin", "too little time was left to finish it by its deadline (DEADLINE_MARGIN)",
     "too little time is left to finish it by its deadline (DEADLINE_MARGIN)"},
};

const Words* words_of(std::string_view reason) {
  const auto found = std::find_if(std::begin(kWords), std::end(kWords),
                                  [reason](const Words& words) { return words.reason == reason; });
  return found == std::end(kWords) ? nullptr : found;
}

}  // namespace

std::string shed_in_words(std::string_view reason) {
  const Words* words = words_of(reason);
  return std::string(words == nullptr ? reason : words->shed);
}

std::string doom_in_words(std::string_view reason) {
  const Words* words = words_of(reason);
  return std::string(words == nullptr ? reason : words->doom);
}

std::string refusal_in_words(std::string_view reason, std::string_view policy) {
  const std::string by = policy.empty() || policy == reason ? "" : " (" + std::string(policy) + ")";
  if (reason == "max-waiting") return "the queue was full" + by;
  if (reason == "max-waiting-bytes") return "the waiting tasks had too many bytes" + by;
  if (reason == "max-lanes") return "there was no lane left for its group and priority";
  if (reason == "deadline" && policy == "deadline") return "its deadline had passed already";
  if (reason == "deadline" || reason == "late") return "it would not have been done in time" + by;
  return std::string(policy) + (policy.empty() || reason.empty() ? "" : ", ") + std::string(reason);
}

}  // namespace freshet
