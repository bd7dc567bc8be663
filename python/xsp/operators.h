/* Operators as calls: their sites, and what is known of their shapes.
 *
 * Sites are told apart by the owner, by the operator that the operator is called in, if any, and
 * by the shapes and types of its tensors: facts hold for all spans of a site. Only so many shapes
 * of one operator are told apart (32): further ones share a site without shapes.
 *
 * To be given an operator's tensors costs more than its span does. So they are looked at in the
 * first calls of a model with inputs of these shapes, and now and then later; in between, the n-th
 * operator inside a call has the shapes that it had there. One that had not always the same, or
 * was not there, has a site without shapes.
 *
 * Threads: as calls.h. */
#ifndef XSP_PYTHON_XSP_OPERATORS_H_
#define XSP_PYTHON_XSP_OPERATORS_H_

#include <stdint.h>

#include "calls.h"
#include "values.h"

/* Inputs that are known not to be looked at: the operator has the shapes that it had. */
extern const Values xsp_values_unseen;

/* The kind of a model's call: the exact one, unless the model was called with as many others (32)
 * that are the same but for sizes. A text that grows word by word would be new each time. */
uint64_t xsp_operators_kind(uint64_t exact, uint64_t plain);
/* A model is called on this thread, with inputs of this kind (0: not known). Whether the tensors of
 * its operators are to be looked at. */
int xsp_operators_follow(uint64_t kind);

/* Begins an operator's span (as xsp_call_open) with these inputs; NULL: it has none. Its name is
 * the owner's path, a slash and the operator's short name, with "#2", "#3", ... where the owner has
 * other sites of that name; its type the operator's full name. */
Call* xsp_operator_open(uint32_t owner, const char* name, const Values* inputs);
/* Before it closes: what it returned, by which the site is told apart as well. NULL is allowed. */
void xsp_operator_returns(Call* call, const char* name, Values values);

#endif /* XSP_PYTHON_XSP_OPERATORS_H_ */
