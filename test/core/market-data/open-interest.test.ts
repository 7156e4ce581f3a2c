import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUY, SELL, type Side } from "../../../src/core/base/enums.ts";
import { openInterestChange } from "../../../src/core/market-data/open-interest.ts";
import { Traded } from "../../../src/core/protocol/events.ts";
import { blank } from "../../../src/core/protocol/message-schema.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("open-interest.test");

test("open interest folded from trades is the sum of the long positions", () => {
  const trade = fc.record({
    taker: fc.nat(3),
    maker: fc.nat(3),
    takerSide: fc.constantFrom<Side>(BUY, SELL),
    lots: fc.integer({ min: 1, max: 30 }),
  });
  fc.assert(
    fc.property(fc.array(trade, { maxLength: 60 }), (trades) => {
      const sizes = [0, 0, 0, 0];
      let openInterest = 0;
      for (const { taker, maker, takerSide, lots } of trades) {
        if (taker === maker) continue;
        sizes[taker] += takerSide === BUY ? lots : -lots;
        sizes[maker] -= takerSide === BUY ? lots : -lots;
        const event = blank(Traded);
        event.takerSide = takerSide;
        event.quantityLots = lots;
        event.takerSizeLots = sizes[taker];
        event.makerSizeLots = sizes[maker];
        openInterest += openInterestChange(event);
        assert.equal(
          openInterest,
          sizes.reduce((sum, size) => sum + Math.max(0, size), 0),
        );
      }
    }),
    { seed },
  );
});
