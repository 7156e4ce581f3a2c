import fc from "fast-check";
import {
  CLOSE_POSITION,
  CROSS,
  ISOLATED,
  isAtMarket,
  LIMIT,
  MARKET,
  POST_ONLY,
  REDUCE_ONLY,
  STOP,
  STOP_MARKET,
  TAKE_PROFIT,
  TAKE_PROFIT_MARKET,
} from "../../../src/core/base/enums.ts";

/**
 * Random traffic of four accounts on two symbols around a price of 100 ticks. Prices are narrow, so that orders trade.
 * Limits and balances are narrow, so that every refusal comes up. A step names orders by the order of placing, so that it
 * keeps its meaning while fast-check shrinks a failure.
 */
export type Step = { symbol: number; account: number; waitMs: number } & (
  | {
      kind: "place";
      side: number;
      orderType: number;
      timeInForce: number;
      flags: number;
      selfTradePrevention: number;
      priceTicks: number;
      quantityLots: number;
      clientId: number;
      expiresInMs: number | null;
    }
  /** An iceberg, or an order that takes its price from a level of the book. */
  | {
      kind: "shy";
      side: number;
      timeInForce: number;
      flags: number;
      selfTradePrevention: number;
      priceTicks: number;
      priceMatch: number;
      quantityLots: number;
      displayLots: number;
      clientId: number;
    }
  /** A repeated order with a client order id, as a client sends it that lost the reply. */
  | { kind: "again"; pick: number }
  | { kind: "cancel"; pick: number; clientId: number }
  | {
      kind: "amend";
      pick: number;
      clientId: number;
      priceTicks: number;
      priceMatch: number;
      quantityLots: number;
      displayLots: number;
      expiresInMs: number | null;
    }
  /** Several of the above in one transaction, all of this account and symbol. */
  | { kind: "batch"; items: BatchedStep[] }
  | { kind: "cancelAll"; side: number }
  | { kind: "cancelAfter"; timeoutMs: number }
  | { kind: "close"; quantityLots: number; priceTicks: number }
  | { kind: "leverage"; leverage: number }
  | { kind: "marginMode"; marginMode: number }
  | { kind: "margin"; amountQuanta: number }
  | { kind: "index"; indexTicks: number; isGuarded?: number }
  | { kind: "deposit"; amountQuanta: number }
  | { kind: "withdraw"; amountQuanta: number }
  /** 0: resume. */
  | { kind: "halt"; mode: number }
  /** An order with an end, or with a take-profit and a stop. */
  | {
      kind: "extended";
      side: number;
      orderType: number;
      priceTicks: number;
      quantityLots: number;
      tillMs: number | null;
      takeProfitAway: number | null;
      stopLossAway: number | null;
      clientId: number;
    }
  /** A conditional order. The reference model has none. */
  | {
      kind: "trigger";
      side: number;
      orderType: number;
      timeInForce: number;
      flags: number;
      selfTradePrevention: number;
      priceTicks: number;
      quantityLots: number;
      triggerTicks: number;
      triggerBy: number;
      clientId: number;
    }
  /** Amends trigger, trailing terms, limit or quantity of an order, if it is a conditional one. */
  | {
      kind: "retrigger";
      pick: number;
      triggerTicks: number;
      callbackPpm: number;
      activationTicks: number;
      priceTicks: number;
      quantityLots: number;
    }
  /** Amends the end of an order, if it is a GTD order, and its price. */
  | { kind: "prolong"; pick: number; tillMs: number; priceTicks: number }
  /** Amends the legs of an order, by their trigger prices, and its price. Null removes a leg. */
  | {
      kind: "protect";
      pick: number;
      priceTicks: number;
      triggers: { takeProfit?: number | null; stopLoss?: number | null };
    }
  /** A trailing order. */
  | {
      kind: "trailing";
      side: number;
      flags: number;
      quantityLots: number;
      callbackPpm: number;
      activationTicks: number;
      triggerBy: number;
    }
  /** Time for funding and for liquidations, which the reference model does not have: see `eventfulStep`. */
  | { kind: "tick" }
);

