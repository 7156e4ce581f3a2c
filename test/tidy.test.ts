import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/**
 * Rules of the code base that a compiler does not check: which folder may import which, which file alone may import a
 * package, how many files a folder may hold, and what the core must not use
 * (docs/internals/code-map.md). Read from the sources, type imports included.
 */

/** A room is a folder of `src`. It imports from itself and from rooms of earlier lines, never from one of its own line. */
const ROOMS = [
  ["assert", "packages"],
  ["core"],
  ["wire", "config"],
  ["store", "client"],
  ["replication"],
  ["actor", "ccxt", "cli", "examples", "terminal"],
  ["front", "sandbox", "feed", "workers", "operate"],
  ["gateway"],
  ["reference"],
  ["main"],
  ["test", "bench"],
];

/** The sub-folders of rooms: the same rule. Files directly in a room may import all of its sub-folders; "" is their place. */
const SUB_FOLDERS: Record<string, string[][]> = {
  core: [
    ["base"],
    ["accounts"],
    ["protocol"],
    ["formulas", "ledger", "market-data"],
    ["state"],
    ["apply"],
    ["margin"],
    ["matching", "pricing"],
    ["audit", "liquidation"],
    ["settlement"],
    ["commands"],
    [""],
  ],
  wire: [["errors"], [""], ["schema"]],
  store: [["files"], ["database", "log"], ["history", "registry"], ["indexer"]],
  actor: [["threads"], ["engine"], ["host"]],
  terminal: [
    ["styles", "text"],
    ["state"],
    ["dialogs", "plots"],
    ["order-form"],
    ["account", "book", "chart", "market", "tables"],
    ["app", "operator"],
  ],
  front: [
    ["common", "streams/base"],
    ["json"],
    ["http"],
    ["exchange"],
    ["auth", "streams/market", "trading/parsing"],
    ["routing"],
    ["streams/account"],
    ["streams"],
    ["trading/fast-path"],
    ["trading"],
    ["documents", "websocket"],
    ["routes/account", "routes/auth", "routes/market", "routes/operator", "routes/orders", "routes/positions"],
    ["routes"],
  ],
};

/** More files than a reader takes in at a glance. */
const MAX_FILES_PER_FOLDER = 20;

/** Speaks to NATS. */
const NATS = ["nats.ts", "appender.ts", "nats-answers.ts", "nats-lease.ts"].map((name) => `src/replication/${name}`);

/** What carries a rule of its own may be imported only by these files, or by files in these folders. */
const SINGLE_IMPORTS: Record<string, string[]> = {
  "decimal.js": ["src/core/base/units.ts"],
  msgpackr: ["src/wire/codec.ts"],
  piscina: ["src/actor/host/pools.ts"],
  "uWebSockets.js": ["src/front/http/server.ts"],
  lmdb: ["src/store/"],
  "@nats-io/transport-node": [...NATS, "bench/replication.ts"],
  "@nats-io/jetstream": [...NATS, "bench/replication.ts"],
  "@nats-io/kv": NATS,
  ccxt: ["src/ccxt/", "src/feed/sources.ts", "src/examples/ccxt-market-maker.ts"],
  ws: ["src/client/websocket.ts"],
  "cli-table3": ["src/cli/table.ts"],
  viem: ["src/packages/viem.ts", "src/cli/wallet.ts"],
  typebox: ["src/packages/typebox.ts"],
  pino: ["src/process-log.ts", "src/exchange.ts"],
  // The last one is a program of its own.
  "node:worker_threads": ["src/actor/", "src/store/files/process-exit.ts", "src/store/database/database-probe-main.ts"],
};

/** What only these files may say: shared memory is theirs to order. */
const ATOMICS = [
  "src/core/accounts/margin-memory.ts",
  "src/core/accounts/liquidation-bids.ts",
  "src/core/accounts/weak-accounts.ts",
  "src/wire/ring.ts",
  "src/actor/threads/control.ts",
  "src/store/database/client-id-filter.ts",
  "src/store/database/database-probe-main.ts",
  "src/store/files/process-exit.ts",
];

/** What alone may throw dice in the core: nothing that is decided depends on them. */
const DICE = ["src/core/base/client-id-hash.ts"];

/** The core reads no clock, throws no dice, waits for nothing and talks to nobody. */
const NOT_IN_CORE =
  /\b(Date\.now|new Date\(\)|performance|Math\.random|random\w+|console|setTimeout|setInterval|setImmediate|queueMicrotask|process|fetch|await|async)\b/;
