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

/* Finds torch's functions in this library (its path, which must be loaded) and starts to look at
 * the operators of this thread. NULL, or why it cannot be done. */
const char* xsp_observer_prepare(const char* library);
/* Ends it, after some calls of `aten::exp` that each made a node of the autograd graph. NULL if
 * they were understood, else why not: then nothing is observed, for good. */
const char* xsp_observer_check(void);
/* Observes operators iff the level layer is being recorded. Cheap where nothing changed. */
void xsp_observer_follow(void);

#endif /* XSP_PYTHON_XSP_OBSERVER_H_ */
