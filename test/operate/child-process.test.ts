import assert from "node:assert/strict";
import { test } from "node:test";
import { resultOf } from "../../src/operate/child-process.ts";
import { DamagedError, NotDoneError } from "../../src/operate/errors.ts";

test("a child ended by LMDB means damage; one ended by another signal does not", () => {
  const endedWith = (signal: NodeJS.Signals) => () =>
    resultOf({ code: null, signal, stdout: "", stderr: "" }, "a/database");
  for (const signal of ["SIGSEGV", "SIGBUS", "SIGABRT"] as const) assert.throws(endedWith(signal), DamagedError);
  for (const signal of ["SIGKILL", "SIGTERM"] as const) assert.throws(endedWith(signal), NotDoneError);
});
