/* Operators as calls: their sites, and the known facts about their shapes.
 *
 * A site is identified by the owner, by the enclosing operator, if any, and by the shapes and types
 * of the tensors: facts hold for all spans of a site. Only 32 shapes of one operator are
 * distinguished: further ones share a site without shapes.
 *
 * To receive an operator's tensors costs more than its span does. So they are looked at only in the
 * first calls of a model with inputs of these shapes, and occasionally later. In between, the n-th
 * operator inside a call has the shapes that it had there before. An operator whose shapes there
 * varied, or that was not there, has a site without shapes.
 *
 * The rules for threads are those of calls.h.
 *
 * The first three calls of a model with inputs of one kind (shapes, types, whole numbers among
 * the arguments, training or not, gradients or not, cast or not) are looked at, and every 32nd:
 * to receive the tensors costs half a microsecond, as torch boxes them. Refused: always;
 * deriving an operator's shapes from those of its module, because a module's state may grow
 * (caches of keys and values); and the C interface for AOTInductor, which releases before 2.2
 * lack. */
#ifndef XSP_PYTHON_XSP_WATCH_TORCH_OPERATORS_H_
#define XSP_PYTHON_XSP_WATCH_TORCH_OPERATORS_H_

#include <stdint.h>

#include "calls.h"
#include "values.h"

/* The inputs of an operator that is not looked at: it has the shapes that it had before. */
extern const Values xsp_values_unseen;

/* Returns the kind of a model's call: the exact one, unless the model was called with 32 others
 * that differ only in sizes. A text that grows word by word would have a new kind each time. */
uint64_t xsp_operators_kind(uint64_t exact, uint64_t plain);
/* A model is called on this thread, with inputs of this kind (0: not known). Returns whether the
 * tensors of its operators are to be looked at. */
int xsp_operators_follow(uint64_t kind);

/* Begins an operator's span (as xsp_call_open) with these inputs; NULL: it has none. Its name is
 * the owner's path, a slash and the operator's short name, with "#2", "#3", ... if the owner has
 * other sites of that name. Its type is the operator's full name. */
Call* xsp_operator_open(uint32_t owner, const char* name, const Values* inputs);
/* Takes the returned values before the call closes: they also identify the site. `call` may be
 * NULL. */
void xsp_operator_returns(Call* call, const char* name, Values values);

#endif /* XSP_PYTHON_XSP_WATCH_TORCH_OPERATORS_H_ */
