/* The operators of PyTorch, as its own observers (at::RecordFunction) tell of them.
 *
 * libtorch is a C++ library whose interface differs from release to release, and none of its
 * headers is used here: the few functions needed are looked up by their symbols in the library
 * that the process has loaded, and what is not a function (where an operator's sequence number
 * lies) is found by looking at operators whose numbers are known. Nothing is trusted before that.
 *
 * Threads: observers are called on any thread; the functions below need the interpreter's lock. */
#ifndef XSP_PYTHON_XSP_OBSERVER_H_
#define XSP_PYTHON_XSP_OBSERVER_H_

#define XSP_EXAMPLES 3u

/* Finds torch's functions in this library (its path, which must be loaded) and starts to look at
 * the operators of this thread. NULL, or why it cannot be done. */
const char* xsp_observer_prepare(const char* library, const void* const* tensors);
/* Ends it, after a call of `aten::exp` with each of the tensors (the addresses of their
 * at::TensorImpl: float32 2x3x4x5, float64 7x6, bfloat16 3), in this order, which each made a node
 * of the autograd graph, and one of `aten::cat` with a list of the first, twice. NULL if the nodes
 * were understood, else why not: then nothing is observed, for good. If the tensors were not, or
 * `tensors` was NULL, operators are observed without shapes. */
const char* xsp_observer_check(void);
/* Whether shapes can be observed. */
int xsp_observer_has_shapes(void);
/* In which modes this thread's operators run, as bits below 8: whether they make nodes of the
 * autograd graph, and cast their inputs. */
unsigned xsp_observer_modes(void);
/* Observes operators iff the level layer is being recorded. Cheap where nothing changed. */
void xsp_observer_follow(void);
/* Looks at the tensors of operators from now on, or no longer: at first it does. Cheap where
 * nothing changed. */
void xsp_observer_look(int is_wanted);

#endif /* XSP_PYTHON_XSP_OBSERVER_H_ */
