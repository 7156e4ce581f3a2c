import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { writeClientPackage } from "../../src/reference/client-package.ts";

/** Where package.json lies; the tests run from dist/test/client. */
const TOP = fileURLToPath(new URL("../../../", import.meta.url));

interface Manifest {
  files: string[];
  exports: Record<string, string>;
  imports: Record<string, Record<string, string>>;
}
const { exports, imports, files: packed } = JSON.parse(readFileSync(join(TOP, "package.json"), "utf8")) as Manifest;

/** All files and packages that a built file needs in order to run, on a platform of package.json. */
function reach(entry: string, platform = "default"): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const todo = [entry];
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const [, name] of readFileSync(file, "utf8").matchAll(/\b(?:from|import)\s*\(?\s*["']([^"'\n]+)["']/g)) {
      if (name === undefined) continue;
      if (name.startsWith(".")) todo.push(resolve(dirname(file), name));
      else if (name.startsWith("#")) todo.push(join(TOP, imports[name][platform]));
      else packages.add(name);
    }
  }
  return { files, packages };
}

test("perpd/client contains no code of the server, and nothing but its own for browsers", () => {
  const { files, packages } = reach(join(TOP, exports["./client"] as string));
  const home = join(TOP, "dist/src/client/");
  assert.ok(files.size > 4);
  assert.deepEqual(
    [...files].filter((file) => !file.startsWith(home)),
    [],
  );
  assert.deepEqual([...packages], ["ws"]);
  assert.deepEqual([...reach(join(TOP, exports["./client"]), "browser").packages], []);
});

test("a bundler for browsers takes perpd/client as it is", async () => {
  const entryPoints = [join(TOP, exports["./client"])];
  const options = { platform: "browser", bundle: true, write: false, metafile: true, logLevel: "silent" } as const;
  const { warnings, metafile } = await build({ entryPoints, ...options });
  assert.deepEqual(warnings, []);
  const inputs = Object.entries(metafile.inputs);
  assert.ok(inputs.some(([path]) => path.endsWith("websocket-browser.js")));
  for (const [path, { imports }] of inputs) {
    assert.match(path, /dist\/src\/client\//);
    for (const { path: imported, external } of imports) assert.ok(external !== true, imported);
  }
});

test("perpd/ccxt contains no code of the server", () => {
  const { files, packages } = reach(join(TOP, exports["./ccxt"] as string));
  const homes = [join(TOP, "dist/src/ccxt/"), join(TOP, "dist/src/client/")];
  assert.deepEqual(
    [...files].filter((file) => !homes.some((home) => file.startsWith(home))),
    [],
  );
  assert.deepEqual([...packages].filter((name) => !name.startsWith("node:")).toSorted(), ["ccxt"]);
});

/** Their error codes are those of the schema in perpd-client, and all codes in perpd/client. */
const NARROWER = ["MaxOrderSize", "BatchResult", "BatchResults"];

/** TypeScript that compiles only if each type of perpd-client takes the values of its twin in perpd/client, and back. */
function sameTypes(): string {
  const text = readFileSync(join(TOP, "src/client/types.ts"), "utf8");
  const names = [...text.matchAll(/^export (?:type|interface) (\w+)\b(?!<)/gm)].map(([, name]) => name);
  assert.ok(names.length > 100);
  const check = (name: string): string => {
    const extend = NARROWER.includes(name) ? "Extends" : "Same";
    return `export const ${name}: ${extend}<alone.${name}, whole.${name}> = true;`;
  };
  return [
    'import type * as whole from "perpd/client";',
    'import type * as alone from "perpd-client";',
    "type Extends<A, B> = [A] extends [B] ? true : false;",
    "type Same<A, B> = Extends<A, B> & Extends<B, A>;",
    ...names.map(check),
  ].join("\n");
}

test("a program that installs the package gets the client, the ccxt class and their types, also of the client alone", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-user-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(TOP, join(folder, "node_modules/perpd"));
  for (const name of ["ccxt", "ws"]) symlinkSync(join(TOP, "node_modules", name), join(folder, "node_modules", name));
  const client = join(TOP, "dist/client");
  await writeClientPackage(client);
  symlinkSync(client, join(folder, "node_modules/perpd-client"));
  const use = `import type { Order } from "ccxt";
import { perpd } from "perpd/ccxt";
import { type ChannelRequest, PerpdClient, type NewOrder } from "perpd/client";
const client = new PerpdClient({ baseUrl: "http://127.0.0.1:1/v1", retries: 0 });
const order: NewOrder = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "1", quantity: "1" };
export const placed: Promise<string> = client.placeOrder(order).then(({ orderId }) => orderId);
// @ts-expect-error: prices are strings
client.placeOrder({ ...order, price: 1 }).catch(() => {});
// @ts-expect-error: the exchange keeps no stream of that depth
export const watched: ChannelRequest = { channel: "orderbook", symbol: "BTC-PERP", depth: 7 };
const exchange = new perpd({ apiKey: "k", secret: "s" });
export const create: (amount: number) => Promise<Order> = (amount) =>
  exchange.createOrder("BTC/USDC:USDC", "market", "buy", amount);
`;
  const required = `import { type NewOrder, PerpdClient } from "perpd";
import { type NewOrder as Same, PerpdClient as Alone } from "perpd-client";
export const orders = (order: NewOrder): Same => order;
export const clients = [PerpdClient, Alone].map((Client) => new Client({ baseUrl: "http://127.0.0.1:1/v1", retries: 0 }));
// @ts-expect-error: prices are strings
clients[0]?.placeOrder({ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: 1, quantity: "1" });
`;
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "use.ts"), use);
  writeFileSync(join(folder, "same.ts"), sameTypes());
  writeFileSync(join(folder, "required.cts"), required);
  const tsc = join(TOP, "node_modules/typescript/bin/tsc");
  const flags = ["--strict", "--module", "nodenext", "--target", "es2023", "--skipLibCheck", "--types", ""];
  const checked = spawnSync(process.execPath, [tsc, ...flags, "use.ts", "same.ts", "required.cts"], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(checked.status, 0, checked.stdout + checked.stderr);
  const run = 'import("./use.js").then(({ placed }) => placed).catch(({ message }) => console.log(message))';
  const ran = spawnSync(process.execPath, ["-e", run], { cwd: folder, encoding: "utf8" });
  assert.equal(ran.stdout, "fetch failed\n", ran.stderr);
  const ask = 'require("./required.cjs").clients[1].time().catch(({ message }) => console.log(message))';
  const asked = spawnSync(process.execPath, ["-e", ask], { cwd: folder, encoding: "utf8" });
  assert.equal(asked.stdout, "fetch failed\n", asked.stderr);
});

