import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { batchCost, type Cost, isLoopback, type LimitSettings, Limits } from "../../../src/front/auth/limits.ts";
import { Buckets } from "../../../src/front/common/buckets.ts";
import { ApiError } from "../../../src/front/common/errors.ts";
import { takeSeed } from "../../core/support/seed.ts";

fc.configureGlobal({ seed: takeSeed("limits.test") });

const NOW = 1_790_000_000_000;

test("a bucket gives its capacity, then its refill, and never more", () => {
  const buckets = new Buckets(10, 20);
  for (let left = 19; left >= 0; left--) assert.equal(buckets.take("a", 1, NOW), left);
  assert.equal(buckets.take("a", 1, NOW), -1);
  assert.equal(buckets.take("a", 1, NOW + 99), -1 + 0.99);
  assert.equal(buckets.take("a", 1, NOW + 100), 0);
  assert.equal(buckets.take("b", 5, NOW), 15, "another name has its own");
  assert.equal(buckets.take("a", 15, NOW + 3_600_000), 5, "an hour's rest fills it once");
});

test("a cost above the capacity takes a whole full bucket", () => {
  const buckets = new Buckets(1, 5);
  assert.equal(buckets.take("a", 9, NOW), 0);
  assert.ok(buckets.take("a", 9, NOW + 4000) < 0);
  assert.equal(buckets.take("a", 9, NOW + 5000), 0);
});

test("a clock that is set back neither fills nor locks a bucket", () => {
  const buckets = new Buckets(1000, 2);
  buckets.take("a", 2, NOW);
  assert.equal(buckets.take("a", 1, NOW - 3_600_000), -1);
  assert.equal(buckets.take("a", 1, NOW + 1), 0);
});

test("over any period no client gets more than the capacity and the refill", () => {
  const steps = fc.array(fc.record({ afterMs: fc.nat(300), tokens: fc.integer({ min: 1, max: 8 }) }), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(
      steps,
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 8, max: 40 }),
      (asked, perSecond, capacity) => {
        const buckets = new Buckets(perSecond, capacity);
        let now = NOW;
        let taken = 0;
        for (const { afterMs, tokens } of asked) {
          now += afterMs;
          const left = buckets.take("a", tokens, now);
          if (left >= 0) taken += tokens;
          else assert.ok(buckets.take("a", tokens, now) === left, "what was refused has taken nothing");
          assert.ok(taken <= capacity + ((now - NOW) * perSecond) / 1000 + 1e-6);
        }
      },
    ),
  );
});

test("only buckets in use are in memory, and never more than the maximum", () => {
  const buckets = new Buckets(1, 1, 1000);
  // Each name comes once: when its bucket is checked again, it is full.
  for (let i = 0; i < 20_000; i++) buckets.take(`once ${i}`, 1, NOW + i * 10);
  assert.ok(buckets.size < 400, `${buckets.size} are remembered`);
  // A flood from everywhere at once.
  for (let i = 0; i < 20_000; i++) buckets.take(`flood ${i}`, 1, NOW + 10_000_000);
  assert.ok(buckets.size <= 1000, `${buckets.size} are remembered`);
});

test("at the maximum, only the oldest bucket makes room", () => {
  const buckets = new Buckets(1, 10, 3);
  for (const [i, name] of ["a", "b", "c"].entries()) buckets.take(name, 5 + i, NOW);
  buckets.take("d", 8, NOW);
  assert.equal(buckets.size, 3);
  for (const [i, name] of ["c", "d", "b"].entries()) assert.equal(buckets.take(name, 0, NOW), [3, 2, 4][i], name);
  assert.equal(buckets.take("a", 0, NOW), 10, "what it had spent is forgotten");
});

const SETTINGS: LimitSettings = {
  rateLimit: "on",
  host: "0.0.0.0",
  trustedProxies: [],
  orderRate: 10,
  cancelRate: 50,
  requestRate: 20,
  rateBurst: 2,
  maxSocketsPerAddress: 2,
  accountRate: 3,
};
const open = (changes: Partial<LimitSettings> = {}): Limits => {
  const limits = Limits.open({ ...SETTINGS, ...changes });
  assert.ok(limits !== null);
  return limits;
};
const ORDER: Cost = { budget: "ORDER", weight: 1 };
const CANCEL: Cost = { budget: "CANCEL", weight: 1 };

const session = (accountId: number) => ({ accountId, credential: `session of ${accountId}`, record: null });
const key = (accountId: number, credential: string) => ({
  accountId,
  credential,
  record: { label: "", permissions: [], allowedIps: [], sealedSecret: "", expiresAt: 0, createdAt: 0 },
});

