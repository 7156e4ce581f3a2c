import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientIdHash } from "../../../src/core/base/client-id-hash.ts";

const ACCOUNTS = [16, 17, 2 ** 18, 2 ** 32 - 1];

/** Client order ids of account 16 with the same FNV-1a hash. More are easy to find. */
const FLOOD = ["x0exHUoIA", "x03rfX9LA", "x06uJG.RA", "x04nSi4TA", "x0WmlYsZA", "x0h1nuOaA", "x0qkm_yaA", "x0ydXygeA"];

/** Ids as programs number them, from short to long. */
const ids = Array.from({ length: 5000 }, (_, i) => `${"order-".repeat(i % 5)}${i}`);
const names = ACCOUNTS.flatMap((accountId) => ids.map((id) => ({ accountId, id })));

test("the ids of all accounts have different hashes, in the low bits too", () => {
  const hash = new ClientIdHash();
  const hashes = names.map(({ accountId, id }) => hash.of(accountId, id));
  // Among so many random hashes, 0.05 pairs are equal on average.
  assert.ok(new Set(hashes).size > names.length - 5);
  // With as many buckets as ids, the fullest bucket gets about eight.
  const buckets = new Map<number, number>();
  for (const value of hashes) buckets.set(value & 0x3fff, (buckets.get(value & 0x3fff) ?? 0) + 1);
  assert.ok(Math.max(...buckets.values()) < 20);
  for (const { accountId, id } of names.slice(0, 100)) assert.equal(hash.of(accountId, id), hash.of(accountId, id));
});

test("a client cannot predict which ids have the same hash", () => {
  const [one, other] = [new ClientIdHash(), new ClientIdHash()];
  const same = names.filter(({ accountId, id }) => one.of(accountId, id) === other.of(accountId, id));
  assert.ok(same.length < 5);
  assert.ok(new Set(FLOOD.map((id) => one.of(16, id))).size > 1);
});
