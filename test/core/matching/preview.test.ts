import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import {
  idToInstrumentId,
  REASON_INSUFFICIENT_MARGIN,
  STATUS_NEW,
  STATUS_PARTIALLY_FILLED,
} from "../../../src/core/base/enums.ts";
import { OrderExecution } from "../../../src/core/commands/order-execution.ts";
import type { Transaction } from "../../../src/core/protocol/actor.ts";
import { OrderClosed, Traded } from "../../../src/core/protocol/events.ts";
import { compileInstrument, type Instrument } from "../../../src/core/protocol/instrument.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView } from "../../../src/core/protocol/replies.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { Exchange, LEDGER_SETTINGS, MAX_ACCOUNTS, SHORT_INDEX_AGE_MS } from "../support/exchange.ts";
import { FREE, instrument, ODD } from "../support/instruments.ts";
import { takeSeed } from "../support/seed.ts";
import { eventfulStep } from "../support/steps.ts";
import { Market, tradeTightly } from "../support/tight-market.ts";
import { Traffic } from "../support/traffic.ts";

/* Margin is reserved, and FOK decided, by the preview. So match() must fill exactly what the preview said, to the lot. */

const seed = takeSeed("preview.test");
const RUNS = 100;
const ODD_ONES = [instrument(ODD), instrument(FREE)];
const INSTRUMENTS = [...ODD_ONES, ...DEFAULT_INSTRUMENTS.map((config) => compileInstrument(config))];
type Execute = typeof OrderExecution.prototype.execute;

/** Compares the fills of each order with its preview. Counts orders that traded, and makers dropped for lack of margin. */
function watchTakers(t: TestContext, stepOf: () => string): { traded: number; dropped: number } {
  const seen = { traded: 0, dropped: 0 };
  const { execute } = OrderExecution.prototype;
  t.mock.method(
    OrderExecution.prototype,
    "execute",
    function (this: OrderExecution, ...args: Parameters<Execute>): void {
      const [transaction, slot, limitTicks, mayRest, ...terms] = args;
      const { lots, quanta, leftLots } = this.margin.expected;
      const got = { lots: 0, quanta: 0, leftLots: 0 };
      const emit: Transaction["emit"] = (event) => {
        if (event.type === Traded.code) {
          const { takerOrderId, quantityLots, priceTicks } = event as MessageOf<typeof Traded>;
          got.lots += quantityLots;
          got.quanta += quantityLots * priceTicks * quantaPerTickLot(takerOrderId);
        }
        const { reason } = event as MessageOf<typeof OrderClosed>;
        if (event.type === OrderClosed.code && reason === REASON_INSUFFICIENT_MARGIN) seen.dropped++;
        transaction.emit(event);
      };
      const reply: Transaction["reply"] = (message) => {
        const { status, remainingLots } = message as MessageOf<typeof OrderView>;
        if (message.type === OrderView.code && (status === STATUS_NEW || status === STATUS_PARTIALLY_FILLED))
          got.leftLots = remainingLots;
        transaction.reply(message);
      };
      execute.call(this, { time: transaction.time, emit, reply }, slot, limitTicks, mayRest, ...terms);
      assert.deepEqual(got, { lots, quanta, leftLots: mayRest ? leftLots : 0 }, stepOf());
      if (got.lots > 0) seen.traded++;
    },
  );
  return seen;
}

function quantaPerTickLot(orderId: number): number {
  const instrumentId = idToInstrumentId(orderId);
  const { quantaPerTickLot } = INSTRUMENTS.find(({ id }) => id === instrumentId) as Instrument;
  return quantaPerTickLot;
}

test("a taker fills what the preview said, from makers whose margin is nearly used up", (t) => {
  let run = 0;
  const seen = watchTakers(t, () => `seed ${seed + run}`);
  for (; run < RUNS; run++) tradeTightly(new Random(seed + run, "tight margins"), new Market());
  assert.ok(seen.traded > RUNS && seen.dropped > 0);
});

test("a taker fills what the preview said, in random markets", (t) => {
  let last = "";
  const seen = watchTakers(t, () => last);
  const property = fc.property(fc.array(eventfulStep, { maxLength: 150, size: "max" }), (steps) => {
    const exchange = new Exchange(ODD_ONES, LEDGER_SETTINGS, MAX_ACCOUNTS, SHORT_INDEX_AGE_MS);
    const traffic = new Traffic(
      exchange,
      ODD_ONES.map(({ id }) => id),
    );
    for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
    for (const step of steps) {
      last = JSON.stringify(step);
      const { actorId, command } = traffic.command(step);
      exchange.time += step.waitMs;
      traffic.send(actorId, command);
    }
  });
  fc.assert(property, { seed, numRuns: 3 * RUNS, includeErrorInReport: true });
  assert.ok(seen.traded > RUNS);
});
