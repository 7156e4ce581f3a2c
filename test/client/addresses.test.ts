import assert from "node:assert/strict";
import { test } from "node:test";
import { Addresses } from "../../src/client/addresses.ts";

const [A, B, C] = ["http://a:8080/v1", "http://b:8080/v1", "http://c:8080/v1"] as const;

test("requests go to the address that answered last, and leave one that does not", () => {
  const addresses = new Addresses([`${A}/`, B, C]);
  assert.equal(addresses.current, A);
  addresses.leave(A);
  assert.equal(addresses.current, B);
  // A request that was sent before says so, too.
  addresses.leave(A);
  assert.equal(addresses.current, B);
  addresses.leave(B);
  addresses.leave(C);
  assert.equal(addresses.current, A);
});

test("a leader that a standby names is taken if it is one of the addresses, and no other", () => {
  const addresses = new Addresses([A, B, C]);
  addresses.leave(A, "http://c:8080");
  assert.equal(addresses.current, C);
  addresses.leave(C, "http://thief:8080");
  assert.equal(addresses.current, A);
  addresses.leave(A, "no URL");
  assert.equal(addresses.current, B);
});

test("one address is as before, and none is refused", () => {
  const addresses = new Addresses(A);
  addresses.leave(A);
  assert.equal(addresses.current, A);
  assert.throws(() => new Addresses([]), TypeError);
});
