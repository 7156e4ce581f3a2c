import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { INITIALISED_FILE } from "../../../src/store/files/genesis.ts";
import { openSecret, SECRET_FILE } from "../../../src/store/files/secret.ts";
import { temporary } from "../support/log-fixture.ts";

test("a secret is created once, readable by its owner only", (t) => {
  const dir = temporary(t);
  const secret = openSecret(dir);
  assert.equal(secret.length, 32);
  assert.deepEqual(openSecret(dir), secret);
  assert.equal(fs.statSync(join(dir, SECRET_FILE)).mode & 0o777, 0o600);
  assert.deepEqual(fs.readdirSync(dir), [SECRET_FILE]);
});

test("an empty secret is replaced before there is an exchange, and is damage afterwards", (t) => {
  const dir = temporary(t);
  const path = join(dir, SECRET_FILE);
  fs.writeFileSync(path, "");
  const secret = openSecret(dir);
  assert.deepEqual(fs.readFileSync(path), secret);
  fs.writeFileSync(path, "");
  fs.writeFileSync(join(dir, INITIALISED_FILE), "{}");
  assert.throws(() => openSecret(dir), /secret\.key: the file must have 32 bytes/);
  fs.rmSync(path);
  assert.throws(() => openSecret(dir), /secret\.key is missing/);
});

test("a secret of another length is refused and not changed", (t) => {
  const dir = temporary(t);
  fs.writeFileSync(join(dir, SECRET_FILE), "short");
  assert.throws(() => openSecret(dir), /secret\.key: the file must have 32 bytes/);
  assert.equal(fs.readFileSync(join(dir, SECRET_FILE), "utf8"), "short");
});
