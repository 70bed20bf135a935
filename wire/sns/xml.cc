#include "wire/sns/xml.h"

#include <algorithm>

#include "tables/value/text.h"

namespace freshet::sns {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// XML 1.0 has no place for control characters, nor for U+FFFE and U+FFFF.
bool is_character(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence.front());
  if (sequence.size() == 1) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r';
  return sequence != "\xEF\xBF\xBE" && sequence != "\xEF\xBF\xBF";
}

std::string_view escaped(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&apos;";
    case '\r':
      return "&#xD;";  // Readers make a line feed of a plain one.
    default:
      return {};
  }
}

}  // namespace

void append_xml_text(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const size_t valid = utf8_sequence(text);
    const size_t length = std::max<size_t>(valid, 1);
    const std::string_view escape = escaped(text.front());
    if (!escape.empty()) {
      out += escape;
    } else {
      out += valid > 0 && is_character(text.substr(0, length)) ? text.substr(0, length) : kReplacement;
    }
    text.remove_prefix(length);
  }
}

void XmlWriter::open(std::string_view name, std::string_view xml_namespace) {
  text_ += '<';
  text_ += name;
  if (!xml_namespace.empty()) {
    text_ += " xmlns=\"";
    text_ += xml_namespace;
    text_ += '"';
  }
  text_ += '>';
}

void XmlWriter::close(std::string_view name) {
  text_ += "</";
  text_ += name;
  text_ += '>';
}

void XmlWriter::element(std::string_view name, std::string_view text) {
  open(name);
  append_xml_text(text_, text);
  close(name);
}

void XmlWriter::entry(std::string_view name, std::string_view text) {
  open("entry");
  element("key", name);
  element("value", text);
  close("entry");
}

std::string error_document(int status, std::string_view code, std::string_view message, std::string_view request_id) {
  XmlWriter xml;
  xml.open("ErrorResponse", kNamespace);
  xml.open("Error");
  xml.element("Type", status < 500 ? "Sender" : "Receiver");
  xml.element("Code", code);
  xml.element("Message", message);
  xml.close("Error");
  xml.element("RequestId", request_id);
  xml.close("ErrorResponse");
  return xml.take();
}

}  // namespace freshet::sns
