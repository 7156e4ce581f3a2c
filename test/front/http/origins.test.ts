import assert from "node:assert/strict";
import { test } from "node:test";
import { ANY_ORIGIN, Origins } from "../../../src/front/http/origins.ts";
import { fakeCall } from "../support/fake-call.ts";

const SITE = "https://app.example.com";

/** The headers of CORS that a page of this origin gets, and if it is foreign; null when it is refused. */
function admit(allowed: string[], method: string, origin: string, host = "exchange.example.com") {
  const { call, response } = fakeCall(method, "/");
  Object.assign(call, { origin, host });
  try {
    new Origins(allowed).admit(call);
  } catch {
    return null;
  }
  call.reply(204, "");
  const names = ["origin", "methods", "headers"].map((name) => `access-control-allow-${name}`);
  return [call.isForeign, ...names.map((name) => response.headers[name])];
}

test("with * every page may read public data, and those of the listed sites may do everything", () => {
  const both = [ANY_ORIGIN, SITE];
  const [isForeign, origin, methods, headers] = admit(both, "OPTIONS", SITE) ?? [];
  assert.deepEqual([isForeign, origin], [false, SITE]);
  assert.match(String(methods), /POST.*DELETE/);
  assert.match(String(headers), /Authorization/);
  for (const other of ["https://evil.example", "null", "*", `${SITE}.evil.example`]) {
    assert.deepEqual(admit(both, "OPTIONS", other), [true, "*", "GET", "Content-Type"], other);
    // The router adds the header to what is public.
    assert.deepEqual(admit(both, "GET", other), [true, undefined, undefined, undefined], other);
  }
});

test("the exchange's own pages may do everything, with any list", () => {
  for (const allowed of [[], [SITE], [ANY_ORIGIN]])
    for (const own of ["http://127.0.0.1:8080", "https://perpd.example.com"]) {
      const host = own.replace(/^https?:\/\//, "");
      assert.deepEqual(admit(allowed, "POST", own, host)?.slice(0, 2), [false, own], own);
      assert.equal(admit(allowed, "POST", `${own}.evil.example`, host)?.[0] ?? true, true, own);
    }
});

test("without * a page of another site is refused", () => {
  for (const allowed of [[], [SITE]])
    for (const other of ["https://evil.example", "null", "*"]) assert.equal(admit(allowed, "GET", other), null, other);
});