/** Number of such requests that pass at once. */
function passes(pay: () => void): number {
  for (let count = 0; count < 10_000; count++) {
    try {
      pay();
    } catch (thrown) {
      assert.ok(thrown instanceof ApiError && thrown.code === "RATE_LIMITED" && thrown.retryable);
      return count;
    }
  }
  return Number.POSITIVE_INFINITY;
}

test("a key takes at most half of the account's budget, however often it is refused", () => {
  const limits = open();
  for (let i = 0; i < 10; i++) limits.payByPrincipal(key(16, "wild"), ORDER, NOW);
  for (let i = 0; i < 100; i++) assert.throws(() => limits.payByPrincipal(key(16, "wild"), ORDER, NOW));
  assert.equal(
    passes(() => limits.payByPrincipal(session(16), ORDER, NOW)),
    10,
  );
});

test("accounts, keys and addresses have separate buckets, and so have orders and cancels", () => {
  const limits = open();
  assert.equal(
    passes(() => limits.payByPrincipal(key(16, "k1"), ORDER, NOW)),
    10,
    "a key has half of its account's",
  );
  assert.equal(
    passes(() => limits.payByPrincipal(key(16, "k2"), ORDER, NOW)),
    10,
  );
  assert.equal(
    passes(() => limits.payByPrincipal(session(16), ORDER, NOW)),
    0,
  );
  assert.equal(
    passes(() => limits.payByPrincipal(session(17), ORDER, NOW)),
    20,
  );
  assert.equal(
    passes(() => limits.payByPrincipal(session(16), CANCEL, NOW)),
    100,
    "orders have starved no cancel",
  );
  assert.equal(
    passes(() => limits.payByAddress("203.0.113.7", ORDER, NOW)),
    80,
  );
  assert.equal(
    passes(() => limits.payByAddress("203.0.113.7", CANCEL, NOW)),
    400,
  );
  assert.equal(
    passes(() => limits.payByAddress("203.0.113.8", ORDER, NOW)),
    80,
  );
});

test("all addresses of an IPv6 network pay together", () => {
  const limits = open();
  const address = (network: string, i: number) =>
    `2001:0db8:0000:${network}:0000:0000:0000:${String(i).padStart(4, "0")}`;
  let i = 0;
  assert.equal(
    passes(() => limits.payByAddress(address("0001", i++), ORDER, NOW)),
    80,
  );
  assert.equal(
    passes(() => limits.payByAddress(address("0002", i++), ORDER, NOW)),
    80,
  );
});

test("an address opens a limited number of accounts per hour, and a /48 site no more", () => {
  const limits = open();
  const opened = (addressOf: (i: number) => string, now = NOW): number => {
    let i = 0;
    return passes(() => limits.payForAccount(addressOf(i++), now));
  };
  assert.equal(
    opened(() => "203.0.113.7"),
    3,
  );
  assert.equal(
    opened(() => "203.0.113.7", NOW + 20 * 60_000),
    1,
    "a third of an hour later",
  );
  assert.equal(
    opened(() => "203.0.113.8"),
    3,
  );
  const networkOf = (i: number) => `2001:0db8:0007:${String(i).padStart(4, "0")}:0000:0000:0000:0001`;
  assert.equal(opened(networkOf), 3);
  assert.equal(
    opened((i) => networkOf(i).replace("0007", "0008")),
    3,
    "another site",
  );
  const remote = open({ rateLimit: "remote" });
  for (let i = 0; i < 10; i++) remote.payForAccount("127.0.0.1", NOW);
  assert.throws(
    () => limits.payForAccount("203.0.113.8", NOW),
    (thrown: ApiError) => {
      const details = { scope: "IP", budget: "ACCOUNT", weight: 1, limit: 3, retryAfterMs: 1_200_000 };
      assert.deepEqual(thrown.details, details);
      return true;
    },
  );
});

test("the quota shows the bucket nearest to empty", () => {
  const limits = open();
  limits.payByAddress("203.0.113.7", ORDER, NOW);
  assert.deepEqual(limits.quota(), { limit: 80, remaining: 79, resetMs: 25 });
  limits.payByPrincipal(key(16, "k"), ORDER, NOW);
  assert.deepEqual(limits.quota(), { limit: 10, remaining: 9, resetMs: 200 });
});

test("after a refusal the quota shows what its bucket still holds", () => {
  const limits = open();
  const batch = { budget: "ORDER", weight: 15 } as const;
  limits.payByAddress("203.0.113.7", batch, NOW);
  limits.payByPrincipal(session(16), batch, NOW);
  limits.payByAddress("203.0.113.7", batch, NOW);
  assert.throws(() => limits.payByPrincipal(session(16), batch, NOW), { code: "RATE_LIMITED" });
  // 5 of 20 are left.
  assert.deepEqual(limits.quota(), { limit: 20, remaining: 5, resetMs: 1500 });
  // More than the bucket can hold takes all of it.
  const whole = { budget: "ORDER", weight: 100 } as const;
  limits.payByAddress("203.0.113.7", ORDER, NOW);
  assert.throws(() => limits.payByPrincipal(session(16), whole, NOW), { code: "RATE_LIMITED" });
  assert.equal(limits.quota().remaining, 5);
});

