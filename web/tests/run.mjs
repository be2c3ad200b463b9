// Unit tests of the page's modules in Node: `node tests/run.mjs [NAME...]`. Each file is bundled, since Node reads no TypeScript.

import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const wanted = process.argv.slice(2);
const files = (await readdir(here)).filter(
  (name) => name.endsWith(".test.ts") && (wanted.length === 0 || wanted.some((part) => name.startsWith(part))),
);
if (files.length === 0) {
  console.error(`tests: no file begins with ${wanted.join(" or ")}`);
  process.exit(2);
}
const folder = await mkdtemp(join(tmpdir(), "lab-tests-"));
try {
  await esbuild.build({
    entryPoints: files.map((name) => join(here, name)),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".toml": "text", ".css": "empty" },
    logLevel: "error",
  });
  const tests = files.map((name) => join(folder, name.replace(/ts$/, "mjs")));
  process.exitCode = spawnSync(process.execPath, ["--test", ...tests], { stdio: "inherit" }).status ?? 1;
} finally {
  await rm(folder, { recursive: true });
}
