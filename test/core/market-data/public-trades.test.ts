import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY } from "../../../src/core/base/enums.ts";
import { toPublicTrade } from "../../../src/core/market-data/public-trades.ts";
import { Traded } from "../../../src/core/protocol/events.ts";
import { blank } from "../../../src/core/protocol/message-schema.ts";

test("a public trade names no account", () => {
  const event = Object.assign(blank(Traded), { tradeId: 257, takerAccountId: 16, makerAccountId: 17, priceTicks: 9 });
  const trade = { tradeId: 257, priceTicks: 9, quantityLots: 0, takerSide: BUY, execType: 0, time: 5, sequence: 7 };
  assert.deepEqual(toPublicTrade(event, 5, 7), trade);
});
