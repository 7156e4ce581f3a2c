import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

/**
 * Bundles the pages for browsers into dist/terminal, which src/front/routes/pages.ts serves: NAME.html for each entry, and
 * assets/ with names that contain a hash of their content. Beside each file lie its brotli and gzip forms.
 */

const TOP = fileURLToPath(new URL("../../", import.meta.url));
const OUT = `${TOP}dist/terminal/`;

/** Pages by name: title and entry. Each page has its own document and bundle. */
const PAGES = {
  // The list of markets comes with the scripts: everything else waits for it.
  index: { title: "perpd", script: "src/terminal/app/main.tsx", reads: ["/v1/market/symbols"] },
  operator: { title: "perpd · Operator", script: "src/terminal/operator/main.tsx", reads: [] },
};

const options = {
  absWorkingDir: TOP,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "browser",
  target: ["chrome111", "firefox113", "safari16.4"],
  conditions: ["browser"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  legalComments: "none",
  outdir: OUT,
  entryNames: "assets/[name]-[hash]",
  chunkNames: "assets/[name]-[hash]",
  metafile: true,
  write: false,
  logLevel: "warning",
};

await rm(OUT, { recursive: true, force: true });
await mkdir(`${OUT}assets`, { recursive: true });
// Within the document: a file would be a request more for each page.
const icon = `data:image/svg+xml,${encodeURIComponent(await readFile(`${TOP}src/terminal/app/icon.svg`, "utf8"))}`;
for (const [name, page] of Object.entries(PAGES)) {
  // One build for each page: what two pages share would be a file of its own, and a request more for both.
  const { metafile, outputFiles } = await build({ ...options, entryPoints: [page.script] });
  for (const { path, contents } of outputFiles) await save(path, contents);
  await save(`${OUT}${name}.html`, Buffer.from(documentOf(page, metafile)));
}

function documentOf({ title, script, reads }, metafile) {
  const [path, output] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === script);
  const address = (file) => `/assets/${basename(file)}`;
  const preloads = output.imports
    .filter(({ kind }) => kind === "import-statement")
    .map(({ path }) => `<link rel="modulepreload" href="${address(path)}">`);
  const requests = reads.map((path) => `<link rel="preload" as="fetch" crossorigin href="${path}">`);
  return `<!doctype html>
<html lang="en" data-theme="dark">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${icon}">
<link rel="stylesheet" href="${address(output.cssBundle)}">
${[...preloads, ...requests, ""].join("\n")}<script type="module" src="${address(path)}"></script>
</head>
<body>
<noscript>This page needs JavaScript. The exchange also has an API: see /v1/docs.</noscript>
<div id="app"></div>
</body>
</html>
`;
}

async function save(path, contents) {
  const bytes = Buffer.from(contents);
  const quality = {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  };
  await writeFile(path, bytes);
  await writeFile(`${path}.br`, brotliCompressSync(bytes, quality));
  await writeFile(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
