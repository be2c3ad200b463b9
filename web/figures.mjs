// Builds the live figures of the documentation: `node figures.mjs OUT`. OUT gets figure.js, figure.css, worker.js and
// sojourn.wasm, which find each other wherever the page is.

import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error("figures: expected the folder to write to");
  process.exit(2);
}
await mkdir(out, { recursive: true });
await copyFile(join(here, "src/wasm/sojourn_bg.wasm"), join(out, "sojourn.wasm")).catch((error) => {
  console.error(`figures: ${error.message}; \`make web\` makes it from crates/wasm`);
  process.exit(2);
});
await esbuild.build({
  absWorkingDir: here,
  entryPoints: [{ in: "src/figure/figure.ts", out: "figure" }, { in: "src/engine/worker.ts", out: "worker" }],
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "firefox115", "chrome111", "safari16.4"],
  legalComments: "linked",
  // Addresses are known once the module runs: figure.ts says them.
  define: { WORKER_URL: "sojournWorker", WASM_URL: "sojournModule" },
});