/** Pure arithmetic. */
const NODE_IN_CORE = ["node:crypto"];

type Tree = Map<string, string>;

/** Every fault of a tree of sources, by path from the top, in words. */
function faultsOf(tree: Tree): string[] {
  const faults: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [path, text] of tree) {
    if (!ROOMS.flat().includes(roomOf(path))) {
      faults.push(`${path}: ${roomOf(path)} is no room; give it a place in ROOMS`);
      continue;
    }
    const code = withoutComments(text);
    const imports = importsOf(code);
    const files = imports.filter((name) => name.startsWith(".")).map((name) => posix.join(posix.dirname(path), name));
    const packages = imports.filter((name) => !name.startsWith("."));
    graph.set(path, files);
    for (const file of files) {
      if (!tree.has(file)) faults.push(`${path} imports ${file}, which does not exist`);
      else if (!mayImport(path, file)) faults.push(`${path} (${roomOf(path)}) imports ${file} (${roomOf(file)})`);
      else if (roomOf(path) === roomOf(file)) faults.push(...faultsBetweenFolders(path, file));
    }
    if (isProduct(path)) faults.push(...faultsOfProduct(path, code, packages));
  }
  return [...faults, ...fullFolders(tree), ...cyclesOf(graph)];
}

/** Of an import within a room. */
function faultsBetweenFolders(from: string, to: string): string[] {
  const room = roomOf(from);
  const folders = SUB_FOLDERS[room];
  if (folders === undefined || subFolderOf(from) === subFolderOf(to)) return [];
  const rank = (path: string): number => folders.findIndex((names) => names.includes(subFolderOf(path)));
  for (const path of [from, to])
    if (rank(path) < 0)
      return [`${path}: ${subFolderOf(path)} is no sub-folder of ${room}; give it a place in SUB_FOLDERS`];
  return rank(to) < rank(from)
    ? []
    : [`${from} imports ${to}: ${subFolderOf(to)} does not come before ${subFolderOf(from)}`];
}

/** src/front/streams/base/stream.ts → streams/base; src/core/symbol.ts → "". */
const subFolderOf = (path: string): string => posix.dirname(path).split("/").slice(2).join("/");

function fullFolders(tree: Tree): string[] {
  const counts = new Map<string, number>();
  for (const path of tree.keys()) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > MAX_FILES_PER_FOLDER)
    .map(([folder, count]) => `${folder} holds ${count} files, more than ${MAX_FILES_PER_FOLDER}`);
}

function faultsOfProduct(path: string, code: string, packages: readonly string[]): string[] {
  const faults: string[] = [];
  for (const name of packages) {
    const [whole] = Object.keys(SINGLE_IMPORTS).filter((rule) => name === rule || name.startsWith(`${rule}/`));
    if (whole !== undefined && !SINGLE_IMPORTS[whole].some((place) => isAt(path, place)))
      faults.push(`${path} imports ${name}, which only ${SINGLE_IMPORTS[whole].join(", ")} may`);
    if (roomOf(path) === "core" && name.startsWith("node:") && !NODE_IN_CORE.includes(name))
      faults.push(`${path} imports ${name}: the core does no I/O`);
  }
  if (/\bAtomics\b/.test(code) && !ATOMICS.includes(path)) faults.push(`${path} orders shared memory by itself`);
  const word = roomOf(path) === "core" && !DICE.includes(path) ? NOT_IN_CORE.exec(withoutTexts(code))?.[0] : undefined;
  if (word !== undefined) faults.push(`${path} says ${word}: it has no place in the core`);
  return faults;
}

const isAt = (path: string, place: string): boolean => (place.endsWith("/") ? path.startsWith(place) : path === place);
const isProduct = (path: string): boolean => path.startsWith("src/") || path.startsWith("workers/");

/** src/core/state/book.ts → core; src/config.ts → config; src/main.ts and what it is made of → main; workers/actor.ts → workers. */
function roomOf(path: string): string {
  const [top, next, ...deeper] = path.split("/");
  if (top !== "src") return top;
  const name = next.replace(/\.ts$/, "");
  return deeper.length > 0 || ROOMS.flat().includes(name) ? name : "main";
}

function mayImport(from: string, to: string): boolean {
  const rank = (path: string): number => ROOMS.findIndex((rooms) => rooms.includes(roomOf(path)));
  return roomOf(from) === roomOf(to) || rank(to) < rank(from) || rank(from) === ROOMS.length - 1;
}

