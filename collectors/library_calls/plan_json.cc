#include "collectors/library_calls/plan_json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/library_calls/kept.h"

namespace xsp::library_calls {
namespace {

constexpr size_t kWordBytes = 96;
constexpr size_t kOperationBytes = 256;
constexpr int kDimensionsMax = 12;
constexpr int kTensorsMax = 6;  // tensors of a node whose shapes are added

// Represents a part of the text.
struct Part {
  const char* begin = nullptr;
  const char* end = nullptr;
  bool is_there() const { return begin != nullptr; }
};

// Returns the object or list that begins at `from`, with its brackets.
Part bracketed(const char* from, const char* end) {
  int depth = 0;
  bool is_text = false;
  for (const char* at = from; at < end; ++at) {
    if (is_text) {
      if (*at == '\\')
        ++at;
      else if (*at == '"')
        is_text = false;
    } else if (*at == '"') {
      is_text = true;
    } else if (*at == '{' || *at == '[') {
      ++depth;
    } else if ((*at == '}' || *at == ']') && --depth == 0) {
      return {from, at + 1};
    }
  }
  return {};
}

// Returns the begin of the value of the first such key in the part, or NULL if there is none.
const char* value_of(Part part, const char* key) {
  char wanted[kWordBytes];
  const int length = snprintf(wanted, sizeof wanted, "\"%s\":", key);
  const void* found = memmem(part.begin, static_cast<size_t>(part.end - part.begin), wanted,
                             static_cast<size_t>(length));
  return found == nullptr ? nullptr : static_cast<const char*>(found) + length;
}

Part bracketed_value(Part part, const char* key) {
  const char* value = value_of(part, key);
  return value == nullptr ? Part{} : bracketed(value, part.end);
}

// Reads the text that begins with a quote at `from`, in lower case, without `before` and `after`.
bool take_word(const char* from, const char* end, const char* before, const char* after,
               char* word) {
  if (from == nullptr || from >= end || *from != '"') return false;
  size_t size = 0;
  for (const char* at = from + 1; at < end && *at != '"' && size + 1 < kWordBytes; ++at) {
    word[size++] = *at;
  }
  word[size] = '\0';
  const size_t skipped = strncmp(word, before, strlen(before)) == 0 ? strlen(before) : 0;
  memmove(word, word + skipped, size + 1 - skipped);
  size -= skipped;
  const size_t tail = strlen(after);
  if (size >= tail && strcmp(word + size - tail, after) == 0) word[size - tail] = '\0';
  for (char* c = word; *c != '\0'; ++c) {
    *c = static_cast<char>(tolower(static_cast<unsigned char>(*c)));
  }
  return true;
}

void add_list(Part list, const char* key, Problem* facts) {
  const Field* field = list.is_there() ? kept_field(key, FieldKind::kList) : nullptr;
  if (field == nullptr) return;
  const char* at = list.begin + 1;
  for (int i = 0; i < kDimensionsMax && at < list.end && *at != ']'; ++i) {
    char* after = nullptr;
    const long long number = strtoll(at, &after, 10);
    if (after == at) return;
    facts->add(field, number);
    at = *after == ',' ? after + 1 : after;
  }
}

void add_text(const char* key, const char* text, Problem* facts) {
  const Field* field = kept_field(key, FieldKind::kText);
  if (field != nullptr) facts->add(field, kept_text(text));
}

const char* type_word(const char* word) {
  if (strcmp(word, "float") == 0) return "float32";
  if (strcmp(word, "double") == 0) return "float64";
  if (strcmp(word, "half") == 0) return "float16";
  return word;
}

// Returns the tensor with that name; none if the name is a number that lies in the plan.
Part tensor_named(Part tensors, const char* name) {
  char wanted[kWordBytes + 16];
  snprintf(wanted, sizeof wanted, "{\"name\":\"%s\"", name);
  const void* found = memmem(tensors.begin, static_cast<size_t>(tensors.end - tensors.begin),
                             wanted, strlen(wanted));
  if (found == nullptr) return {};
  const Part tensor = bracketed(static_cast<const char*>(found), tensors.end);
  const char* by_value = tensor.is_there() ? value_of(tensor, "isByValue") : nullptr;
  return by_value != nullptr && strncmp(by_value, "true", 4) == 0 ? Part{} : tensor;
}

void add_tensor(const char* role, Part tensor, Problem* facts) {
  char key[kWordBytes + 8];
  char word[kWordBytes];
  if (take_word(value_of(tensor, "dataType"), tensor.end, "CUDNN_DATA_", "", word)) {
    snprintf(key, sizeof key, "%s_dtype", role);
    add_text(key, type_word(word), facts);
  }
  snprintf(key, sizeof key, "%s_shape", role);
  add_list(bracketed_value(tensor, "dim"), key, facts);
}

// Adds every "ROLE": "NAME" of the node where the name is that of a tensor.
void add_tensors(Part node, Part tensors, Problem* facts) {
  int count = 0;
  for (const char* at = node.begin; at < node.end && count < kTensorsMax; ++at) {
    if (strncmp(at, "\":\"", 3) != 0) continue;
    const char* role_start = at;
    while (role_start > node.begin && role_start[-1] != '"') --role_start;
    char role[kWordBytes];
    char name[kWordBytes];
    // The role begins after its opening quote, which exists: the loop above stopped behind it.
    if (!take_word(role_start - 1, node.end, "", "", role)) continue;
    if (!take_word(at + 2, node.end, "", "", name)) continue;
    const Part tensor = tensor_named(tensors, name);
    if (!tensor.is_there()) continue;
    add_tensor(role, tensor, facts);
    ++count;
  }
}

void add_operations(Part nodes, Problem* facts) {
  char operations[kOperationBytes] = "";
  size_t used = 0;
  Part rest = nodes;
  for (;;) {
    char word[kWordBytes];
    const char* value = value_of(rest, "operation");
    if (!take_word(value, rest.end, "CUDNN_BACKEND_OPERATION_", "_DESCRIPTOR", word)) break;
    const size_t length = strlen(word) + (used == 0 ? 0 : 1);
    if (used + length + 1 > sizeof operations) break;
    snprintf(operations + used, sizeof operations - used, "%s%s", used == 0 ? "" : "+", word);
    used += length;
    rest.begin = value;
  }
  if (used != 0) add_text("operation", operations, facts);
}

}  // namespace

void add_plan_facts(const char* json, Problem* facts) {
  const Part all = {json, json + strlen(json)};
  const Part nodes = bracketed_value(all, "nodes");
  const Part tensors = bracketed_value(all, "tensors");
  if (nodes.is_there()) {
    add_operations(nodes, facts);
    const Part node = bracketed(nodes.begin + 1, nodes.end);
    if (node.is_there()) {
      if (tensors.is_there()) add_tensors(node, tensors, facts);
      add_list(bracketed_value(node, "pad"), "padding", facts);
      add_list(bracketed_value(node, "stride"), "stride", facts);
      add_list(bracketed_value(node, "dilation"), "dilation", facts);
    }
  }
  const char* engine = value_of(all, "engineId");
  const Field* field = engine == nullptr ? nullptr : kept_field("engine", FieldKind::kInt);
  if (field != nullptr) facts->add(field, strtoll(engine, nullptr, 10));
}

}  // namespace xsp::library_calls
