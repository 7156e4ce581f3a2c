import assert from "node:assert/strict";
import { test } from "node:test";
import { resultOf } from "../../src/operate/child-process.ts";
import { DamagedError, NotDoneError } from "../../src/operate/errors.ts";

test("what LMDB ends is damaged, and what something else ends is only not done", () => {
  const endedWith = (signal: NodeJS.Signals) => () =>
    resultOf({ code: null, signal, stdout: "", stderr: "" }, "a/database");
  for (const signal of ["SIGSEGV", "SIGBUS", "SIGABRT"] as const) assert.throws(endedWith(signal), DamagedError);
  for (const signal of ["SIGKILL", "SIGTERM"] as const) assert.throws(endedWith(signal), NotDoneError);
});
