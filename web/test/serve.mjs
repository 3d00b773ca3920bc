// Serves a folder as a plain web server does: node serve.mjs DIR PORT [APP], where what DIR lacks is looked for in APP.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
};

// The policy that the page itself names, which a service sends as a header.
export function policyOf(html) {
  return /Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1] ?? "default-src 'none'";
}

// Resolves to { url, close }. `headers` are added to every answer.
export async function serve(folders, port = 0, headers = {}) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const name = path.endsWith("/") ? path + "index.html" : path;
    for (const folder of folders) {
      try {
        const bytes = await readFile(join(folder, name));
        const all = { "Content-Type": TYPES[extname(name)] ?? "application/octet-stream", "Cache-Control": "no-cache", ...headers };
        if (extname(name) === ".html") all["Content-Security-Policy"] = policyOf(bytes.toString());
        response.writeHead(200, all).end(bytes);
        return;
      } catch {
        // Perhaps the next folder has it.
      }
    }
    response.writeHead(404, { "Content-Type": "text/plain" }).end("there is no such file\n");
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => new Promise((done) => (server.close(done), server.closeAllConnections())),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, port, ...apps] = process.argv.slice(2);
  const app = fileURLToPath(new URL("../dist", import.meta.url));
  console.log((await serve([folder, ...apps, app], Number(port ?? 8000))).url);
}