export type BatchedStep = Step & {
  kind: "place" | "shy" | "extended" | "trigger" | "cancel" | "amend" | "retrigger" | "prolong" | "protect";
};

/** First balances of the four accounts, in quanta. An order of 10 lots at 100 ticks is worth 7000 or 10,000. */
export const BALANCES = [60_000, 30_000, 9000, 900];
export const CLIENT_IDS = ["", "a", "b", "c", "d", "e"];

const common = {
  symbol: fc.integer({ min: 0, max: 1 }),
  account: fc.integer({ min: 0, max: BALANCES.length - 1 }),
  waitMs: fc.constantFrom(0, 0, 1, 900),
};
const mostly = <T>(usual: T, arbitrary: fc.Arbitrary<T>, times = 4): fc.Arbitrary<T> =>
  fc.oneof({ weight: times, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary });
const priceTicks = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 94, max: 106 }) },
  { weight: 2, arbitrary: fc.integer({ min: 45, max: 155 }) },
  { weight: 1, arbitrary: fc.constantFrom(1, 1000, 1001) },
);
const quantityLots = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 1, arbitrary: fc.integer({ min: 13, max: 41 }) },
);
const side = fc.integer({ min: 0, max: 1 });
/** The best prices more often than levels that rarely exist. */
const priceMatch = fc.constantFrom(1, 1, 5, 5, 2, 6, 3, 8);

const place = fc
  .record({
    kind: fc.constant("place" as const),
    ...common,
    side,
    orderType: mostly(LIMIT, fc.constant(MARKET)),
    timeInForce: mostly(0, fc.integer({ min: 0, max: 2 })),
    flags: mostly(0, fc.constantFrom(POST_ONLY, REDUCE_ONLY, REDUCE_ONLY, REDUCE_ONLY, POST_ONLY | REDUCE_ONLY)),
    selfTradePrevention: fc.integer({ min: 0, max: 3 }),
    priceTicks,
    quantityLots,
    clientId: mostly(0, fc.nat(CLIENT_IDS.length - 1)),
    expiresInMs: mostly<number | null>(null, fc.constantFrom(-1, 0, 1), 15),
  })
  // As the gateway sends it: a price of a market order is a cap of the engine's own.
  .map((step) => (step.orderType === MARKET ? { ...step, priceTicks: 0 } : step));

const cancel = fc.record({
  kind: fc.constant("cancel" as const),
  ...common,
  pick: fc.nat(1000),
  clientId: mostly(0, fc.nat(CLIENT_IDS.length - 1)),
});

const amend = fc.record({
  kind: fc.constant("amend" as const),
  ...common,
  pick: fc.nat(1000),
  clientId: mostly(0, fc.nat(CLIENT_IDS.length - 1)),
  priceTicks: fc.oneof(fc.constant(0), priceTicks),
  priceMatch: mostly(0, priceMatch, 9),
  quantityLots: fc.oneof(fc.constant(0), quantityLots),
  displayLots: mostly(0, fc.integer({ min: 1, max: 8 }), 2),
  expiresInMs: mostly<number | null>(null, fc.constantFrom(-1, 0, 1), 15),
});

/** `item`: account and symbol are those of the batch. */
const batchOf = (item: fc.Arbitrary<BatchedStep>): fc.Arbitrary<Step> =>
  fc.record({
    kind: fc.constant("batch" as const),
    ...common,
    items: fc.array(item, { minLength: 1, maxLength: 6 }),
  });

