/* Observes the operators of PyTorch through its own observers (at::RecordFunction).
 *
 * libtorch is a C++ library whose interface differs between releases, and none of its headers is
 * used here. The few functions that are needed are looked up by their symbols in the library that
 * the process has loaded. Other data (the place of an operator's sequence number) is found by
 * looking at operators whose numbers are known. Nothing is trusted before that.
 *
 * Observers are called on any thread; the functions below need the interpreter's lock.
 *
 * at::addGlobalCallback and four more functions are used. at::RecordFunctionCallback, which is
 * passed by value, has not changed from 1.13 to 2.15; the header of a later release is read and
 * compared first. Refused: a library built against torch, one per release; NVTX or ITT ranges of
 * torch's profiler, which format a text per operator, take the one place that a profiler of the
 * user's would have, and which Debian's build lacks; TorchDispatchMode, which takes microseconds
 * per operator in Python, and changes the work of torch.compile. */
#ifndef XSP_PYTHON_XSP_WATCH_TORCH_OBSERVER_H_
#define XSP_PYTHON_XSP_WATCH_TORCH_OBSERVER_H_

#define XSP_EXAMPLES 3u

/* Finds torch's functions in this library (its path, which must be loaded) and starts to look at
 * the operators of this thread. Returns NULL, or the reason why it is impossible. */
const char* xsp_observer_prepare(const char* library, const void* const* tensors);
/* Ends the examination. Before it, the program called `aten::exp` with each of the tensors (the
 * addresses of their at::TensorImpl: float32 2x3x4x5, float64 7x6, bfloat16 3), in this order,
 * where each made a node of the autograd graph, and `aten::cat` with a list of the first, twice.
 * Returns NULL if the nodes were understood, otherwise the reason: nothing is ever observed then.
 * If the tensors were not understood, or `tensors` was NULL, operators are observed without shapes.
 */
const char* xsp_observer_check(void);
/* Returns whether shapes can be observed. */
int xsp_observer_has_shapes(void);
/* Returns the modes in which this thread's operators run, as bits below 8: whether they make nodes
 * of the autograd graph, and cast their inputs. */
unsigned xsp_observer_modes(void);
/* Observes operators iff the level layer is being recorded. It is cheap if nothing has changed. */
void xsp_observer_follow(void);
/* Starts or stops looking at the tensors of operators; it is on at first. It is cheap if nothing
 * has changed. */
void xsp_observer_look(int is_wanted);

#endif /* XSP_PYTHON_XSP_WATCH_TORCH_OBSERVER_H_ */