test("the package, installed in an empty folder, serves the terminal and the console with all they load", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-installed-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, "node_modules/perpd");
  mkdirSync(home, { recursive: true });
  // As npm install does it, without a registry: what the package needs lies beside it.
  const flags = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = spawnSync("npm", flags, { cwd: TOP, encoding: "utf8" });
  spawnSync("tar", ["-xzf", join(folder, stdout.trim()), "-C", home, "--strip-components=1"]);
  symlinkSync(join(TOP, "node_modules"), join(home, "node_modules"));
  const program = join(home, "dist/src/main.js");
  const child = spawn(process.execPath, [program, "start", "--port", "0", "--data", join(folder, "data"), "--no-bots"]);
  t.after(() => child.kill("SIGKILL"));
  const origin = await new Promise<string>((resolve, reject) => {
    let output = "";
    child.once("exit", () => reject(new Error(output)));
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
        const address = /(http:\/\/127\.0\.0\.1:\d+)\/v1/.exec(output);
        if (address !== null) resolve(address[1]);
      });
  });
  const read = async (path: string): Promise<string> => {
    const reply = await fetch(origin + path);
    assert.equal(reply.status, 200, path);
    return reply.text();
  };
  const seen = new Set<string>();
  for (const page of ["/", "/operator"])
    for (const todo = [page]; todo.length > 0; ) {
      const text = await read(todo.pop() as string);
      for (const [, name] of text.matchAll(/["'](?:\/assets\/|\.\/)([\w.-]+-[A-Z0-9]{8}\.(?:js|css))["']/g)) {
        if (!seen.has(name)) todo.push(`/assets/${name}`);
        seen.add(name);
      }
    }
  // Those that the pages load later, too, such as the charts.
  const built = readdirSync(join(TOP, "dist/terminal/assets")).filter((name) => /\.(js|css)$/.test(name));
  assert.deepEqual([...seen].toSorted(), built.toSorted());
});

test("npm pack takes the client for require, the examples and the documents", () => {
  const { require: required, default: imported } = exports["."] as unknown as { require: object; default: string };
  const wanted = [...Object.values(required), imported, "docs/README.md", "src/examples/trade.py"];
  for (const path of wanted.map((each: string) => each.replace("./", ""))) {
    assert.ok(existsSync(join(TOP, path)), path);
    assert.ok(
      packed.some((folder) => path.startsWith(`${folder}/`)),
      path,
    );
  }
});
