// The operator reference: one page made of the operator table and the declarations of the recording
// API, with a table of contents, operators by family, each backward row below its operator.
#ifndef OA_TOOLS_DOCS_REFERENCE_PAGE_H_
#define OA_TOOLS_DOCS_REFERENCE_PAGE_H_

#include <string>

#include "tools/docs/signatures.h"

namespace oa::tools {

std::string ReferenceMarkdown(const Signatures& signatures);

// The same as one self-contained page.
std::string ReferenceHtml(const Signatures& signatures);

}  // namespace oa::tools

#endif  // OA_TOOLS_DOCS_REFERENCE_PAGE_H_
