// Where documents come from: a report that holds them, a folder of files, or a service.
import { documentNames, type Json } from "./documents.ts";

export class DocumentError extends Error {
  // gone: there is none, retry: it may be there later, token: the service wants one, other: what the message says.
  constructor(
    readonly kind: "gone" | "retry" | "token" | "other",
    message: string,
  ) {
    super(message);
  }
}

export interface Source {
  readonly kind: "report" | "folder" | "service";
  // Throws DocumentError.
  document(name: string): Promise<Json>;
}

export interface Report extends Source {
  start: string | null; // the address that it opens at
}

function report(text: string): Report {
  const documents = new Map<string, Json>(Object.entries(JSON.parse(text) as Record<string, Json>));
  const start = documents.get("start");
  return {
    kind: "report",
    start: typeof start === "string" ? start : null,
    async document(name) {
      const document = documents.get(name);
      if (document === undefined) throw new DocumentError("gone", `This report does not hold ${name}.`);
      return document;
    },
  };
}

function folder(): Source {
  return {
    kind: "folder",
    async document(name) {
      const answer = await ask(`data/${name}`, {});
      if (answer.status === 404) throw new DocumentError("gone", `This site has no file data/${name}.`);
      return body(answer, name);
    },
  };
}

async function ask(path: string, headers: Record<string, string>): Promise<Response> {
  try {
    return await fetch(path, { headers, cache: "no-cache", credentials: "same-origin" });
  } catch {
    throw new DocumentError("retry", "The server does not answer.");
  }
}

async function body(answer: Response, name: string): Promise<Json> {
  if (answer.status >= 500 || answer.status === 429) {
    throw new DocumentError("retry", `The server answered ${answer.status} for ${name}: ${await complaint(answer)}`);
  }
  if (!answer.ok)
    throw new DocumentError("other", `The server answered ${answer.status} for ${name}: ${await complaint(answer)}`);
  try {
    return (await answer.json()) as Json;
  } catch {
    throw new DocumentError("other", `${name} is not whole, or is not JSON.`);
  }
}

// What an answer that refuses says.
async function complaint(answer: Response): Promise<string> {
  try {
    const text = await answer.text();
    const json = JSON.parse(text) as { detail?: string; error?: string | { message?: string }; message?: string };
    const error = typeof json.error === "string" ? json.error : json.error?.message;
    return json.detail ?? error ?? json.message ?? text.slice(0, 300);
  } catch {
    return answer.statusText;
  }
}

// A token is kept for this tab alone.
const tokenKey = "kernelbench-token";

function keptToken(): string {
  try {
    return sessionStorage.getItem(tokenKey) ?? "";
  } catch {
    return "";
  }
}

function keepToken(token: string): void {
  try {
    sessionStorage.setItem(tokenKey, token);
  } catch {
    // It is asked for again after a reload.
  }
}

export interface Service extends Source {
  // Answers with a response that streams; throws DocumentError.
  open(path: string): Promise<Response>;
}

// `askToken` shows why one is needed and resolves to what was typed, or to null.
function service(askToken: (why: string) => Promise<string | null>): Service {
  let token = keptToken();
  let asking: Promise<string | null> | null = null;

  async function authorized(path: string): Promise<Response> {
    for (;;) {
      const used = token;
      const answer = await ask(path, used === "" ? {} : { Authorization: `Bearer ${used}` });
      if (answer.status !== 401 && answer.status !== 403) return answer;
      const why = await complaint(answer);
      if (answer.status === 403) throw new DocumentError("other", `The service refuses: ${why}`);
      if (used !== token) continue; // another request has asked meanwhile
      asking ??= askToken(used === "" ? "This service wants a token." : "The service does not know this token.");
      const typed = await asking;
      asking = null;
      if (typed === null) throw new DocumentError("token", "This service wants a token. Reload the page to type one.");
      token = typed;
      keepToken(typed);
    }
  }

  return {
    kind: "service",
    async document(name) {
      const answer = await authorized(`v1/pages/${name}`);
      if (answer.status === 404)
        throw new DocumentError("gone", `The store has no ${name}: ${await complaint(answer)}`);
      return body(answer, name);
    },
    async open(path) {
      const answer = await authorized(path);
      if (!answer.ok)
        throw new DocumentError("retry", `The server answered ${answer.status}: ${await complaint(answer)}`);
      return answer;
    },
  };
}

// A report holds its documents; else the page's <meta name="kernelbench-source"> says "folder" or "service".
export function openSource(askToken: (why: string) => Promise<string | null>): Report | Service | Source {
  const documents = document.getElementById("documents");
  if (documents) return report(documents.textContent ?? "{}");
  if (location.protocol === "file:") {
    throw new DocumentError(
      "other",
      "A browser lets no page that was opened as a file read other files. Run `python3 -m http.server 8000` in this " +
        "folder and open http://localhost:8000/, or make one file that needs no server: `kernelbench report`.",
    );
  }
  const meta = document.querySelector<HTMLMetaElement>('meta[name="kernelbench-source"]');
  return meta?.content === "service" ? service(askToken) : folder();
}

export const catalogName = documentNames.catalog();
