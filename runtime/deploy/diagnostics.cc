#include "runtime/deploy/diagnostics.h"

#include <algorithm>
#include <cctype>

#include "base/plain_text.h"
#include "base/there_are.h"

namespace freshet {
namespace {

// A file with more faults than this is probably not a template.
constexpr size_t kMaxDiagnostics = 500;
constexpr size_t kMaxMessage = 2000;
constexpr size_t kMaxPath = 500;
constexpr size_t kMaxName = 255;  // Guesses are made for names up to this length.
constexpr size_t kMaxGuessWork = 500'000;

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Without regard to case.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t changed = diagonal + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

// For a name of which only the first words were written: " (did you mean 'RATE_LIMIT' or 'RATE_BURST'?)", with the
// first three candidates.
std::string did_you_mean_longer(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kLeastName = 3, kMost = 3;
  if (known.size() > kMaxCandidates || name.size() < kLeastName || name.size() > kMaxName) return "";
  std::string names;
  size_t count = 0;
  for (const std::string& one : known) {
    const bool longer = one.size() > name.size() && (one[name.size()] == '_' || one[name.size()] == '-') &&
                        std::equal(name.begin(), name.end(), one.begin(), same_letter);
    if (longer && ++count <= kMost) names += (names.empty() ? "'" : " or '") + one + "'";
  }
  return names.empty() ? "" : " (did you mean " + names + "?)";
}

// For a name that goes on after a known one, as '--tls-certificate' does after '--tls-cert': null if none is long
// enough to be meant.
const std::string* longest_beginning(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kLeast = 6;
  const std::string* best = nullptr;
  for (const std::string& one : known) {
    if (one.size() < kLeast || one.size() >= name.size() || (best != nullptr && best->size() >= one.size())) continue;
    if (std::equal(one.begin(), one.end(), name.begin(), same_letter)) best = &one;
  }
  return best;
}

std::vector<Diagnostic> by_line(std::vector<Diagnostic> list) {
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  return list;
}

}  // namespace

std::string Diagnostic::to_string() const {
  // One line, whatever names the template uses.
  std::string out = plain_text(file) + ":" + (line == 0 ? "" : std::to_string(line) + ":") + " ";
  std::string place = resource.empty() || property.empty() ? resource + property : resource + "." + property;
  return out + plain_text((place.empty() ? "" : place + ": ") + message);
}

std::string shown(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

Where Where::below(std::string_view name) const {
  return {resource, property.empty() ? shown(name) : property + "." + shown(name)};
}

void Diagnostics::add(std::vector<Diagnostic>& to, int line, const Where& where, std::string message) {
  if (to.size() >= kMaxDiagnostics) return void(dropped_ = true);
  if (message.size() > kMaxMessage) message = shown(message, kMaxMessage);
  for (const Diagnostic& there : to) {
    if (there.line == line && there.message == message && there.property == shown(where.property, kMaxPath)) {
      return;
    }
  }
  to.push_back({file_, line, shown(where.resource), shown(where.property, kMaxPath), std::move(message)});
}

Error Diagnostics::to_error() const {
  std::string text;
  for (const Diagnostic& error : by_line(errors_)) text += (text.empty() ? "" : "\n") + error.to_string();
  if (dropped_) text += "\n" + plain_text(file_) + ": and more";
  return {ErrorCode::kValidation, std::move(text), {}};
}

std::vector<Diagnostic> Diagnostics::sorted_warnings() const {
  return by_line(warnings_);
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  if (std::string begun = did_you_mean_longer(name, known); !begun.empty()) return begun;
  const std::string* best = nullptr;
  size_t work = 0;
  size_t best_distance = std::max<size_t>(1, name.size() / 4) + 1;
  if (known.size() > kMaxCandidates || name.size() > kMaxName) return "";
  for (const std::string& candidate : known) {
    size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= best_distance) continue;
    work += name.size() * candidate.size();
    if (work > kMaxGuessWork) break;
    size_t distance = edit_distance(name.substr(0, 100), candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) best = longest_beginning(name, known);
  return best ? " (did you mean '" + *best + "'?)" : "";
}

std::string nearest_or_all(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kMost = 8;
  if (const std::string nearest = did_you_mean(name, known); !nearest.empty() || known.empty()) return nearest;
  return "; " + there_are(known, kMost);
}

}  // namespace freshet
