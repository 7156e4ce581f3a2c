import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { anchor } from "../../src/reference/markdown.ts";
import { referencePages } from "../../src/reference/pages.ts";

/** The tests run from where they were built to: the documents lie above. */
function topFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "docs/reference"))) folder = dirname(folder);
  return folder;
}

const top = topFolder();
const pages = [
  "README.md",
  ...readdirSync(join(top, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => join("docs", path)),
];

const read = (path: string): string => readFileSync(join(top, path), "utf8");

test("the generated pages of docs/reference are what make docs would write now", () => {
  for (const [name, text] of Object.entries(referencePages()))
    assert.equal(read(`docs/reference/${name}`), text, `docs/reference/${name} is stale: run make docs`);
});

test("docs/reference holds no page that is not generated", () => {
  assert.deepEqual(readdirSync(join(top, "docs/reference")).sort(), Object.keys(referencePages()).sort());
});

/** Without code: what looks like a link there is none. */
const withoutCode = (text: string): string => text.replace(/```[\s\S]*?```/g, "");

/** Anchors of a page's headings. */
const anchorsOf = (text: string): Set<string> =>
  new Set([...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchor(heading)));

/** Links to other files of the project, and to headings, that lead nowhere. */
function deadLinksOf(path: string): string[] {
  const links = [...withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [file = "", heading] = link.split("#");
      const target = file === "" ? path : join(dirname(path), file);
      if (!existsSync(join(top, target))) return true;
      return heading !== undefined && !anchorsOf(read(target)).has(heading);
    })
    .map((link) => `${path}: ${link}`);
}

test("no link of the README and the documents is dead", () => {
  assert.ok(pages.length > 10);
  assert.deepEqual(pages.flatMap(deadLinksOf), []);
});

test("every document can be reached from the index", () => {
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path) || !existsSync(join(top, path)) || !path.endsWith(".md")) return;
    seen.add(path);
    for (const [, link = ""] of withoutCode(read(path)).matchAll(/\]\(([^)\s#]+)[^)]*\)/g))
      if (!/^[a-z]+:/.test(link)) visit(join(dirname(path), link));
  };
  visit(join("docs", "README.md"));
  assert.deepEqual(
    pages.filter((path) => path !== "README.md" && !seen.has(path)),
    [],
  );
});
