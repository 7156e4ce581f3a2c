import { LEVERAGE, MARGIN_MODE, NONE, SIZE } from "../../src/core/base/columns.ts";
import * as enums from "../../src/core/base/enums.ts";
import { PPM } from "../../src/core/base/units.ts";
import { removableMargin } from "../../src/core/margin/isolated.ts";
import * as commands from "../../src/core/protocol/commands.ts";
import { blank, type Message } from "../../src/core/protocol/message-schema.ts";
import { Refused } from "../../src/core/protocol/replies.ts";
import type { SymbolActor } from "../../src/core/symbol.ts";
import { ppm } from "./scenario.ts";
import type { Action } from "./strategy.ts";
import type { Send, World } from "./world.ts";

const { BUY, SELL, CLOSE_POSITION, GTC, IOC, LIMIT, MARKET, POST_ONLY, REDUCE_ONLY } = enums;
const { STOP_MARKET, TAKE_PROFIT_MARKET, TRAILING_STOP_MARKET } = enums;

/** An order that is too large is tried again at half the size so many times, as a caller does who reads the refusal. */
const TRIES = 6;

export type SendOrder = (lots: number) => Message;

/** A position in lots, signed. */
export function sizeOf({ state: { positions } }: SymbolActor, account: number): number {
  const row = positions.find(account);
  return row === NONE ? 0 : positions.numbers[row + SIZE];
}

const rowNumber = ({ state: { positions, instrument } }: SymbolActor, account: number, column: number): number => {
  const row = positions.find(account);
  return row === NONE ? (column === LEVERAGE ? instrument.defaultLeverage : 0) : positions.numbers[row + column];
};

/** The lots that an order may have: those of the position that it closes, else those that the free margin pays for. */
function lotsFor(
  world: World,
  symbol: SymbolActor,
  account: number,
  side: number,
  ticks: number,
  part: number,
): number {
  const size = sizeOf(symbol, account);
  if (side === BUY ? size < 0 : size > 0) return Math.ceil(Math.abs(size) * part);
  const { instrument, markTicks } = symbol.state;
  const lossTicks = Math.max(0, side === BUY ? ticks - markTicks : markTicks - ticks);
  const available = Math.max(0, world.totals.available(account)) * part;
  const leverage = rowNumber(symbol, account, LEVERAGE);
  let lots = 0;
  for (const tier of instrument.riskTiers) {
    const rate = 1 / Math.min(leverage, tier.maxLeverage) + (1.1 * instrument.takerFeePpm) / PPM;
    const perLot = (Math.max(ticks, markTicks) * rate + lossTicks) * instrument.quantaPerTickLot;
    const inTier = tier.maxNotionalQuanta / (Math.max(ticks, markTicks) * instrument.quantaPerTickLot);
    lots = Math.max(lots, Math.min(inTier, available / perLot));
  }
  return Math.floor(Math.min(instrument.maxQuantityLots, lots));
}

export const placeOrder = (
  accountId: number,
  side: number,
  priceTicks: number,
  quantityLots: number,
  more: { orderType?: number; timeInForce?: number; flags?: number } = {},
): Message => ({ ...blank(commands.PlaceOrder), accountId, side, priceTicks, quantityLots, ...more }) as Message;

/** Sends what an account of the coalition does. `account` and `partner` are ids. */
export function sendAction(world: World, one: Action, account: number, partner: number): void {
  const symbol = world.symbols[one.symbol];
  const { side } = one;
  const price = (): number => ppm(symbol.state.markTicks, one.ppm);
  const order = (flags: number, orderType: number = LIMIT, timeInForce: number = GTC): void =>
    sendOrder(
      world,
      symbol,
      () => lotsFor(world, symbol, account, side, price(), one.size),
      (lots) => placeOrder(account, side, orderType === MARKET ? 0 : price(), lots, { orderType, timeInForce, flags }),
    );
  switch (one.kind) {
    case "LIMIT":
      return order(0);
    case "MARKET":
      return order(0, MARKET);
    case "POST_ONLY":
      return order(POST_ONLY);
    case "IOC":
      return order(0, LIMIT, IOC);
    case "REDUCE":
      return order(REDUCE_ONLY);
    case "PAIR":
      return sendPair(world, symbol, one, account, partner);
    case "ATTACHED":
      return sendAttached(world, symbol, one, account);
    case "STOP":
      return sendTrigger(world, symbol, one, account, STOP_MARKET, CLOSE_POSITION | REDUCE_ONLY);
    case "TAKE_PROFIT":
      return sendTrigger(world, symbol, one, account, TAKE_PROFIT_MARKET, CLOSE_POSITION | REDUCE_ONLY);
    case "ENTRY_STOP":
      return sendTrigger(world, symbol, one, account, STOP_MARKET, 0);
    case "TRAILING":
      return sendTrigger(world, symbol, one, account, TRAILING_STOP_MARKET, REDUCE_ONLY);
    case "WITHDRAW":
      return sendWithdrawal(world, account, one.size);
    default:
      return world.send(symbol, sendingOf(world, symbol, one, account));
  }
}