test("a refusal names the bucket and when to try again", () => {
  const limits = open();
  limits.payByAddress("203.0.113.7", ORDER, NOW);
  passes(() => limits.payByPrincipal(session(16), ORDER, NOW));
  assert.throws(
    () => limits.payByPrincipal(session(16), ORDER, NOW + 40),
    (thrown: ApiError) => {
      const { details } = thrown;
      assert.deepEqual(details, { scope: "ACCOUNT", budget: "ORDER", weight: 1, limit: 20, retryAfterMs: 60 });
      return true;
    },
  );
  limits.payByPrincipal(session(16), ORDER, NOW + 100);
});

test("a batch costs a token for each item, from CANCEL if it only cancels", () => {
  const [place, cancel] = [{ action: "PLACE" }, { action: "CANCEL" }];
  const table: [batch: unknown, budget: string, weight: number][] = [
    [{ items: [place, cancel, cancel] }, "ORDER", 3],
    [{ items: [cancel, cancel] }, "CANCEL", 2],
    [{ items: Array.from({ length: 1000 }, () => cancel) }, "CANCEL", 20],
    [{ items: [cancel, null, 7] }, "ORDER", 3],
    [{ items: [] }, "ORDER", 1],
    [{ items: "CANCEL" }, "ORDER", 1],
    [null, "ORDER", 1],
    [[cancel], "ORDER", 1],
  ];
  for (const [batch, budget, weight] of table)
    assert.deepEqual(batchCost(batch), { budget, weight }, JSON.stringify(batch));
});

test("limits apply to all clients, to none, or to remote ones only", () => {
  assert.equal(Limits.open({ ...SETTINGS, rateLimit: "off" }), null);
  for (const host of ["127.0.0.1", "localhost", "::1"])
    assert.equal(Limits.open({ ...SETTINGS, rateLimit: "remote", host }), null);
  // Clients from outside come through the proxy.
  const proxied = open({ rateLimit: "remote", host: "127.0.0.1", trustedProxies: ["127.0.0.1"] });
  assert.deepEqual([proxied.covers("127.0.0.1"), proxied.covers("203.0.113.7")], [false, true]);
  const remote = open({ rateLimit: "remote" });
  assert.equal(remote.covers("127.0.0.1"), false);
  assert.equal(remote.covers("203.0.113.7"), true);
  assert.equal(open().covers("127.0.0.1"), true);
  for (const address of ["127.0.0.1", "127.255.0.9", "::1", "0000:0000:0000:0000:0000:0000:0000:0001", "localhost"])
    assert.equal(isLoopback(address), true, address);
  for (const address of ["128.0.0.1", "127.example.com", "10.0.0.1", "0.0.0.0", "::", "", "::ffff:10.0.0.1"])
    assert.equal(isLoopback(address), false, address);
});

test("a handshake costs a request, even if its socket is closed at once", () => {
  const limits = open();
  const connect = () => {
    limits.admitSocket("203.0.113.7", NOW);
    limits.socketOpened("203.0.113.7");
    limits.socketClosed("203.0.113.7");
  };
  assert.equal(passes(connect), 160);
  assert.equal(
    passes(() => limits.payByAddress("203.0.113.7", { budget: "REQUEST", weight: 1 }, NOW)),
    0,
  );
  const remote = open({ rateLimit: "remote" });
  for (let i = 0; i < 1000; i++) remote.admitSocket("127.0.0.1", NOW);
});

test("sockets are counted by IPv4 address and by IPv6 network", () => {
  const limits = open();
  const tooMany = (address: string): boolean => {
    try {
      limits.admitSocket(address, NOW);
      return false;
    } catch (thrown) {
      assert.equal((thrown as ApiError).code, "TOO_MANY_SOCKETS");
      return true;
    }
  };
  const [a, b, other] = ["aa", "bb"].map((end) => `2001:0db8:0000:0001:0000:0000:0000:00${end}`).concat("1.2.3.4");
  limits.socketOpened(a as string);
  assert.equal(tooMany(b as string), false);
  limits.socketOpened(b as string);
  assert.deepEqual([tooMany(a as string), tooMany(b as string), tooMany(other as string)], [true, true, false]);
  limits.socketClosed(a as string);
  assert.equal(tooMany(b as string), false);
});