/** Texts are found together with comments, since one may hold what looks like the other. */
const PIECES = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
const withoutTexts = (code: string): string => code.replace(PIECES, '""');
/** Names of files and packages stand in double quotes, always: the formatter sees to it. */
const withoutComments = (code: string): string =>
  code.replace(PIECES, (piece) => (piece.startsWith('"') ? piece : " "));

/** `import … from "x"`, `export … from "x"`, `import "x"` and `import("x")`, types included. */
function importsOf(code: string): string[] {
  const statements = code.matchAll(/\b(?:from|import)\s*\(?\s*"([^"\n]+)"/g);
  return [...statements].map(([, name]) => name);
}

/** One fault for each knot of files that import each other. */
function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const reach = new Map<string, Set<string>>();
  for (const start of graph.keys()) {
    const seen = new Set<string>();
    const todo = [...(graph.get(start) ?? [])];
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      todo.push(...(graph.get(next) ?? []));
    }
    reach.set(start, seen);
  }
  const knots = [...graph.keys()]
    .filter((path) => reach.get(path)?.has(path))
    .map((path) => [...(reach.get(path) as Set<string>)].filter((other) => reach.get(other)?.has(path)).sort());
  return [...new Set(knots.map((knot) => `import each other: ${knot.join(", ")}`))];
}

/** The tests run from where they were built to: the sources lie above that, or where the command was given. */
function topFolder(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder))
    if (existsSync(join(folder, "src/assert.ts"))) return folder;
  return process.cwd();
}

function readTree(): Tree {
  const top = topFolder();
  const tree: Tree = new Map();
  for (const folder of ["src", "workers", "test", "bench"])
    for (const name of readdirSync(join(top, folder), { recursive: true, encoding: "utf8" })) {
      const path = posix.join(folder, name.replaceAll("\\", "/"));
      // These are programs of their own: they import clients that a test generates.
      if (path.startsWith("test/generators/")) continue;
      if (/\.(tsx?|css)$/.test(path)) tree.set(path, readFileSync(join(top, path), "utf8"));
    }
  return tree;
}

test("every line is in its room", () => {
  const tree = readTree();
  // An empty tree is tidy, too.
  for (const path of ["src/core/symbol.ts", "src/wire/codec.ts", "workers/actor.ts", "test/tidy.test.ts"])
    assert.ok(tree.has(path), path);
  assert.deepEqual(faultsOf(tree), []);
});

