import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import "../../../src/core/protocol/commands.ts";
import "../../../src/core/protocol/events.ts";
import "../../../src/core/protocol/replies.ts";
import "../../../src/core/protocol/snapshot-schema.ts";
import "../../../src/store/database/history-schema.ts";
import { MESSAGE_SCHEMAS } from "../../../src/core/protocol/message-schema.ts";

/**
 * The codec writes fields in the order of their declaration, without their names. Existing data folders hold the order
 * of this list: by code, each field with its kind unless that is a number. Append new fields and codes; rename a field
 * here when it is renamed there; never move or drop one.
 */
const fixture = new URL("../../../../test/core/protocol/field-order.json", import.meta.url);

test("every message and row keeps its code and the order of its fields, which is the order on disk", () => {
  const pinned: unknown = JSON.parse(readFileSync(fixture, "utf8"));
  const declared = [...MESSAGE_SCHEMAS.values()].map(({ code, fields }) => [
    code,
    Object.entries(fields)
      .map(([name, kind]) => (kind === "number" ? name : `${name}:${kind}`))
      .join(" "),
  ]);
  assert.deepEqual(Object.fromEntries(declared), pinned);
});
