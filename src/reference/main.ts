import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { referencePages } from "./pages.ts";

// `make docs`: writes the generated pages into the folder that is named.
const [folder = "docs/reference"] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(referencePages())) writeFileSync(join(folder, name), text);
