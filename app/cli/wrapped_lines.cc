#include "app/cli/wrapped_lines.h"

#include <algorithm>
#include <utility>

namespace freshet::cli {

WrappedLines::WrappedLines(std::ostream& out, const Screen& screen)
    : out_(out), screen_(screen), below_(out.rdbuf()), flags_(out.flags()) {
  if (!screen_.terminal) return;
  out_.rdbuf(this);
  out_.unsetf(std::ios_base::unitbuf);  // std::cerr would flush every part of a line.
}

WrappedLines::~WrappedLines() {
  if (!screen_.terminal) return;
  sync();
  out_.rdbuf(below_);
  out_.flags(flags_);
}

WrappedLines::int_type WrappedLines::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  write({&one, 1});
  return c;
}

std::streamsize WrappedLines::xsputn(const char* text, std::streamsize size) {
  write({text, static_cast<size_t>(size)});
  return size;
}

void WrappedLines::write(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    line_ += text.substr(0, end);
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
    end_line();
    below_->sputc('\n');
    below_->pubsync();
  }
}

// Further lines begin where the first one does.
void WrappedLines::end_line() {
  const std::string line = std::exchange(line_, {});
  const bool plain = std::none_of(line.begin(), line.end(), [](char c) { return c >= 0 && c < ' '; });
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  if (!plain || columns_of(line) <= screen_.width || indent > screen_.width / 2) {
    below_->sputn(line.data(), static_cast<std::streamsize>(line.size()));
    return;
  }
  std::string out;
  for (const auto& part : wrapped(line, screen_.width - indent, screen_)) {
    out += (out.empty() ? "" : "\n") + line.substr(0, indent) + part;
  }
  if (line.back() == ' ') out += ' ';  // A question ends with a blank.
  below_->sputn(out.data(), static_cast<std::streamsize>(out.size()));
}

int WrappedLines::sync() {
  end_line();
  return below_->pubsync();
}

}  // namespace freshet::cli
