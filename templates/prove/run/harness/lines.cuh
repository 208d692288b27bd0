// Results as lines of JSON on standard output.

#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace policygen::prove
{
inline std::string quoted(const std::string& text)
{
  std::string out = "\"";
  for (const char letter : text)
  {
    if (letter == '"' || letter == '\\')
    {
      out += '\\';
      out += letter;
    }
    else if (static_cast<unsigned char>(letter) < 0x20)
    {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(letter));
      out += escape;
    }
    else
    {
      out += letter;
    }
  }
  return out + '"';
}

// An object under construction.
class object
{
public:
  object& text(const char* name, const std::string& value)
  {
    return raw(name, quoted(value));
  }
  object& number(const char* name, long long value)
  {
    return raw(name, std::to_string(value));
  }
  object& flag(const char* name, bool value)
  {
    return raw(name, value ? "true" : "false");
  }
  object& list(const char* name, const std::vector<std::string>& values)
  {
    std::string all;
    for (const std::string& value : values)
    {
      all += (all.empty() ? "" : ", ") + value;
    }
    return raw(name, "[" + all + "]");
  }
  object& raw(const char* name, const std::string& value)
  {
    members_ += (members_.empty() ? "" : ", ") + quoted(name) + ": " + value;
    return *this;
  }
  std::string str() const
  {
    return "{" + members_ + "}";
  }
  void print() const
  {
    std::printf("%s\n", str().c_str());
    std::fflush(stdout);
  }

private:
  std::string members_;
};
} // namespace policygen::prove
