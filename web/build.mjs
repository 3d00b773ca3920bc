// Makes dist/ out of src/: one script and one style sheet, the same bytes on every machine.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
await mkdir(at("dist"), { recursive: true });
await build({
  absWorkingDir: at("."),
  entryPoints: { app: "src/main.ts", style: "src/style.css" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome109", "firefox115", "safari16.4"],
  charset: "ascii",
  legalComments: "eof",
});
await copyFile(at("src/index.html"), at("dist/index.html"));
