import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

/** What an installation of perpd brings, and what it may run: docs/operating/security.md. */

interface Package {
  version?: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  dev?: boolean;
  hasInstallScript?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Package> };
const nameOf = (path: string): string => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
const installed = Object.entries(packages).filter(([path]) => path.includes("node_modules/"));

/** A binary for other systems than Linux on x64 or arm64. The registry may not have it, so its checksum may be unknown. */
const isForOthers = ({ optional, os = [], cpu = [], libc = [] }: Package): boolean =>
  optional === true && (!os.includes("linux") || libc.includes("musl") || cpu.includes("arm"));

test("the lock file names every package of every platform, so npm ci takes it", () => {
  const missing: string[] = [];
  for (const [path, { dependencies, optionalDependencies }] of installed)
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const inside = `${path}/node_modules/${name}`;
      const beside = `${path.slice(0, path.lastIndexOf("node_modules/"))}node_modules/${name}`;
      if (![inside, beside, `node_modules/${name}`].some((place) => place in packages))
        missing.push(`${path}: ${name}`);
    }
  assert.deepEqual(missing, []);
});

test("every package has a checksum and comes from npm's registry or from this repository", () => {
  for (const [path, each] of installed) {
    const { resolved, integrity, link } = each;
    if (link === true) {
      assert.ok(resolved?.startsWith("src/vendor/"), path);
      continue;
    }
    if (!isForOthers(each)) assert.match(integrity ?? "", /^sha512-/, path);
    assert.ok(resolved === undefined || resolved.startsWith("https://registry.npmjs.org/"), `${path}: ${resolved}`);
  }
  assert.ok(installed.length > 100);
});

test("no package runs a program at its installation, and those that would are named", () => {
  assert.match(read(".npmrc"), /^ignore-scripts=true$/m);
  const scripted = installed.filter(([, each]) => each.hasInstallScript === true).map(([path]) => nameOf(path));
  const section = read("docs/operating/security.md").split("## What is installed")[1] ?? "";
  const named = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
  assert.deepEqual(named.toSorted(), scripted.toSorted());
});

test("no package reports to anybody", () => {
  assert.deepEqual(
    installed.filter(([path]) => nameOf(path).startsWith("@scarf/")).map(([path]) => path),
    [],
  );
});

/** Paths in node_modules of the native binaries that Linux on x64 can load, with their SHA-256. */
const CHECKSUMS = JSON.parse(read("test/fixtures/native-binaries.json")) as Record<string, string>;
const MODULES = realpathSync(join(ROOT, "node_modules"));

/** Those of packages that a running exchange may load. */
function nativeBinaries(): string[] {
  const folders = installed.filter(([path, { dev }]) => dev !== true && path.lastIndexOf("node_modules/") === 0);
  return folders.flatMap(([path]) => {
    const folder = join(MODULES, nameOf(path));
    if (!existsSync(folder)) return [];
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    return files.filter((file) => file.endsWith(".node")).map((file) => join(nameOf(path), file));
  });
}

/** Paths of the native binaries that this process has loaded. */
function loadedBinaries(): string[] {
  const { sharedObjects } = process.report!.getReport() as unknown as { sharedObjects: string[] };
  return sharedObjects.filter((path) => path.endsWith(".node")).map((path) => relative(MODULES, realpathSync(path)));
}

test("native binaries have their recorded checksums, and no other one is loaded", async (t) => {
  const unchecked = nativeBinaries().filter((path) => CHECKSUMS[path] === undefined);
  t.diagnostic(`unchecked, since Linux on x64 does not load them: ${unchecked.join(", ")}`);
  if (process.platform !== "linux" || process.arch !== "x64") return t.skip("the checksums are those of Linux on x64");
  for (const [path, checksum] of Object.entries(CHECKSUMS))
    assert.equal(sha256(readFileSync(join(MODULES, path))), checksum, path);
  await Promise.all(["lmdb", "msgpackr", "piscina", "uWebSockets.js", "ws"].map((name) => import(name)));
  const loaded = loadedBinaries();
  assert.deepEqual(
    loaded.filter((path) => CHECKSUMS[path] === undefined),
    [],
  );
  for (const name of ["lmdb", "msgpackr-extract", "uWebSockets"])
    assert.ok(
      loaded.some((path) => path.includes(name)),
      `${name} is loaded: ${loaded}`,
    );
});

test("the script of the reference page is the one of Scalar's package", () => {
  const folder = "src/vendor/scalar-api-reference";
  const [checksum] = /[0-9a-f]{64}/.exec(read(`${folder}/README.md`)) ?? [];
  const script = brotliDecompressSync(readFileSync(join(ROOT, folder, "standalone.js.br")));
  assert.equal(sha256(script), checksum);
  const { name, version } = JSON.parse(read(`${folder}/package.json`)) as { name: string; version: string };
  assert.ok(script.subarray(0, 1000).includes(`${name} ${version}\n`));
});
