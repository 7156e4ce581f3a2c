import { rate } from "./core.ts";
import { RESTING_ACCOUNTS } from "./support/commands.ts";
import { perpdEngine } from "./support/engines.ts";
import { compareSizes, type Row } from "./support/report.ts";
import { type OrderStream, orderStream } from "./support/stream.ts";

const ACCOUNTS = [100, 1000, 10_000, 100_000];
const RESTING_ORDERS = [1000, 10_000, 100_000, 1_000_000];
const OPERATIONS = 200_000;
const RANGE_TICKS = 10_000;
const LIVE_ORDERS = 10_000;

/** How the core's costs grow with what it holds: each size beside the smallest. */
export function benchGrowth(rounds: number): Row[] {
  const ofAccounts = orderStream("accounts", LIVE_ORDERS, OPERATIONS, RANGE_TICKS, 7);
  const byLive = new Map(RESTING_ORDERS.map((live) => [live, orderStream("live", live, OPERATIONS, RANGE_TICKS, 8)]));
  operationNs(ofAccounts, RESTING_ACCOUNTS); // warm-up
  return [
    ...compareSizes("growth, one operation", "accounts", "ns", ACCOUNTS, rounds, (accounts) =>
      operationNs(ofAccounts, accounts),
    ),
    ...compareSizes("growth, one operation", "resting orders", "ns", RESTING_ORDERS, rounds, (live) =>
      operationNs(byLive.get(live) as OrderStream, RESTING_ACCOUNTS),
    ),
  ];
}

function operationNs(stream: OrderStream, restingAccounts: number): number {
  return 1e9 / rate((of) => perpdEngine(of, restingAccounts), stream);
}
