import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { BUY, SELL, type Side } from "../../../src/core/base/enums.ts";
import { Depth } from "../../../src/core/market-data/depth.ts";
import { openInterestChange } from "../../../src/core/market-data/open-interest.ts";
import { CancelAll, ClosePosition, Describe, PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import { type Event, type SymbolEvent, Traded } from "../../../src/core/protocol/events.ts";
import { compileInstrument } from "../../../src/core/protocol/instrument.ts";
import { blank, type Message, type MessageOf, type MessageSchema } from "../../../src/core/protocol/message-schema.ts";
import type { Levels, SymbolSummary } from "../../../src/core/protocol/payloads.ts";
import { type Reply, SymbolDescription } from "../../../src/core/protocol/replies.ts";
import { SymbolActor } from "../../../src/core/symbol.ts";
import { FINE } from "../support/instruments.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("market-data-of-symbol.test");

const INSTRUMENT = compileInstrument(FINE);
const MIDDLE_TICKS = 650_000;
const ACCOUNTS = [16, 17, 18];

const command = <S extends MessageSchema>(of: S, fields: Partial<MessageOf<S>>): Message =>
  Object.assign(blank(of), fields);

const account = fc.constantFrom(...ACCOUNTS);
const place = fc
  .record({
    accountId: account,
    side: fc.constantFrom<Side>(BUY, SELL),
    orderType: fc.constantFrom(0, 0, 0, 1),
    timeInForce: fc.constantFrom(0, 0, 0, 1, 2),
    flags: fc.constantFrom(0, 0, 0, 1, 2),
    selfTradePrevention: fc.nat(3),
    offset: fc.integer({ min: -6, max: 6 }),
    quantityLots: fc.integer({ min: 1, max: 30 }),
  })
  .map(({ offset, ...fields }) =>
    command(PlaceOrder, {
      ...fields,
      // A market order has no price, and it cannot rest or be fill-or-kill.
      ...(fields.orderType === 1
        ? { priceTicks: 0, timeInForce: 1, flags: fields.flags & 2 }
        : { priceTicks: MIDDLE_TICKS + offset, flags: fields.timeInForce === 0 ? fields.flags : fields.flags & 2 }),
    }),
  );
const step = fc.oneof(
  { weight: 20, arbitrary: place },
  {
    weight: 1,
    arbitrary: fc
      .record({ accountId: account, side: fc.constantFrom(-1, BUY, SELL) })
      .map((fields) => command(CancelAll, fields)),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ accountId: account, quantityLots: fc.nat(5) })
      .map((fields) => command(ClosePosition, fields)),
  },
);

test("book, last price and open interest folded from events equal the symbol's own", () => {
  let trades = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 80 }), (steps) => {
      const marginTable = MarginTable.allocate(32);
      for (const accountId of ACCOUNTS) marginTable.debit(accountId, -1e12);
      const actor = new SymbolActor(INSTRUMENT, marginTable);
      const depth = new Depth(INSTRUMENT.maxPriceTicks);
      let lastTicks = 0;
      let openInterestLots = 0;
      let sequence = 0;
      const emit = (event: Event): void => {
        depth.apply(event as SymbolEvent);
        if (event.type !== Traded.code) return;
        trades++;
        lastTicks = event.priceTicks;
        openInterestLots += openInterestChange(event);
      };
      const ask = (question: Message): Reply[] => {
        const replies: Reply[] = [];
        const time = 1_700_000_000_000 + sequence;
        actor.decide(question, { time, emit, reply: (reply) => replies.push({ ...reply }) });
        actor.settle(++sequence, time);
        marginTable.commit();
        return replies;
      };
      ask(command(SetIndexPrice, { indexTicks: MIDDLE_TICKS }));
      for (const each of steps) {
        ask(each);
        const state = describe(ask(blank(Describe)));
        assert.deepEqual(
          {
            bids: tuples(depth, BUY),
            asks: tuples(depth, SELL),
            lastTicks,
            openInterestLots,
          },
          { bids: state.bids, asks: state.asks, lastTicks: state.lastTicks, openInterestLots: state.openInterestLots },
        );
      }
    }),
    { seed, numRuns: 100 },
  );
  assert.ok(trades > 100, `only ${trades} trades: the steps no longer exercise the book`);
});

function describe(replies: Reply[]): SymbolSummary {
  const [reply] = replies;
  assert.equal(reply.type, SymbolDescription.code);
  return (reply as MessageOf<typeof SymbolDescription>).state;
}

const tuples = (depth: Depth, side: Side): Levels =>
  depth.levels(side, Number.POSITIVE_INFINITY, (tick, lots): [number, number] => [tick, lots]);
