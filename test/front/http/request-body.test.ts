import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call } from "../../../src/front/http/call.ts";
import { LARGE_BODY_BYTES, readBody } from "../../../src/front/http/request-body.ts";
import { fakeCall } from "../support/fake-call.ts";

test("large bodies are handled one in each event-loop iteration, small ones at once", async () => {
  const handled: string[] = [];
  const run = (when: string) => (call: Call) => void handled.push(`${when} ${call.path} ${call.body.length}`);
  const receive = (path: string, bytes: number): Call => {
    const { call } = fakeCall("POST", path);
    const chunk = new Uint8Array(bytes).fill(0x20);
    const source = {
      onAborted() {},
      onData(receive: (chunk: ArrayBuffer, isLast: boolean) => void) {
        receive(chunk.buffer, true);
        // As uWebSockets.js does.
        chunk.fill(0xff);
      },
    };
    readBody(source, call, bytes, { now: run("now"), later: run("later") });
    return call;
  };
  const large = LARGE_BODY_BYTES + 1;
  const calls = ["/a", "/gone", "/b", "/c"].map((path) => receive(path, large));
  receive("/small", LARGE_BODY_BYTES);
  calls[1]!.abort();
  assert.deepEqual(handled.splice(0), [`now /small ${LARGE_BODY_BYTES}`]);
  for (let iteration = 0; handled.length < 3; iteration++) {
    const before = handled.length;
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(handled.length - before <= 1 && iteration < 100);
  }
  assert.deepEqual(
    handled,
    ["/a", "/b", "/c"].map((path) => `later ${path} ${large}`),
  );
});
