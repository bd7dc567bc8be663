/* The sites of the operators in a call of a model, in the order of the operators: those of the call
 * before it are where the next one looks first, one beside the other in memory.
 *
 * Threads: each has its own.
 */
#ifndef XSP_PYTHON_XSP_TAPE_H_
#define XSP_PYTHON_XSP_TAPE_H_

#include <stdint.h>

/* A call of this kind begins on this thread (0: no tape). What it may have changed is forgotten if
 * it `is_new`. */
void xsp_tape_begin(uint64_t kind, int is_new);
/* The site of the operator at this position, which may be some operators further on; 0: not known.
 */
uint32_t xsp_tape_next(uint64_t position);
/* It has this site: what xsp_tape_next did not know. */
void xsp_tape_add(uint64_t position, uint32_t site);

#endif /* XSP_PYTHON_XSP_TAPE_H_ */
