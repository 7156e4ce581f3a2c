import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Seen from the built file. */
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The folders of `test/units.test.ts`. */
export const SMALL_FOLDERS = [
  "actor",
  "client",
  "feed",
  "gateway",
  "replication",
  "sandbox",
  "store",
  "terminal",
  "wire",
];

/**
 * The test files of these folders have no server, and most run for some milliseconds. A process of its own would cost each
 * of them up to a second of processor time for the import of what it tests. So those of `core` share a process, which
 * `test/core.test.ts` starts, those of `front` another one, and those of the small folders a third.
 */
const SHARED_FOLDERS = ["core", "front", ...SMALL_FOLDERS];

/** A hook outside of a suite runs for all tests of the process, so a file with one has its own. */
const HAS_HOOK = /^(before|after|beforeEach|afterEach)\(/m;

/** Read from the sources, since dist may still hold deleted tests. */
function testFiles(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  // Some packages of test/generators bring tests of their own.
  const tests = names.filter((name) => name.endsWith(".test.ts") && !name.includes("node_modules"));
  return tests.map((name) => join(folder, name)).sort();
}

function sharesProcess(file: string): boolean {
  const isBelow = SHARED_FOLDERS.some((folder) => file.startsWith(join("test", folder, "/")));
  return isBelow && !HAS_HOOK.test(readFileSync(join(ROOT, file), "utf8"));
}

const builtFile = (file: string): string => join("dist", file.replace(/ts$/, "js"));

/** The built files that `node --test` starts, one process each. Paths below the root. */
export const processFiles = (): string[] =>
  testFiles("test")
    .filter((file) => !sharesProcess(file))
    .map(builtFile);

/** Imports the test files of these folders that share a process. */
export async function importShared(...folders: string[]): Promise<void> {
  const files = folders.flatMap((folder) => {
    const shared = testFiles(join("test", folder)).filter(sharesProcess);
    if (shared.length === 0) throw new Error(`no test file of test/${folder} shares a process`);
    return shared;
  });
  // One module that imports all of them: with an import each, node:test would run the first tests of a file while the
  // constants below them are not set yet.
  const urls = files.map((file) => pathToFileURL(join(ROOT, builtFile(file))).href);
  const imports = urls.map((url) => `import ${JSON.stringify(url)};`).join("\n");
  await import(`data:text/javascript,${encodeURIComponent(imports)}`);
}
