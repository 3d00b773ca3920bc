// What the rules know: names of functions, modules and types, and which rule each belongs to. Data only.
#ifndef JUDGE_STATIC_TABLES_H_
#define JUDGE_STATIC_TABLES_H_

#include <string_view>

namespace kb {

struct NameRule {
  const char* rule;
  const char* reason;  // "{}" stands for the name; empty: the name is known and means nothing
};

// Null if no rule speaks of it. A dotted name as PythonNames resolves it: any mention of it counts.
const NameRule* PythonMention(std::string_view name);
// A method called on an object that is not known: x.mm(y) is "mm".
const NameRule* PythonMethod(std::string_view method);
// An attribute of anything: frame.f_back.
const NameRule* PythonAttribute(std::string_view attribute);
// An attribute of a frame that says where in the text it is, and nothing of what is there.
bool TellsPlaceOfFrame(std::string_view attribute);
// Assigned to, deleted, or given to setattr.
const NameRule* PythonPatched(std::string_view name);
// A torch.nn class whose instances compute: "torch.nn.Linear".
bool IsTorchModule(std::string_view name);

// "std::thread": any mention in C++ or CUDA.
const NameRule* NativeMention(std::string_view name);
// A plain function that is called: fork(). Words that are common as names of other things.
const NameRule* NativeCall(std::string_view name);
// A method of a tensor: x.matmul(y).
const NameRule* NativeMethod(std::string_view name);
// A type: half.
const NameRule* NativeType(std::string_view name);
// A function that the candidate defines in place of a library's.
const NameRule* NativeDefinition(std::string_view name);
// Part of a string literal: "LD_PRELOAD".
const NameRule* NativeString(std::string_view text);

}  // namespace kb

#endif  // JUDGE_STATIC_TABLES_H_
