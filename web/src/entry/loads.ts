// Documents of an entry, of which any but the entry's own may be missing: then the text says why.
import { documentNames, type ConversationDocument, type JsonObject, type SourceDocument } from "../documents.ts";
import type { PageContext } from "../page.ts";
import { rowOfId } from "../rows.ts";
import { DocumentError } from "../source.ts";
import { isObject, objectAt, objectsAt, textAt } from "./read.ts";

export type Loaded<Document> = { document: Document } | { missing: string };

const kWhere = "kernelbench show ID --json has it where the store is.";

async function load<Document>(context: PageContext, name: string, what: string): Promise<Loaded<Document>> {
  try {
    const value = await context.source.document(name);
    if (isObject(value)) return { document: value as unknown as Document };
    return { missing: `${what} cannot be read: the document ${name} is of another form.` };
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    if (error.kind !== "gone") return { missing: `${what} cannot be read: ${error.message}` };
    return { missing: `${what} is not here. ${left(context)}` };
  }
}

function left(context: PageContext): string {
  if (context.source.kind === "service") return "Nothing is stored of it.";
  const here = context.source.kind === "report" ? "this report" : "these files";
  return `It was left out of ${here}, or nothing is stored of it. ${kWhere}`;
}

export async function loadSource(context: PageContext, entry: JsonObject): Promise<Loaded<SourceDocument>> {
  const sha256 = textAt(objectAt(entry, "candidate"), "sha256");
  const loaded = await load<SourceDocument>(context, documentNames.source(sha256), "The code");
  if ("missing" in loaded) return loaded;
  const files = objectsAt(loaded.document as unknown as JsonObject, "files").map((file) => ({
    path: textAt(file, "path"),
    text: textAt(file, "text"),
  }));
  return { document: { sha256, files } };
}

// Of what was handed in there is none, and none is asked for.
export async function loadConversation(context: PageContext, id: string): Promise<Loaded<ConversationDocument>> {
  if (wasHandedIn(context, id)) return { missing: "It was handed in: no model was asked for it here." };
  const loaded = await load<ConversationDocument>(context, documentNames.conversation(id), "How it was made");
  if ("missing" in loaded) return loaded;
  const { answers, transcript, parents } = loaded.document;
  return {
    document: {
      answers: Array.isArray(answers) ? answers : null,
      transcript: transcript ?? null,
      parents: Array.isArray(parents) ? parents.filter((parent) => typeof parent === "string") : [],
    },
  };
}

function wasHandedIn(context: PageContext, id: string): boolean {
  const row = rowOfId(context.catalog, id);
  if (row === undefined) return false;
  const run = context.catalog.values.run[context.catalog.entries.run[row]!] ?? "";
  if (run === "") return true;
  const line = context.catalog.runs.find((each) => each.run === run);
  return line !== undefined && line.strategy === null;
}

export async function loadRounds(context: PageContext, id: string): Promise<Loaded<JsonObject[]>> {
  const loaded = await load<JsonObject>(context, documentNames.rounds(id), "The times of single rounds");
  return "missing" in loaded ? loaded : { document: objectsAt(loaded.document, "samples") };
}

export async function loadEntry(context: PageContext, id: string): Promise<JsonObject> {
  const value = await context.source.document(documentNames.entry(id));
  if (!isObject(value)) throw new DocumentError("other", `The document of ${id} is of another form.`);
  return value;
}
