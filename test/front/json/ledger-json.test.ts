import assert from "node:assert/strict";
import { test } from "node:test";
import { Compile } from "typebox/compile";
import { BUY, LEDGER_ENTRY_TYPES, SELL } from "../../../src/core/base/enums.ts";
import { ledgerEntryJson } from "../../../src/front/json/ledger-json.ts";
import type { LedgerEntry as Entry } from "../../../src/store/history/account-ledger.ts";
import { LedgerEntry } from "../../../src/wire/schema/account.ts";

const NOTHING = { instrumentId: 0, tradeId: 0, orderId: 0, side: BUY, transferId: 0, fundingTime: 0 };
const SHOWN = { asset: "USDC", symbol: null, tradeId: null, orderId: null, transferId: null, fundingTime: null };
const at = { time: 1_790_000_000_000, sequence: 9 };

test("an entry of each type fits the schema", () => {
  const trade = { instrumentId: 1, tradeId: 513, orderId: 257 };
  const shownTrade = { ...SHOWN, symbol: "BTC-PERP", tradeId: "513", orderId: "257" };
  const entries: [Partial<Entry>, object][] = [
    [
      { type: "DEPOSIT", amountQuanta: 5_000_000, transferId: 7 },
      { entryId: "transfer-7", amount: "5", transferId: "7" },
    ],
    [
      { type: "WITHDRAWAL", amountQuanta: -1, transferId: 8 },
      { entryId: "transfer-8", amount: "-0.000001", transferId: "8" },
    ],
    [
      { type: "REALIZED_PNL", amountQuanta: -250_000, ...trade },
      { ...shownTrade, entryId: "pnl-513-BUY", amount: "-0.25" },
    ],
    [
      { type: "FEE", amountQuanta: 3, ...trade, side: SELL },
      { ...shownTrade, entryId: "fee-513-SELL", amount: "0.000003" },
    ],
    [
      { type: "LIQUIDATION_FEE", amountQuanta: -4, ...trade },
      { ...shownTrade, entryId: "fee-513-BUY", amount: "-0.000004" },
    ],
    [
      { type: "FUNDING", amountQuanta: -10_000_000, instrumentId: 1, fundingTime: 3_600_000 },
      { entryId: "funding-BTC-PERP-3600000", amount: "-10", symbol: "BTC-PERP", fundingTime: 3_600_000 },
    ],
    [
      { type: "DEFICIT_COVERED", amountQuanta: 12, instrumentId: 1 },
      { entryId: "deficit-9", amount: "0.000012", symbol: "BTC-PERP" },
    ],
  ];
  assert.deepEqual(
    entries.map(([{ type }]) => type),
    [...LEDGER_ENTRY_TYPES],
  );
  const schema = Compile(LedgerEntry);
  for (const [entry, shown] of entries) {
    const symbol = entry.instrumentId === undefined ? null : "BTC-PERP";
    const value = JSON.parse(ledgerEntryJson(symbol, { ...NOTHING, ...at, ...entry } as Entry));
    assert.deepEqual(value, { ...SHOWN, type: entry.type, ...at, ...shown });
    assert.ok(schema.Check(value), JSON.stringify(value));
  }
});
