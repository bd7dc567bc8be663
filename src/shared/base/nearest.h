// nearest finds the words that a user may have meant by a mistyped word.
#ifndef XSP_SHARED_BASE_NEAREST_H_
#define XSP_SHARED_BASE_NEAREST_H_

#include <string>
#include <string_view>
#include <vector>

namespace xsp {

// Returns the candidates within a small edit distance of `word`, or that contain it, best first,
// three at most. Case is ignored.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

// Returns them as the end of an error's text: "did you mean 'a', 'b'?", or `otherwise` if there is
// none.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view otherwise);

}  // namespace xsp

#endif  // XSP_SHARED_BASE_NEAREST_H_
