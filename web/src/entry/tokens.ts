// Colours of Python, C++ and CUDA: tokens by line, found by a scan that understands strings and comments and no grammar.

export type Language = "python" | "cpp" | "cuda" | "text";
export type Kind = "" | "keyword" | "type" | "string" | "comment" | "number" | "call" | "macro" | "gpu";
export interface Token {
  kind: Kind;
  text: string;
}

const kMostText = 1 << 20; // longer texts have no colours
const kMostLine = 4000; // so have longer lines

const words = (text: string) => new Set(text.split(" "));
const kPython = words(
  "False None True and as assert async await break class continue def del elif else except finally for from global " +
    "if import in is lambda match nonlocal not or pass raise return try while with yield self",
);
const kCpp = words(
  "alignas alignof asm auto break case catch class concept const const_cast consteval constexpr constinit continue " +
    "decltype default delete do dynamic_cast else enum explicit export extern false final for friend goto if inline " +
    "mutable namespace new noexcept nullptr operator override private protected public register reinterpret_cast " +
    "requires return sizeof static static_assert static_cast struct switch template this thread_local throw true try " +
    "typedef typeid typename union using virtual volatile while __restrict__ __restrict restrict",
);
const kTypes = words(
  "bool char double float int long short signed unsigned void wchar_t size_t ssize_t ptrdiff_t half __half __half2 " +
    "__nv_bfloat16 __nv_bfloat162 float2 float4 int2 int4 uint2 uint4 dim3 cudaStream_t str bytes object list dict tuple",
);
const kGpu = words(
  "__global__ __device__ __host__ __shared__ __constant__ __launch_bounds__ __forceinline__ __syncthreads __syncwarp " +
    "threadIdx blockIdx blockDim gridDim warpSize",
);

export function languageOf(path: string, isModule: boolean, device: string): Language {
  const end = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  if (end === "py") return "python";
  if (end === "cu" || end === "cuh") return "cuda";
  if (["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "inl"].includes(end)) return device === "cuda" ? "cuda" : "cpp";
  if (path !== "") return "text";
  return isModule ? "python" : device === "cuda" ? "cuda" : "cpp";
}

// One array a line.
export function highlight(text: string, language: Language): Token[][] {
  if (language === "text" || text.length > kMostText) return text.split("\n").map((line) => [{ kind: "", text: line }]);
  return new Scan(text).run(language);
}

// What follows `inside` up to its end, or to the text's.
interface Rule {
  begin: RegExp; // sticky
  kind: (found: string, language: Language, next: string) => Kind;
}

const kNumber: Rule = {
  begin: /(?:0[xXbB][0-9a-fA-F_']+|\d[\d_']*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)[a-zA-Z]*/y,
  kind: () => "number",
};
const kWord: Rule = {
  begin: /[A-Za-z_]\w*/y,
  kind: (found, language, next) => {
    if (language !== "python" && kGpu.has(found)) return "gpu";
    if ((language === "python" ? kPython : kCpp).has(found)) return "keyword";
    if (kTypes.has(found) || (language !== "python" && /^u?int\d+_t$/.test(found))) return "type";
    return next === "(" ? "call" : "";
  },
};
const kRules: Record<"python" | "cpp", Rule[]> = {
  python: [
    { begin: /#[^\n]*/y, kind: () => "comment" },
    { begin: /[rRbBuUfF]{0,2}("""|''')[^]*?(?:\1|$(?![^]))/y, kind: () => "string" },
    { begin: /[rRbBuUfF]{0,2}(?:"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?)/y, kind: () => "string" },
    { begin: /@[\w.]+/y, kind: () => "macro" },
    kNumber,
    kWord,
  ],
  cpp: [
    { begin: /\/\/[^\n]*/y, kind: () => "comment" },
    { begin: /\/\*[^]*?(?:\*\/|$(?![^]))/y, kind: () => "comment" },
    { begin: /R"([^()\\\s]{0,16})\([^]*?(?:\)\1"|$(?![^]))/y, kind: () => "string" },
    { begin: /"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?/y, kind: () => "string" },
    { begin: /#[ \t]*[a-z]+(?:[^\n/]|\/(?![/*]))*/y, kind: () => "macro" },
    kNumber,
    kWord,
  ],
};
const kPlain = /[^\w"'#@/.]+|./suy; // a run of what begins no token, or one character

class Scan {
  private readonly lines: Token[][] = [[]];

  constructor(private readonly text: string) {}

  run(language: Language): Token[][] {
    this.scan(this.text, language);
    return this.lines;
  }

  private scan(text: string, language: Language): void {
    const rules = kRules[language === "python" ? "python" : "cpp"];
    let at = 0;
    while (at < text.length) {
      const end = text.indexOf("\n", at);
      if ((end < 0 ? text.length : end) - at > kMostLine) {
        const stop = end < 0 ? text.length : end + 1;
        this.put("", text.slice(at, stop));
        at = stop;
        continue;
      }
      at = this.token(text, at, rules, language);
    }
  }

  // Puts the token at `at` and says where the next begins.
  private token(text: string, at: number, rules: Rule[], language: Language): number {
    for (const rule of rules) {
      rule.begin.lastIndex = at;
      const found = rule.begin.exec(text)?.[0];
      if (!found) continue;
      const end = at + found.length;
      const kind = rule.kind(found, language, text[end] ?? "");
      if (language === "python" && kind === "string" && isNative(found)) this.nested(found);
      else this.put(kind, found);
      return end;
    }
    kPlain.lastIndex = at;
    const found = kPlain.exec(text)?.[0] ?? text[at]!;
    this.put("", found);
    return at + found.length;
  }

  // C++ or CUDA in a Python string.
  private nested(found: string): void {
    const quote = /^[rRbBuUfF]{0,2}(?:"""|''')/.exec(found)![0];
    const closed = found.length >= quote.length + 3 && found.endsWith(quote.slice(-3));
    this.put("string", quote);
    this.scan(found.slice(quote.length, closed ? -3 : undefined), "cuda");
    if (closed) this.put("string", quote.slice(-3));
  }

  private put(kind: Kind, text: string): void {
    text.split("\n").forEach((part, index) => {
      if (index > 0) this.lines.push([]);
      const line = this.lines[this.lines.length - 1]!;
      const last = line[line.length - 1];
      if (part === "") return;
      if (last?.kind === kind) last.text += part;
      else line.push({ kind, text: part });
    });
  }
}

function isNative(found: string): boolean {
  return /^[rRbBuUfF]{0,2}("""|''')/.test(found) && /#include|__global__|torch::Tensor/.test(found);
}
