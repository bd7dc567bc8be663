/* A tape holds the sites of the operators in a call of a model, in the order of the operators. The
 * next call looks there first, because they lie one beside the other in memory.
 *
 * Each thread has its own. */
#ifndef XSP_PYTHON_XSP_WATCH_TORCH_TAPE_H_
#define XSP_PYTHON_XSP_WATCH_TORCH_TAPE_H_

#include <stdint.h>

/* A call of this kind begins on this thread (0: no tape). If `is_new`, the old entries are
 * forgotten, because the call may change them. */
void xsp_tape_begin(uint64_t kind, int is_new);
/* Returns the site of the operator at this position, which may be a few operators further on; 0:
 * not known. */
uint32_t xsp_tape_next(uint64_t position);
/* Adds the site of an operator that xsp_tape_next did not know. */
void xsp_tape_add(uint64_t position, uint32_t site);

#endif /* XSP_PYTHON_XSP_WATCH_TORCH_TAPE_H_ */