function sendingOf(world: World, symbol: SymbolActor, one: Action, accountId: number): Send {
  const { instrument } = symbol.state;
  switch (one.kind) {
    case "CLOSE":
      return () => {
        const quantityLots = one.size === 1 ? 0 : Math.ceil(Math.abs(sizeOf(symbol, accountId)) * one.size);
        const priceTicks = one.ppm === 0 ? 0 : ppm(symbol.state.markTicks, one.ppm);
        return { ...blank(commands.ClosePosition), accountId, quantityLots, priceTicks };
      };
    case "LEVERAGE": {
      const leverage = Math.max(1, Math.round(one.size * instrument.maxLeverage));
      return () => ({ ...blank(commands.SetLeverage), accountId, leverage });
    }
    case "MODE":
      return () => ({ ...blank(commands.SetMarginMode), accountId, marginMode: one.size > 0.5 ? 1 : 0 });
    case "MOVE_MARGIN":
      return () => {
        const row = symbol.state.positions.find(accountId);
        if (row === NONE || symbol.state.positions.numbers[row + MARGIN_MODE] === 0) return null;
        const most = one.ppm >= 0 ? world.totals.withdrawable(accountId) : -removableMargin(symbol.state, row);
        return { ...blank(commands.MoveMargin), accountId, amountQuanta: Math.trunc(most * one.size) };
      };
    default:
      return () => ({ ...blank(commands.CancelAll), accountId, side: -1 });
  }
}

const isTooLarge = (reply: Message): boolean =>
  reply.type === Refused.code && (reply as unknown as { field: string }).field === "quantity";

/** Sends an order; if it is refused for its size, half of it. `onAccepted` gets the lots. */
function sendOrder(
  world: World,
  symbol: SymbolActor,
  lotsNow: () => number,
  make: SendOrder,
  onAccepted: ((lots: number) => void) | null = null,
  tries = TRIES,
): void {
  let lots = 0;
  const send = (): Message | null => {
    lots = lotsNow();
    return lots < 1 ? null : make(lots);
  };
  world.send(symbol, send, (reply) => {
    if (isTooLarge(reply) && tries > 1)
      sendOrder(world, symbol, () => Math.floor(lots / 2), make, onAccepted, tries - 1);
    else if (reply.type !== Refused.code) onAccepted?.(lots);
  });
}

/** A trade between two accounts of the coalition, if nobody has a better price: one rests, the other takes. */
function sendPair(world: World, symbol: SymbolActor, one: Action, maker: number, taker: number): void {
  if (maker === taker) return;
  let ticks = 0;
  const lots = (): number => {
    ticks = ppm(symbol.state.markTicks, one.ppm);
    return Math.min(
      lotsFor(world, symbol, maker, one.side, ticks, one.size),
      lotsFor(world, symbol, taker, one.side === BUY ? SELL : BUY, ticks, one.size),
    );
  };
  const make = (quantityLots: number): Message => placeOrder(maker, one.side, ticks, quantityLots);
  const take = (quantityLots: number): Message =>
    placeOrder(taker, one.side === BUY ? SELL : BUY, ticks, quantityLots, { timeInForce: IOC });
  sendOrder(world, symbol, lots, make, (made) => {
    sendOrder(world, symbol, () => made, take);
  });
}

function sendAttached(world: World, symbol: SymbolActor, one: Action, accountId: number): void {
  const ticks = (): number => ppm(symbol.state.markTicks, one.ppm);
  const leg = (ratePpm: number) => ({
    triggerTicks: ppm(ticks(), one.side === BUY ? ratePpm : -ratePpm),
    triggerBy: one.by,
    priceTicks: 0,
  });
  sendOrder(
    world,
    symbol,
    () => lotsFor(world, symbol, accountId, one.side, ticks(), one.size),
    (quantityLots) => ({
      ...blank(commands.PlaceExtended),
      ...{ accountId, side: one.side, priceTicks: ticks(), quantityLots },
      legs: { takeProfit: leg(10_000), stopLoss: leg(-10_000) },
    }),
  );
}

function sendTrigger(
  world: World,
  symbol: SymbolActor,
  one: Action,
  accountId: number,
  orderType: number,
  flags: number,
): void {
  const isTrailing = orderType === TRAILING_STOP_MARKET;
  const closesAll = (flags & CLOSE_POSITION) !== 0;
  const current = (): number => symbol.state.priceOf(one.by);
  world.send(symbol, () => {
    if (current() === 0) return null;
    const triggerTicks = isTrailing ? 0 : ppm(current(), one.ppm);
    const lots = closesAll ? 0 : lotsFor(world, symbol, accountId, one.side, triggerTicks || current(), one.size);
    if (!closesAll && lots < 1) return null;
    return {
      ...blank(commands.PlaceTrigger),
      ...{ accountId, side: one.side, orderType, timeInForce: IOC, flags, quantityLots: lots },
      ...{ triggerTicks, triggerBy: one.by, callbackPpm: isTrailing ? Math.max(1000, Math.abs(one.ppm)) : 0 },
    };
  });
}

/** As the gateway does it: every symbol prepares, then the ledger decides. See src/front/routes/account.ts. */
export function sendWithdrawal(world: World, accountId: number, part: number): void {
  let refusal: Message | null = null;
  for (const symbol of world.symbols)
    world.send(
      symbol,
      () => ({ ...blank(commands.PrepareWithdrawal), accountId }),
      (reply) => {
        if (reply.type === Refused.code) refusal ??= { ...reply };
      },
    );
  world.sendAfterReplies(world.ledger, () => {
    const amountQuanta = Math.floor(world.totals.withdrawable(accountId) * part);
    if (amountQuanta < 1) return null;
    return { ...blank(commands.Withdraw), accountId, amountQuanta, address: "0x0", refusal } as Message;
  });
}