/** Most have the narrowest prices, so that slices are used up. Those that show all lots test priceMatch. */
const shy = fc
  .record({
    kind: fc.constant("shy" as const),
    ...common,
    side,
    timeInForce: mostly(0, fc.integer({ min: 0, max: 2 })),
    flags: mostly(0, fc.constantFrom(POST_ONLY, REDUCE_ONLY, REDUCE_ONLY)),
    selfTradePrevention: fc.integer({ min: 0, max: 3 }),
    priceTicks: fc.integer({ min: 98, max: 102 }),
    priceMatch: mostly(0, priceMatch, 2),
    quantityLots: fc.integer({ min: 2, max: 40 }),
    displayLots: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 2, max: 5 }) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 41 }) },
    ),
    clientId: mostly(0, fc.nat(CLIENT_IDS.length - 1)),
  })
  .map((step) => ({ ...step, timeInForce: step.displayLots === 0 ? step.timeInForce : 0 }))
  .map((step) => ({ ...step, priceTicks: step.priceMatch === 0 ? step.priceTicks : 0 }));

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: place },
  { weight: 8, arbitrary: shy },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("again" as const), ...common, pick: fc.nat(1000) }),
  },
  { weight: 3, arbitrary: cancel },
  { weight: 3, arbitrary: amend },
  { weight: 3, arbitrary: batchOf(fc.oneof({ weight: 3, arbitrary: place }, shy, cancel, amend)) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("cancelAll" as const), ...common, side: fc.integer({ min: -1, max: 1 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("close" as const),
      ...common,
      quantityLots: fc.oneof(fc.constant(0), quantityLots),
      priceTicks: fc.oneof(fc.constant(0), priceTicks),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("leverage" as const),
      ...common,
      leverage: fc.constantFrom(0, 1, 2, 3, 5, 9, 10, 12, 25, 30, 31),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("marginMode" as const),
      ...common,
      marginMode: fc.constantFrom(CROSS, ISOLATED, ISOLATED),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("margin" as const),
      ...common,
      amountQuanta: fc.oneof(fc.integer({ min: -3000, max: 3000 }), fc.integer({ min: -100, max: 100 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("index" as const),
      ...common,
      indexTicks: fc.oneof(
        { weight: 12, arbitrary: fc.integer({ min: 96, max: 104 }) },
        { weight: 3, arbitrary: fc.integer({ min: 70, max: 140 }) },
        { weight: 1, arbitrary: fc.constantFrom(0, 1, 1000, 1001) },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("halt" as const),
      ...common,
      mode: fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("deposit" as const),
      ...common,
      amountQuanta: fc.integer({ min: 1, max: 3000 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("withdraw" as const),
      ...common,
      amountQuanta: fc.integer({ min: 1, max: 9000 }),
    }),
  },
);

const trigger = fc
  .record({
    kind: fc.constant("trigger" as const),
    ...common,
    side,
    orderType: fc.constantFrom(STOP, STOP_MARKET, TAKE_PROFIT, TAKE_PROFIT_MARKET),
    timeInForce: mostly(0, fc.integer({ min: 0, max: 2 })),
    flags: mostly(0, fc.constantFrom(REDUCE_ONLY, REDUCE_ONLY | CLOSE_POSITION, REDUCE_ONLY | CLOSE_POSITION), 1),
    selfTradePrevention: fc.integer({ min: 0, max: 3 }),
    priceTicks: fc.integer({ min: 94, max: 106 }),
    quantityLots,
    triggerTicks: fc.oneof(fc.integer({ min: 96, max: 104 }), fc.integer({ min: 70, max: 140 })),
    triggerBy: fc.integer({ min: 0, max: 2 }),
    clientId: mostly(0, fc.nat(CLIENT_IDS.length - 1)),
  })
  .map((step) => (isAtMarket(step.orderType) ? { ...step, priceTicks: 0, timeInForce: 1 } : step));

/** Half of them have fields for orders that trail, half for orders that do not. */
const retrigger = fc
  .record({
    kind: fc.constant("retrigger" as const),
    ...common,
    pick: fc.nat(1000),
    isTrailing: fc.boolean(),
    triggerTicks: mostly(0, fc.integer({ min: 80, max: 120 }), 3),
    callbackPpm: mostly(0, fc.integer({ min: 1000, max: 100_000 }), 1),
    activationTicks: mostly(0, fc.integer({ min: 90, max: 110 }), 1),
    priceTicks: mostly(0, priceTicks),
    quantityLots: mostly(0, quantityLots),
  })
  .map(({ isTrailing, ...step }) =>
    isTrailing ? { ...step, triggerTicks: 0, priceTicks: 0 } : { ...step, callbackPpm: 0, activationTicks: 0 },
  );

const prolong = fc.record({
  kind: fc.constant("prolong" as const),
  ...common,
  pick: fc.nat(1000),
  tillMs: fc.constantFrom(0, 1, 900, 10 * 60_000, 20 * 60_000),
  priceTicks: mostly(0, priceTicks),
});

const trailing = fc.record({
  kind: fc.constant("trailing" as const),
  ...common,
  side,
  flags: mostly(0, fc.constantFrom(REDUCE_ONLY, REDUCE_ONLY | CLOSE_POSITION), 1),
  quantityLots,
  callbackPpm: fc.oneof(fc.integer({ min: 1000, max: 100_000 }), fc.constantFrom(10_000, 50_000)),
  activationTicks: mostly(0, fc.integer({ min: 90, max: 110 }), 1),
  triggerBy: fc.integer({ min: 0, max: 2 }),
});

const extended = fc.record({
  kind: fc.constant("extended" as const),
  ...common,
  side,
  orderType: mostly(LIMIT, fc.constant(MARKET)),
  priceTicks: fc.integer({ min: 97, max: 103 }),
  quantityLots: fc.integer({ min: 1, max: 40 }),
  tillMs: fc.option(fc.constantFrom(0, 1, 900, 10 * 60_000)),
  takeProfitAway: fc.option(fc.integer({ min: 1, max: 30 })),
  stopLossAway: fc.option(fc.integer({ min: 1, max: 30 })),
  clientId: mostly(0, fc.nat(CLIENT_IDS.length - 1)),
});

const legTicks = fc.option(fc.integer({ min: 92, max: 108 }));

const protect = fc.record({
  kind: fc.constant("protect" as const),
  ...common,
  pick: fc.nat(1000),
  priceTicks: mostly(0, fc.integer({ min: 97, max: 103 })),
  triggers: fc.record({ takeProfit: legTicks, stopLoss: legTicks }, { requiredKeys: [] }),
});

/** A batch of orders of all kinds. */
export const mixedBatch = batchOf(
  fc.oneof(
    { weight: 3, arbitrary: place },
    { weight: 2, arbitrary: extended },
    ...[trigger, cancel, amend, retrigger, prolong, protect],
  ),
);

/** 0 disarms. */
const cancelAfter = fc.record({
  kind: fc.constant("cancelAfter" as const),
  ...common,
  timeoutMs: fc.constantFrom(0, 1, 900, 10 * 60_000),
});

/** The same with conditional orders, orders with an end, and orders with legs. */
export const richStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 9, arbitrary: step },
  { weight: 2, arbitrary: trigger },
  { weight: 2, arbitrary: retrigger },
  { weight: 3, arbitrary: extended },
  { weight: 2, arbitrary: prolong },
  { weight: 2, arbitrary: protect },
  { weight: 2, arbitrary: mixedBatch },
  { weight: 1, arbitrary: cancelAfter },
  { weight: 2, arbitrary: trailing },
);

/**
 * And with time for funding (an interval of the odd instruments is an hour), prices that cause liquidations, and ticks
 * that do them. 150 of these steps stay within a day, after which client order ids are forgotten.
 */
export const eventfulStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 19, arbitrary: richStep },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("tick" as const), ...common }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("index" as const),
      ...common,
      waitMs: fc.constantFrom(0, 9 * 60_000, 9 * 60_000),
      indexTicks: fc.integer({ min: 60, max: 150 }),
      isGuarded: mostly(0, fc.constant(1)),
    }),
  },
);
