// Writes responses in XML, front to back. All text is escaped; characters that XML cannot hold become U+FFFD. No state
// beside the text.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace freshet::sns {

// `text` should be UTF-8; invalid parts become U+FFFD.
void append_xml_text(std::string& out, std::string_view text);

class XmlWriter {
 public:
  // Names of elements are ours: they are written unchanged.
  void open(std::string_view name, std::string_view xml_namespace = {});
  void close(std::string_view name);
  void element(std::string_view name, std::string_view text);
  // <entry><key>NAME</key><value>TEXT</value></entry>
  void entry(std::string_view name, std::string_view text);

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// The service's error document; below status 500 it blames the sender.
std::string error_document(int status, std::string_view code, std::string_view message, std::string_view request_id);

inline constexpr std::string_view kNamespace = "http://sns.amazonaws.com/doc/2010-03-31/";

}  // namespace freshet::sns
