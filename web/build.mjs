// Builds the page: `node build.mjs [FOLDER]`, into dist/ by default. Names of assets carry a hash of the content, so that they
// can be kept for ever; index.html and sw.js do not, and name the others. The folder is whole at any time: what is
// built stands beside it until it is complete.

import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, "dist"));
const dist = `${folder}.part`;
const assets = join(dist, "assets");

const shared = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "firefox115", "chrome111", "safari16.4"],
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  outdir: assets,
  metafile: true,
  loader: { ".toml": "text" },
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "linked",
};

/** Writes a file under a name with its hash; the name relative to the page. */
async function hashed(path, name, extension) {
  const content = await readFile(path);
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 8);
  const to = `${name}-${hash}${extension}`;
  await writeFile(join(assets, to), content);
  return `assets/${to}`;
}

/** What an entry became, relative to the page. */
function built({ metafile }, entry, extension) {
  const found = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === entry);
  if (!found) throw new Error(`${entry}: not built`);
  const path = extension === ".css" ? found[1].cssBundle : found[0];
  return `assets/${basename(path)}`;
}

async function files(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(dist, join(entry.parentPath, entry.name)));
}

await rm(dist, { recursive: true, force: true });
await mkdir(assets, { recursive: true });

const wasm = await hashed(join(here, "src/wasm/sojourn_bg.wasm"), "sojourn", ".wasm").catch((error) => {
  console.error(`build: ${error.message}; \`make web\` makes it from crates/wasm`);
  process.exit(2);
});
const worker = built(await esbuild.build({ ...shared, entryPoints: ["src/engine/worker.ts"] }), "src/engine/worker.ts");
const page = await esbuild.build({
  ...shared,
  entryPoints: ["src/main.tsx"],
  splitting: true,
  define: { WORKER_URL: JSON.stringify(worker), WASM_URL: JSON.stringify(wasm) },
});
const names = { js: built(page, "src/main.tsx"), css: built(page, "src/main.tsx", ".css"), wasm };
// The page's own style has that of views that come later, too: nothing loads theirs.
for (const name of await readdir(assets)) if (name.endsWith(".css") && `assets/${name}` !== names.css) await rm(join(assets, name));
const html = await readFile(join(here, "index.html"), "utf8");
await writeFile(
  join(dist, "index.html"),
  html.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => names[name]),
);
await cp(join(here, "public"), dist, { recursive: true });

const kept = (await files(dist)).filter((name) => !name.endsWith(".txt")).sort();
const contents = createHash("sha256");
for (const name of kept) contents.update(name).update(await readFile(join(dist, name)));
await esbuild.build({
  ...shared,
  entryPoints: ["src/sw.ts"],
  entryNames: "[name]",
  outdir: dist,
  define: { FILES: JSON.stringify(["./", ...kept]), VERSION: JSON.stringify(contents.digest("hex").slice(0, 12)) },
});

// What scenarios.py wrote stays.
await rename(join(folder, "scenarios"), join(dist, "scenarios")).catch(() => undefined);
await rm(folder, { recursive: true, force: true });
await rename(dist, folder);
