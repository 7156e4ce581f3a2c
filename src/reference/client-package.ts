import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { printNamespace } from "./client-types.ts";

/** The folders of the repository and of the built client. */
const TOP = fileURLToPath(new URL("../../../", import.meta.url));
const CLIENT = join(TOP, "dist/src/client");

/** "./orders.ts" in a line like: import type * as orders from "./orders.ts"; */
const NAMESPACE_IMPORT = /^import type \* as (\w+) from "(\.\.\/wire\/[^"]+)";\n/gm;
const TYPEBOX_IMPORT = /^import type \{ Static \} from "\.\.\/packages\/typebox\.ts";\n/m;
const LOCAL_IMPORT = /from "\.\/([\w-]+)\.ts"/g;

/** Where each kind of program finds the client and its types: below ".". */
const EXPORTS = {
  browser: { types: "./types/index.d.ts", default: "./browser.js" },
  require: { types: "./cjs/types/index.d.ts", default: "./cjs/index.js" },
  default: { types: "./types/index.d.ts", default: "./index.js" },
};

/**
 * Writes the package `perpd-client` into a folder, and replaces what is there: the client as one file for each kind of program,
 * and its types without those of typebox.
 */
export async function writeClientPackage(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const common: BuildOptions = { entryPoints: [join(CLIENT, "index.js")], bundle: true, logLevel: "warning" };
  await Promise.all([
    build({ ...common, platform: "node", format: "esm", external: ["ws"], outfile: join(folder, "index.js") }),
    build({ ...common, platform: "browser", format: "esm", outfile: join(folder, "browser.js") }),
    build({ ...common, platform: "node", format: "cjs", external: ["ws"], outfile: join(folder, "cjs/index.js") }),
  ]);
  const types = await clientTypes();
  for (const place of ["types", "cjs/types"]) {
    mkdirSync(join(folder, place), { recursive: true });
    for (const [name, text] of types) writeFileSync(join(folder, place, `${name}.d.ts`), text);
  }
  const json = (name: string, value: object) =>
    writeFileSync(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);
  json("package.json", manifest());
  // The name of a file alone would make it an ES module.
  json("cjs/package.json", { type: "commonjs" });
  cpSync(join(TOP, "LICENSE"), join(folder, "LICENSE"));
  cpSync(join(TOP, "docs/trading/clients.md"), join(folder, "README.md"));
}

function manifest(): object {
  const text = readFileSync(join(TOP, "package.json"), "utf8");
  const { version, license, engines, dependencies } = JSON.parse(text) as Record<string, Record<string, string>>;
  return {
    name: "perpd-client",
    version,
    description: "The TypeScript client of the perpd exchange, for Node and browsers.",
    license,
    type: "module",
    private: true,
    sideEffects: false,
    main: "./cjs/index.js",
    types: "./types/index.d.ts",
    exports: { ".": EXPORTS },
    engines,
    dependencies: { ws: dependencies.ws },
  };
}

/** The declarations that index.d.ts needs, by name. Schemas become plain types. */
async function clientTypes(): Promise<Map<string, string>> {
  const types = new Map<string, string>();
  const todo = ["index"];
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (types.has(name)) continue;
    const text = readFileSync(join(CLIENT, `${name}.d.ts`), "utf8");
    todo.push(...[...text.matchAll(LOCAL_IMPORT)].map(([, other]) => other));
    const modules = [...text.matchAll(NAMESPACE_IMPORT)].map(([, namespace, path]) => ({ namespace, path }));
    if (modules.length > 0) types.set("schemas", await printSchemas(modules));
    const names = ["Static", ...modules.map(({ namespace }) => namespace)].join(", ");
    const own = text.replace(TYPEBOX_IMPORT, `import type { ${names} } from "./schemas.ts";\n`);
    types.set(name, own.replace(NAMESPACE_IMPORT, "").replace(LOCAL_IMPORT, 'from "./$1.js"'));
  }
  return types;
}

async function printSchemas(modules: readonly { namespace: string; path: string }[]): Promise<string> {
  const namespaces = modules.map(async ({ namespace, path }) => {
    const file = join(CLIENT, path.replace(/\.ts$/, ".js"));
    return printNamespace(namespace, await import(file));
  });
  const head =
    "/** The value that a schema describes is declared as the schema itself. */\nexport type Static<T> = T;\n";
  return [head, ...(await Promise.all(namespaces))].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await writeClientPackage(process.argv[2] ?? join(TOP, "dist/client"));
