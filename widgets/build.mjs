// Bundles every view in src/*.js, the script of static pages, and the style sheet, into mixnet/widgets/static.
// The same sources give the same bytes; the results are committed.
//
//   npm ci && npm run build            node build.mjs --out FOLDER
import { build } from "esbuild";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const at = process.argv.indexOf("--out");
const out = at > 0 ? process.argv[at + 1] : join(here, "..", "mixnet", "widgets", "static");
const entries = readdirSync(join(here, "src")).filter((name) => /\.(js|css)$/.test(name));
await build({
  entryPoints: entries.map((name) => join(here, "src", name)),
  bundle: true,
  format: "esm",
  minify: true,
  charset: "ascii",
  target: ["es2022", "chrome110", "firefox110", "safari16"],
  legalComments: "none",
  outdir: out,
  logLevel: "warning",
});
