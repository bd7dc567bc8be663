#include "values.h"

#include <stdio.h>
#include <string.h>

/* A c10::IValue has a payload of 8 bytes, then its kind. A tensor's payload is a pointer to its
 * at::TensorImpl. */
#define KIND_OFFSET 8u
#define KIND_TENSOR 1u
#define LIST_ELEMENTS_MAX 1024u

/* c10::impl::SizesAndStrides has the rank, and the sizes and strides of up to 5 dimensions; for
 * more dimensions, a pointer to them. Behind it lie the offset in the storage, the number of
 * elements, and the type. */
#define INLINE_RANK_MAX 5u
#define RANK_MAX 64u
#define SIZES_BYTES (8u + 2u * INLINE_RANK_MAX * 8u)
#define COUNT_OFFSET (SIZES_BYTES + 8u)
#define TYPE_OFFSET (SIZES_BYTES + 16u)
#define SIZES_FIRST 16u /* within an at::TensorImpl, whose first words are its table and count */
#define SIZES_LAST 96u

#define EXAMPLES_MIN 3u
static size_t sizes_offset; /* in an at::TensorImpl; 0: not known */
static uint32_t examples;
static int is_in_doubt;
static uint32_t list_kind; /* 0: not known */
static size_t list_offset; /* offset of the std::vector in a list */

