// Where documents come from: a report that holds them, a folder of files, or a service.
import type { Json } from "./documents.ts";

export class DocumentError extends Error {
  // gone: there is none, retry: it may be there later, token: the service wants one, other: what the message says.
  constructor(readonly kind: "gone" | "retry" | "token" | "other", message: string) {
    super(message);
  }
}

export interface Source {
  readonly kind: "report" | "folder" | "service";
  // Throws DocumentError.
  document(name: string): Promise<Json>;
}
