import assert from "node:assert/strict";
import { test } from "node:test";
import { LEDGER } from "../../../src/core/base/enums.ts";
import { CreateKey, Deposit, OpenSession, Tick, Withdraw } from "../../../src/core/protocol/commands.ts";
import { MarginReferences } from "../../../src/core/protocol/margin-references.ts";
import { CancelSwitches } from "../../../src/core/state/cancel-switches.ts";
import { CLIENT_ID_RETENTION_MS, ClientIds } from "../../../src/core/state/client-ids.ts";
import { RecentFills } from "../../../src/core/state/recent-fills.ts";
import { SeenSignatures } from "../../../src/front/auth/seen-signatures.ts";
import { Buckets } from "../../../src/front/common/buckets.ts";
import { ClientOrderIds } from "../../../src/front/exchange/client-order-ids.ts";
import { DAY_MS, Exchange, MAX_ACCOUNTS, make, SnapshotStore, START } from "../../core/support/exchange.ts";
import { ScriptedEngine } from "../support/scripted-engine.ts";

const HOUR_MS = DAY_MS / 24;
const DAYS = 30;
/** By then each structure has reached its size: the slowest is that of recent transfers. */
const SETTLED_AFTER_DAYS = 15;
const ACCOUNTS = [16, 17, 18, 19];

interface Structure {
  /** An hour of use, which begins at `time`. */
  use(time: number): void;
  /** Called after the last hour of a day. */
  sizes(): Record<string, number>;
}

/** Sessions, keys, deposits and withdrawals, with a snapshot at the end of each day. */
function ledger(): Structure {
  const store = new SnapshotStore();
  const settings = { faucetCapQuanta: 1e9, withdrawalDelayMs: 1000 };
  const exchange = new Exchange([], settings, MAX_ACCOUNTS, Number.POSITIVE_INFINITY, store);
  let next = 0;
  const useAccount = (accountId: number): void => {
    const { time } = exchange;
    const expiresAt = time + DAY_MS / 2;
    exchange.do(LEDGER, make(OpenSession, { address: `0x${accountId}`, tokenHash: `session ${next++}`, expiresAt }));
    const record = { label: "", permissions: [], allowedIps: [], sealedSecret: "", expiresAt, createdAt: time };
    exchange.do(LEDGER, make(CreateKey, { accountId, apiKey: `key ${next++}`, record }));
    exchange.do(LEDGER, make(Deposit, { accountId, amountQuanta: 2, reference: `deposit ${next++}` }));
    const withdrawal = { accountId, amountQuanta: 1, address: "0xff", reference: `withdrawal ${next++}` };
    exchange.do(LEDGER, make(Withdraw, withdrawal));
  };
  return {
    use(time) {
      exchange.time = time;
      for (const accountId of ACCOUNTS) useAccount(accountId);
      for (const passedMs of [1000, 2000, HOUR_MS - 1]) {
        exchange.time = time + passedMs;
        exchange.do(LEDGER, make(Tick));
      }
      // Its log is not what is measured.
      exchange.log.length = 0;
    },
    sizes() {
      store.take(exchange, LEDGER);
      exchange.ledger.snapshotStored();
      const { sessions, keys, transfers, changedRows } = exchange.ledger.state;
      return {
        ...{ sessions: sessions.size, keys: keys.size, transfers: transfers.size, changedRows },
        pending: transfers.pending.size,
        loadedAtStart: store.keys("transfers").length,
      };
    },
  };
}

/** Client order ids of a symbol, cancel switches, references of moved margin and fills. */
function symbol(): Structure {
  const ids = new ClientIds(CLIENT_ID_RETENTION_MS, () => false);
  const switches = new CancelSwitches();
  const references = new MarginReferences();
  const fills = new RecentFills();
  let next = 0;
  return {
    use(time) {
      for (let minute = 0; minute < 60; minute++) {
        const now = time + minute * 60_000;
        for (const accountId of ACCOUNTS) {
          next++;
          ids.add(accountId, `order ${next}`, next, 0, now);
          references.add(accountId, `move ${next}`, 1);
          switches.set(accountId, now + 30_000);
          fills.add(now, next, accountId, accountId + 1, 1);
        }
        ids.expire(now);
        for (let due = switches.firstDue(now); due !== undefined; due = switches.firstDue(now)) switches.set(due, 0);
      }
    },
    sizes() {
      let moves = 0;
      let known = 0;
      ids.takeChanges(
        () => {},
        () => {},
      );
      switches.takeChanges(() => {});
      references.takeChanges((_account, changed) => {
        moves += changed.length;
      }, Number.POSITIVE_INFINITY);
      fills.eachSince(0, () => known++);
      return {
        clientIds: ids.page(0, Number.POSITIVE_INFINITY).length,
        armed: [...switches.entries()].length,
        ...{ marginReferences: moves, recentFills: known },
      };
    },
  };
}

/** Nonces and signatures, rate budgets, and client order ids across symbols. */
async function gateway(): Promise<Structure> {
  const signatures = new SeenSignatures(60_000);
  const buckets = new Buckets(1, 60);
  const clientOrderIds = await ClientOrderIds.open(new ScriptedEngine([]), { find: () => null }, () => false);
  let next = 0;
  return {
    use(time) {
      for (let minute = 0; minute < 60; minute++) {
        const now = time + minute * 60_000;
        for (let i = 0; i < 4; i++) {
          next++;
          signatures.add((next * 2 ** 20).toString(16).padStart(13, "0"), now, now);
          buckets.take(`address ${next}`, 10, now);
          clientOrderIds.keep(16, `order ${next}`, 1, now);
        }
      }
    },
    sizes: () => ({ signatures: signatures.size, buckets: buckets.size, clientOrderIds: clientOrderIds.size }),
  };
}

test("in a month of steady use nothing in memory grows", async () => {
  const structures = [ledger(), symbol(), await gateway()];
  const days: Record<string, number>[] = [];
  for (let day = 0; day < DAYS; day++) {
    for (let hour = 0; hour < 24; hour++)
      for (const structure of structures) structure.use(START + day * DAY_MS + hour * HOUR_MS);
    days.push(Object.assign({}, ...structures.map((structure) => structure.sizes())));
  }
  const settled = days.slice(SETTLED_AFTER_DAYS);
  for (const sizes of settled) assert.deepEqual(sizes, settled[0]);
  const { changedRows, pending, ...used } = settled[0] as Record<string, number>;
  assert.deepEqual({ changedRows, pending }, { changedRows: 0, pending: 0 });
  for (const [name, size] of Object.entries(used)) assert.ok(size > 0, `${name} is not used`);
});