static inline uint64_t word_at(const char* at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static inline const char* pointer_at(const char* at) {
  const char* pointer;
  memcpy(&pointer, at, sizeof pointer);
  return pointer;
}

static inline uint32_t kind_of(const char* value) {
  uint32_t kind;
  memcpy(&kind, value + KIND_OFFSET, sizeof kind);
  return kind;
}

static inline uint16_t type_of(const char* sizes) {
  uint16_t type;
  memcpy(&type, sizes + TYPE_OFFSET, sizeof type);
  return type;
}

Values xsp_values_of_vector(const char* vector) {
  const uint64_t bytes = word_at(vector + 8) - word_at(vector);
  return (Values){pointer_at(vector), bytes / XSP_VALUE_BYTES};
}

/* ---- Finding out ---- */

static int are_sizes_of(const char* sizes, const Example* example) {
  uint64_t stride = 1;
  for (uint32_t i = example->rank; i-- > 0; stride *= (uint64_t)example->sizes[i]) {
    if (word_at(sizes + 8 + i * 8) != (uint64_t)example->sizes[i]) return 0;
    if (word_at(sizes + 8 + (INLINE_RANK_MAX + i) * 8) != stride) return 0;
  }
  return word_at(sizes) == example->rank && word_at(sizes + COUNT_OFFSET) == stride &&
         type_of(sizes) == example->type;
}

void xsp_values_forget(void) {
  sizes_offset = list_offset = 0;
  examples = list_kind = 0;
  is_in_doubt = 0;
}

int xsp_values_are(Values values, const Example* example) {
  if (values.count != 1 || kind_of(values.at) != KIND_TENSOR) return 0;
  const char* tensor = pointer_at(values.at);
  if (example->address != NULL && tensor != example->address) return 0;
  size_t offset = sizes_offset != 0 ? sizes_offset : SIZES_FIRST;
  const size_t last = sizes_offset != 0 ? sizes_offset : SIZES_LAST;
  while (offset <= last && !are_sizes_of(tensor + offset, example)) offset += 8;
  if (offset > last) {
    is_in_doubt = 1;
    return 0;
  }
  sizes_offset = offset;
  ++examples;
  return 1;
}

void xsp_values_have_list(Values values, const Example* example) {
  if (values.count == 0 || kind_of(values.at) == KIND_TENSOR) return;
  const char* list = pointer_at(values.at);
  /* The list has a table, one or two counts, then the vector. */
  for (size_t offset = 16; offset <= 24; offset += 8) {
    const Values pair = xsp_values_of_vector(list + offset);
    if (pair.at == NULL || pair.count != 2 || kind_of(pair.at) != KIND_TENSOR) continue;
    if (pointer_at(pair.at) != example->address) continue;
    list_kind = kind_of(values.at);
    list_offset = offset;
    return;
  }
}

int xsp_values_are_understood(void) {
  return sizes_offset != 0 && !is_in_doubt && examples >= EXAMPLES_MIN;
}

/* ---- Reading ---- */

/* at::ScalarType's numbers, with the names of xsp_dtype if there is one. */
static const char* const type_names[] = {
    "uint8",       "int8",      "int16",      "int32", "int64", "float16", "float32", "float64",
    "ComplexHalf", "complex64", "complex128", "bool",  "QInt8", "QUInt8",  "QInt32",  "bfloat16"};
#define TYPE_COUNT (sizeof type_names / sizeof *type_names)
static const char* const later_type_names[] = {
    "Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz",
    "uint16",      "uint32",        "uint64"};
#define LATER_TYPE_FIRST 23u
#define LATER_TYPE_COUNT (sizeof later_type_names / sizeof *later_type_names)

static const char* type_name(uint16_t type) {
  if (type < TYPE_COUNT) return type_names[type];
  if (type >= LATER_TYPE_FIRST && type < LATER_TYPE_FIRST + LATER_TYPE_COUNT) {
    return later_type_names[type - LATER_TYPE_FIRST];
  }
  return "other";
}

typedef struct Tensor {
  uint64_t rank;
  const char* sizes;
  uint16_t type;
  /* PyTorch also stores this for tensors whose shape is elsewhere (symbols, nested tensors). */
  int is_empty_line;
} Tensor;

/* Returns 0 if there is no tensor, for example because the operator was given none. */
static inline int read_tensor(const char* at, Tensor* tensor) {
  if (at == NULL) return 0;
  at += sizes_offset;
  tensor->rank = word_at(at);
  if (tensor->rank > RANK_MAX) return 0;
  tensor->sizes = tensor->rank <= INLINE_RANK_MAX ? at + 8 : pointer_at(at + 8);
  tensor->type = type_of(at);
  tensor->is_empty_line = tensor->rank == 1 && word_at(tensor->sizes) == 0;
  return !tensor->is_empty_line || strcmp(type_name(tensor->type), "other") != 0;
}

/* Finds the next of these tensors, also in lists. Returns 0 if there is none. `place` and `inner`
 * are 0 at first. */
static inline int next_tensor(Values values, size_t* place, size_t* inner, Tensor* tensor) {
  while (*place < values.count) {
    const char* value = values.at + *place * XSP_VALUE_BYTES;
    const uint32_t kind = kind_of(value);
    if (kind == KIND_TENSOR) {
      ++*place;
      if (read_tensor(pointer_at(value), tensor)) return 1;
      continue;
    }
    if (kind != list_kind || kind == 0) {
      ++*place;
      continue;
    }
    Values list = xsp_values_of_vector(pointer_at(value) + list_offset);
    if (list.count > LIST_ELEMENTS_MAX) list.count = LIST_ELEMENTS_MAX;
    /* All elements of a list are of one kind, except that some may be missing. */
    while (*inner < list.count) {
      const char* element = list.at + (*inner)++ * XSP_VALUE_BYTES;
      const uint32_t element_kind = kind_of(element);
      if (element_kind == KIND_TENSOR && read_tensor(pointer_at(element), tensor)) return 1;
      if (element_kind > KIND_TENSOR) break;
    }
    *inner = 0;
    ++*place;
  }
  return 0;
}

static inline uint64_t add_to(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static inline uint64_t add_tensor(uint64_t hash, const Tensor* tensor) {
  hash = add_to(hash, tensor->rank << 16 | tensor->type);
  for (uint64_t i = 0; i < tensor->rank; ++i) hash = add_to(hash, word_at(tensor->sizes + i * 8));
  return hash;
}

uint64_t xsp_values_hash_tensor(const void* tensor, int with_sizes) {
  Tensor read;
  if (!read_tensor(tensor, &read)) return 1;
  return with_sizes ? add_tensor(1, &read) : add_to(1, read.rank << 16 | read.type);
}

uint64_t xsp_values_hash(Values values) {
  uint64_t hash = 0x8ebc6af09c88c6e3u;
  size_t place = 0;
  size_t inner = 0;
  Tensor tensor;
  while (next_tensor(values, &place, &inner, &tensor)) hash = add_tensor(hash, &tensor);
  return hash > 1 ? hash : 2;
}

typedef struct Text {
  char* at;
  size_t size;
  size_t used;
} Text;

static void append(Text* text, const char* word) {
  const size_t size = strlen(word);
  if (text->used + size < text->size) memcpy(text->at + text->used, word, size + 1);
  text->used += size;
}

static void append_number(Text* text, int64_t number) {
  char digits[24];
  snprintf(digits, sizeof digits, "%lld", (long long)number);
  append(text, digits);
}

int xsp_values_describe(Values values, char* shapes, size_t shapes_size, char* types,
                        size_t types_size) {
  Text shape = {shapes, shapes_size, 0};
  Text type = {types, types_size, 0};
  size_t place = 0;
  size_t inner = 0;
  Tensor tensor;
  append(&shape, "[");
  append(&type, "[");
  while (next_tensor(values, &place, &inner, &tensor)) {
    append(&shape, shape.used == 1 ? "[" : ",[");
    for (uint64_t i = 0; i < tensor.rank; ++i) {
      if (i > 0) append(&shape, ",");
      append_number(&shape, tensor.is_empty_line ? -1 : (int64_t)word_at(tensor.sizes + i * 8));
    }
    append(&shape, "]");
    append(&type, type.used == 1 ? "\"" : ",\"");
    append(&type, type_name(tensor.type));
    append(&type, "\"");
  }
  append(&shape, "]");
  append(&type, "]");
  return shape.used < shapes_size && type.used < types_size;
}