test("a line in the wrong room is named", () => {
  const faults = (path: string, text: string, ...others: string[]): string[] =>
    faultsOf(new Map([[path, text], ...others.map((other): [string, string] => [other, ""])]));
  const cases: [string, string, string[], RegExp | null][] = [
    [
      "src/core/a.ts",
      'import { a } from "../wire/b.ts";',
      ["src/wire/b.ts"],
      /src\/core\/a\.ts \(core\) imports .*\(wire\)/,
    ],
    ["src/core/a.ts", 'import type { a } from "../wire/b.ts";', ["src/wire/b.ts"], /\(core\) imports/],
    ["src/core/a.ts", 'export * from "../wire/b.ts";', ["src/wire/b.ts"], /\(core\) imports/],
    ["src/core/a.ts", 'import "../wire/b.ts";', ["src/wire/b.ts"], /\(core\) imports/],
    ["src/core/a.ts", 'const b = import("../wire/b.ts");', ["src/wire/b.ts"], /\(core\) imports/],
    ["src/core/a.ts", 'import {\n  a,\n  b,\n} from "../wire/b.ts";', ["src/wire/b.ts"], /\(core\) imports/],
    ["src/core/a.ts", '// import "../wire/b.ts";', ["src/wire/b.ts"], null],
    ["src/core/a.ts", 'import { a } from "./b.ts";', ["src/core/b.ts"], null],
    ["src/core/a.ts", 'import { a } from "./b.ts";', [], /does not exist/],
    ["src/wire/a.ts", 'import { a } from "../config.ts";', ["src/config.ts"], /\(wire\) imports .*\(config\)/],
    ["src/wire/a.ts", 'import { a } from "../core/b.ts";', ["src/core/b.ts"], null],
    ["src/front/a.ts", 'import { a } from "../sandbox/b.ts";', ["src/sandbox/b.ts"], /\(front\) imports .*\(sandbox\)/],
    ["src/front/a.ts", 'import { a } from "../welcome.ts";', ["src/welcome.ts"], /\(front\) imports .*\(main\)/],
    ["src/main.ts", 'import { a } from "./front/b.ts";', ["src/front/b.ts"], null],
    ["src/main.ts", 'import { a } from "../test/b.ts";', ["test/b.ts"], /\(main\) imports .*\(test\)/],
    ["workers/a.ts", 'export { a } from "../src/front/b.ts";', ["src/front/b.ts"], /\(workers\) imports/],
    ["bench/a.ts", 'import { a } from "../test/b.ts";', ["test/b.ts"], null],
    [
      "src/wire/a.ts",
      'import { Decimal } from "decimal.js";',
      [],
      /imports decimal\.js, which only src\/core\/base\/units\.ts may/,
    ],
    ["src/core/base/units.ts", 'import { Decimal } from "decimal.js";', [], null],
    ["src/store/a.ts", 'import { open } from "lmdb";', [], null],
    ["src/front/a.ts", 'import { getAddress } from "viem/utils";', [], /imports viem\/utils/],
    ["src/packages/typebox.ts", 'export { Check } from "typebox/schema";', [], null],
    ["bench/a.ts", 'import uWS from "uWebSockets.js";', [], null],
    ["src/core/a.ts", 'import { readFileSync } from "node:fs";', [], /the core does no I\/O/],
    ["src/core/a.ts", 'import { createHash } from "node:crypto";', [], null],
    ["src/kitchen/a.ts", "export {};", [], /kitchen is no room/],
    ["src/core/a.ts", "const t = Date.now();", [], /says Date\.now/],
    ["src/core/a.ts", "const t = Math.random();", [], /says Math\.random/],
    ["src/core/a.ts", "setTimeout(f, 1);", [], /says setTimeout/],
    ["src/core/a.ts", 'console.log("x");', [], /says console/],
    ["src/core/a.ts", "/** Date.now() */ const x = 'Date.now()'; // console", [], null],
    ["src/front/a.ts", "const t = Date.now();", [], null],
    ["src/store/a.ts", "Atomics.add(cells, 0, 1);", [], /orders shared memory/],
    ["src/wire/ring.ts", "Atomics.add(cells, 0, 1);", [], null],
    [
      "src/core/state/a.ts",
      'import type { b } from "../matching/b.ts";',
      ["src/core/matching/b.ts"],
      /matching does not come before state/,
    ],
    [
      "src/core/matching/a.ts",
      'import { b } from "../pricing/b.ts";',
      ["src/core/pricing/b.ts"],
      /does not come before/,
    ],
    ["src/core/matching/a.ts", 'import { b } from "../state/b.ts";', ["src/core/state/b.ts"], null],
    ["src/core/a.ts", 'import { b } from "./matching/b.ts";', ["src/core/matching/b.ts"], null],
    ["src/core/matching/a.ts", 'import { b } from "../b.ts";', ["src/core/b.ts"], /does not come before matching/],
    ["src/core/state/a.ts", 'import { b } from "../kitchen/b.ts";', ["src/core/kitchen/b.ts"], /no sub-folder of core/],
  ];
  for (const [path, text, others, expected] of cases) {
    const found = faults(path, text, ...others);
    if (expected === null) assert.deepEqual(found, [], text);
    else {
      assert.equal(found.length, 1, `${text}: ${found}`);
      assert.match(found[0], expected);
    }
  }
});

test("files that import each other are named together", () => {
  const tree = new Map([
    ["src/core/a.ts", 'import { b } from "./b.ts";'],
    ["src/core/b.ts", 'import type { c } from "./c.ts";'],
    ["src/core/c.ts", 'import { a } from "./a.ts";'],
    ["src/core/d.ts", 'import { a } from "./a.ts";'],
  ]);
  assert.deepEqual(faultsOf(tree), ["import each other: src/core/a.ts, src/core/b.ts, src/core/c.ts"]);
});

test("a folder with too many files is named", () => {
  const files = (count: number): Tree =>
    new Map(Array.from({ length: count }, (_, i) => [`src/core/base/f${i}.ts`, ""]));
  assert.deepEqual(faultsOf(files(MAX_FILES_PER_FOLDER)), []);
  assert.deepEqual(faultsOf(files(MAX_FILES_PER_FOLDER + 1)), ["src/core/base holds 21 files, more than 20"]);
});
