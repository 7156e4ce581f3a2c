import assert from "node:assert/strict";
import { test } from "node:test";
import { summarizeSymbol } from "../../../src/core/audit/symbol-summary.ts";
import {
  CLOSE_POSITION,
  CROSS,
  GTD,
  ISOLATED,
  LEDGER,
  LIMIT,
  MARGIN_MODES,
  MARKET,
  ORDER_STATUSES,
  ORDER_TYPES,
  POST_ONLY,
  PRICE_MATCHES,
  REASONS,
  REDUCE_ONLY,
  SELF_TRADE_PREVENTIONS,
  SIDES,
  STATUS_UNTRIGGERED,
  STOP,
  TAKE_PROFIT,
  TIMES_IN_FORCE,
  TRAILING_STOP_MARKET,
  TRIGGER_SOURCES,
} from "../../../src/core/base/enums.ts";
import { printQuanta, QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import {
  AmendOrder,
  CancelAfter,
  CancelAll,
  CancelOrder,
  ClosePosition,
  Deposit,
  MoveMargin,
  OpenSession,
  PlaceExtended,
  PlaceOrder,
  PlaceTrigger,
  ReadOrder,
  ReadOrders,
  ReadPosition,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
  Withdraw,
} from "../../../src/core/protocol/commands.ts";
import {
  AttachedQuantityRaised,
  ConditionalOrderPlaced,
  OrderClosed,
  OrderReduced,
  OrderTriggered,
  Traded,
} from "../../../src/core/protocol/events.ts";
import type { Instrument } from "../../../src/core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { AttachedLeg, LegChanges, Levels } from "../../../src/core/protocol/payloads.ts";
import {
  Done,
  DuplicateOrder,
  LeverageView,
  MarginModeView,
  OrderView,
  PositionView,
  Refused,
  type SessionView,
  TransferView,
} from "../../../src/core/protocol/replies.ts";
import { Exchange, make, type Said } from "./exchange.ts";
import { instrument, PLAIN } from "./instruments.ts";

/**
 * A table of commands and their outcomes, one on each line:
 *
 *     mark 100                                  -> 100
 *     alice sell 5 @ 101 id=a                   -> NEW
 *     bob   buy  7 @ 101 IOC                    -> EXPIRED 5@101 IOC_REMAINDER
 *     book                                      -> bids - asks -
 *
 * Prices are in ticks, quantities in lots, money in USDC. Accounts open when they are first named, with 1,000,000 USDC
 * unless `alice has 100` sets another balance. An order's outcome is its status, its lots if they differ from the command,
 * its fills and its reason. After semicolons come other orders. At the end of each table an audit must find no fault.
 */
export function scenario(name: string, table: string, of: Instrument = instrument(PLAIN)): void {
  test(name, () => {
    const stage = new Stage(of);
    for (const line of table.split("\n")) {
      const text = line.replace(/^\s*#.*/, "").trim();
      if (text === "") continue;
      const [asked, expected] = text.split("->").map((part) => part.trim().replace(/\s+/g, " "));
      assert.equal(stage.play(asked), expected ?? "", `after "${asked}"`);
    }
    for (const actorId of stage.exchange.actors.keys()) assert.deepEqual(stage.exchange.audit(actorId).faults, []);
  });
}

class Stage {
  readonly exchange: Exchange;
  private readonly instrument: Instrument;
  private readonly accounts = new Map<string, number>();
  /** Order ids by their names in the table. */
  private readonly names = new Map<number, string>();
  private lastTrade: MessageOf<typeof Traded> | null = null;

  constructor(of: Instrument) {
    this.instrument = of;
    this.exchange = new Exchange([of]);
  }

  play(asked: string): string {
    const [who, verb, ...rest] = asked.split(" ");
    switch (who) {
      case "mark":
        return this.setIndexPrice(Number(verb));
      case "wait":
        this.exchange.time += Number(verb);
        return "";
      case "tick":
        return this.told(this.exchange.carryOut(this.instrument.id, make(Tick)));
      case "book":
        return this.book();
      case "fees": {
        const { takerFeeQuanta = 0, makerFeeQuanta = 0 } = this.lastTrade ?? {};
        return `taker ${printQuanta(takerFeeQuanta)} maker ${printQuanta(makerFeeQuanta)}`;
      }
      default:
        return this.act(who, verb, rest);
    }
  }

  private act(who: string, verb: string, rest: string[]): string {
    if (verb === "has") return this.open(who, Number(rest[0]));
    if (!this.accounts.has(who)) this.open(who, 1_000_000);
    const accountId = this.accounts.get(who) as number;
    switch (verb) {
      case "buy":
      case "sell":
        return this.place(accountId, SIDES.indexOf(verb === "buy" ? "BUY" : "SELL"), rest);
      case "cancel": {
        // An attached order has no client order id: take the last one with the name.
        const leg = [...this.names].findLast(([, name]) => name === rest[0] && name.includes("."));
        return this.send(
          make(CancelOrder, leg ? { accountId, orderId: leg[0] } : { accountId, clientOrderId: rest[0] }),
        );
      }
      case "amends":
        return this.amend(accountId, rest);
      case "cancels":
        return this.send(make(CancelAll, { accountId, side: ["buys", "sells"].indexOf(rest[0]) }));
      case "cancels-in":
        return this.send(make(CancelAfter, { accountId, timeoutMs: rest[0] === "never" ? 0 : Number(rest[0]) }));
      case "closes": {
        const words = rest.filter((word) => !word.startsWith("slip="));
        const at = words.indexOf("@");
        const quantityLots = at === 0 || words.length === 0 ? 0 : Number(words[0]);
        const priceTicks = at < 0 ? 0 : Number(words[at + 1]);
        const slip = rest.find((word) => word.startsWith("slip="));
        const maxSlippagePpm = slip === undefined ? 0 : Number(slip.slice("slip=".length)) * 10_000;
        return this.send(make(ClosePosition, { accountId, quantityLots, priceTicks, maxSlippagePpm }));
      }
      case "leverage":
        return this.send(make(SetLeverage, { accountId, leverage: Number(rest[0]) }));
      case "isolates":
        return this.send(make(SetMarginMode, { accountId, marginMode: ISOLATED }));
      case "crosses":
        return this.send(make(SetMarginMode, { accountId, marginMode: CROSS }));
      case "adds":
        return this.send(make(MoveMargin, { accountId, amountQuanta: toQuanta(rest[0]) }));
      case "removes":
        return this.send(make(MoveMargin, { accountId, amountQuanta: -toQuanta(rest[0]) }));
      case "margin":
        return this.isolatedMargin(accountId);
      case "withdraws":
        return this.send(make(Withdraw, { accountId, amountQuanta: toQuanta(rest[0]) }), LEDGER);
      case "order":
        return this.send(make(ReadOrder, { accountId, clientOrderId: rest[0] }));
      case "orders":
        return this.orders(accountId);
      case "position":
        return this.position(accountId);
      case "money":
        return this.money(accountId);
      default:
        throw new Error(`nobody knows how to ${verb}`);
    }
  }

  private open(who: string, usdc: number): string {
    const session = make(OpenSession, { address: who, tokenHash: who, expiresAt: 2 ** 50 });
    const { accountId } = this.exchange.ask(LEDGER, session) as MessageOf<typeof SessionView>;
    this.accounts.set(who, accountId);
    this.exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: usdc * QUANTA_PER_USDC }));
    return "";
  }

  private place(accountId: number, side: number, rest: string[]): string {
    const words = [...rest];
    const quantityLots = Number(words.shift());
    const isMarket = words.shift() === "market";
    const { priceTicks, priceMatch } = isMarket ? { priceTicks: 0, priceMatch: 0 } : priced(words.shift());
    const trigger = words.map((word) => /^(stop|take|trail)=([\d.]+)$/.exec(word)).find((match) => match !== null);
    const isExtended = priceMatch !== 0 || words.some((word) => /^(till|tp|sl|show)=/.test(word));
    const plain = isExtended ? make(PlaceExtended, { priceMatch }) : make(PlaceOrder);
    const command = trigger === undefined ? plain : make(PlaceTrigger, { triggerTicks: Number(trigger[2]) });
    const orderType = isMarket ? MARKET : LIMIT;
    Object.assign(command, { accountId, side, orderType, priceTicks, quantityLots });
    if (trigger !== undefined) command.orderType += trigger[1] === "take" ? TAKE_PROFIT : STOP;
    if (command.type === PlaceTrigger.code && trigger?.[1] === "trail") {
      command.orderType = TRAILING_STOP_MARKET;
      command.callbackPpm = Number(trigger[2]) * 10_000;
      command.triggerTicks = 0;
    }
    for (const word of words) {
      const [key, value] = word.split("=");
      if (word === trigger?.[0]) continue;
      if (command.type === PlaceExtended.code && this.extend(command, key, value)) continue;
      if (key === "from" && command.type === PlaceTrigger.code) command.activationTicks = Number(value);
      else if (key === "by" && command.type === PlaceTrigger.code)
        command.triggerBy = (TRIGGER_SOURCES as readonly string[]).indexOf(value);
      else if (key === "slip") command.maxSlippagePpm = Number(value) * 10_000;
      else if (key === "whole") command.flags |= CLOSE_POSITION | REDUCE_ONLY;
      else if (key === "post-only") command.flags |= POST_ONLY;
      else if (key === "reduce-only") command.flags |= REDUCE_ONLY;
      else if (key === "id") command.clientOrderId = value;
      else if (key === "key-order") command.keyOrderQuanta = Number(value) * QUANTA_PER_USDC;
      else if (key === "key-position") command.keyPositionQuanta = Number(value) * QUANTA_PER_USDC;
      else if (key === "key-leverage") command.keyLeverage = Number(value);
      else if (key === "expires") command.expiresAt = this.exchange.time + Number(value);
      else if ((SELF_TRADE_PREVENTIONS as readonly string[]).includes(word))
        command.selfTradePrevention = (SELF_TRADE_PREVENTIONS as readonly string[]).indexOf(word);
      else if ((TIMES_IN_FORCE as readonly string[]).includes(word))
        command.timeInForce = (TIMES_IN_FORCE as readonly string[]).indexOf(word);
      else throw new Error(`an order is not ${word}`);
    }
    command.bodyHash = [side, quantityLots, priceTicks + 1000 * priceMatch, command.flags].reduce(
      (hash, part) => hash * 31 + part,
      7,
    );
    return this.send(command);
  }

  /**
   * `till=` a time from now, `tp=` and `sl=` triggers, at market, `97@96`, or at market with slippage `97~2`; `show=` an
   * iceberg's slices.
   */
  private extend(command: MessageOf<typeof PlaceExtended>, key: string, word = ""): boolean {
    const leg = legOf(word);
    const value = leg.triggerTicks;
    const { takeProfit = null, stopLoss = null } = command.legs ?? {};
    if (key === "till") {
      command.goodTillDate = this.exchange.time + value;
      command.timeInForce = GTD;
    } else if (key === "tp") command.legs = { takeProfit: leg, stopLoss };
    else if (key === "sl") command.legs = { takeProfit, stopLoss: leg };
    else if (key === "show") command.displayLots = value;
    else return false;
    return true;
  }

  /**
   * `a 5 @ 101`, `a 5` or `a @ QUEUE`, and `show=2`, `till=900` (from now), `trigger=97`, `trail=5`, `from=105`, `slip=1`,
   * and `tp=103` or `sl=none` as in extend().
   */
  private amend(accountId: number, [name = "", ...words]: string[]): string {
    const named = new Map(
      words.filter((word) => word.includes("=")).map((word) => word.split("=") as [string, string]),
    );
    const given = (key: string): number => Number(named.get(key) ?? 0);
    const rest = words.filter((word) => !word.includes("="));
    const at = rest.indexOf("@");
    const changes = {
      quantityLots: rest.length === 0 || at === 0 ? 0 : Number(rest[0]),
      displayLots: given("show"),
      triggerTicks: given("trigger"),
      callbackPpm: given("trail") * 10_000,
      activationTicks: given("from"),
      maxSlippagePpm: given("slip") * 10_000,
      goodTillDate: named.has("till") ? this.exchange.time + given("till") : 0,
      keyPositionQuanta: given("key-position") * QUANTA_PER_USDC,
      legs: named.has("tp") || named.has("sl") ? legChangesOf(named.get("tp"), named.get("sl")) : null,
      ...(at < 0 ? {} : priced(rest[at + 1])),
    };
    // An attached order has no client order id.
    const [orderId = 0] = [...this.names].find(([, each]) => name.includes(".") && each === name) ?? [];
    return this.send(make(AmendOrder, { accountId, orderId, clientOrderId: orderId === 0 ? name : "", ...changes }));
  }

  private send(command: Message, actorId: number = this.instrument.id): string {
    const { quantityLots = 0 } = command as { quantityLots?: number };
    return this.told(this.exchange.carryOut(actorId, command), quantityLots);
  }

  /** A transaction in words. */
  private told(said: Said, askedLots = 0): string {
    const parts: string[] = [];
    let mine = 0;
    let fired = -1;
    const list = said.replies.at(-1)?.type === Done.code;
    for (const reply of said.replies) {
      switch (reply.type) {
        case OrderView.code: {
          const order = reply as MessageOf<typeof OrderView>;
          const name = order.clientOrderId || this.names.get(order.orderId);
          this.names.set(order.orderId, name ?? `#${Math.floor(order.orderId / 256)}`);
          if (list) break; // its end is told below
          mine = order.orderId;
          parts.push(this.orderInWords(order, said, askedLots));
          break;
        }
        case Refused.code: {
          const { code, details } = reply as MessageOf<typeof Refused>;
          const pairs = Object.entries(details ?? {}).map(
            ([key, value]) => `${key}=${key.endsWith("Quanta") ? printQuanta(Number(value)) : value}`,
          );
          parts.push([code, ...pairs].join(" "));
          break;
        }
        case DuplicateOrder.code:
          parts.push(`DUPLICATE ${this.names.get((reply as MessageOf<typeof DuplicateOrder>).orderId)}`);
          break;
        case MarginModeView.code:
          parts.push(MARGIN_MODES[(reply as MessageOf<typeof MarginModeView>).marginMode]);
          break;
        case PositionView.code:
          parts.push(`margin ${printQuanta((reply as MessageOf<typeof PositionView>).isolatedQuanta)}`);
          break;
        case LeverageView.code:
          parts.push(String((reply as MessageOf<typeof LeverageView>).leverage));
          break;
        case TransferView.code:
          parts.push((reply as MessageOf<typeof TransferView>).transfer.status);
          break;
      }
    }
    for (const event of said.events) {
      if (
        event.type === ConditionalOrderPlaced.code &&
        (event as MessageOf<typeof ConditionalOrderPlaced>).parentId !== 0
      ) {
        const { orderId, orderType, quantityLots, parentId } = event as MessageOf<typeof ConditionalOrderPlaced>;
        const name = `${this.names.get(parentId)}.${orderType >= TAKE_PROFIT ? "tp" : "sl"}`;
        this.names.set(orderId, name);
        parts.push(`${name} waits with ${quantityLots}`);
      } else if (event.type === AttachedQuantityRaised.code) {
        const { orderId, quantityLots } = event as MessageOf<typeof AttachedQuantityRaised>;
        parts.push(`${this.names.get(orderId)} grows to ${quantityLots}`);
      } else if (event.type === OrderClosed.code) {
        const { orderId, status, reason } = event as MessageOf<typeof OrderClosed>;
        if (orderId !== mine) parts.push(`${this.names.get(orderId)} ${ORDER_STATUSES[status]} ${REASONS[reason]}`);
      } else if (event.type === OrderTriggered.code) {
        const { orderId } = event as MessageOf<typeof OrderTriggered>;
        fired = orderId;
        parts.push(`${this.names.get(orderId)} fires`);
      } else if (event.type === Traded.code) {
        const { takerOrderId, quantityLots, priceTicks } = event as MessageOf<typeof Traded>;
        if (takerOrderId === fired) parts.push(`${quantityLots}@${priceTicks}`);
      } else if (event.type === OrderReduced.code) {
        const { orderId, byLots, reason } = event as MessageOf<typeof OrderReduced>;
        parts.push(`${this.names.get(orderId) ?? "it"} -${byLots} ${REASONS[reason]}`);
      }
    }
    return parts.join("; ");
  }

  private orderInWords(order: MessageOf<typeof OrderView>, said: Said, askedLots: number): string {
    const words: string[] = [ORDER_STATUSES[order.status]];
    if (askedLots > 0 && order.quantityLots !== askedLots) words.push(`of ${order.quantityLots}`);
    for (const event of said.events) {
      const trade = event as MessageOf<typeof Traded>;
      // An order that fired in the same transaction has trades of its own.
      if (trade.type !== Traded.code || trade.takerOrderId !== order.orderId) continue;
      words.push(`${trade.quantityLots}@${trade.priceTicks}`);
      this.lastTrade = trade;
    }
    if (order.reason !== 0) words.push(String(REASONS[order.reason]));
    return words.join(" ");
  }

  private setIndexPrice(indexTicks: number): string {
    const told = this.told(this.exchange.carryOut(this.instrument.id, make(SetIndexPrice, { indexTicks })));
    return told === "" ? String(this.exchange.symbol(this.instrument.id).state.markTicks) : told;
  }

  private book(): string {
    const { bids, asks } = summarizeSymbol(this.exchange.symbol(this.instrument.id).state);
    const print = (levels: Levels): string => levels.map(([price, lots]) => `${price}:${lots}`).join(" ") || "-";
    return `bids ${print(bids)} asks ${print(asks)}`;
  }

  private orders(accountId: number): string {
    const { replies } = this.exchange.do(this.instrument.id, make(ReadOrders, { accountId }));
    const orders = replies.slice(0, -1) as MessageOf<typeof OrderView>[];
    return (
      orders
        .map((order) => {
          const name = this.names.get(order.orderId);
          if (order.status === STATUS_UNTRIGGERED)
            return `${name} ${ORDER_TYPES[order.orderType]} ${order.remainingLots} at ${order.triggerTicks || "-"}`;
          const shows = order.displayLots === 0 ? "" : ` shows ${order.displayLots}`;
          const legs = `${legText("tp", order.legs?.takeProfit)}${legText("sl", order.legs?.stopLoss)}`;
          return `${name} ${ORDER_STATUSES[order.status]} ${order.remainingLots}@${order.priceTicks}${shows}${legs}`;
        })
        .join("; ") || "none"
    );
  }

  private position(accountId: number): string {
    const [reply] = this.exchange.do(this.instrument.id, make(ReadPosition, { accountId })).replies;
    if (reply.type !== PositionView.code) return "none";
    const { sizeLots, costQuanta, realizedQuanta } = reply as MessageOf<typeof PositionView>;
    return `${sizeLots} cost ${printQuanta(costQuanta)} realized ${printQuanta(realizedQuanta)}`;
  }

  /** An isolated position's margin, initial and maintenance margin, liquidation and bankruptcy price. */
  private isolatedMargin(accountId: number): string {
    const [reply] = this.exchange.do(this.instrument.id, make(ReadPosition, { accountId })).replies;
    if (reply.type !== PositionView.code) return "none";
    const view = reply as MessageOf<typeof PositionView>;
    const { initialQuanta, maintenanceQuanta, liquidationTicks, bankruptcyTicks } = view;
    const margins = [view.isolatedQuanta, initialQuanta, maintenanceQuanta].map(printQuanta).join(" of ");
    return `${MARGIN_MODES[view.marginMode]} ${margins} ends ${liquidationTicks} ${bankruptcyTicks}`;
  }

  private money(accountId: number): string {
    const { equity, initial, positionInitial, maintenance } = this.exchange.marginTableOf(accountId);
    const free = equity - initial;
    return Object.entries({ equity, initial, orders: initial - positionInitial, maintenance, free })
      .map(([name, quanta]) => `${name} ${printQuanta(quanta)}`)
      .join(" ");
  }
}

const toQuanta = (usdc: string): number => Math.round(Number(usdc) * QUANTA_PER_USDC);

/** See extend(). */
function legOf(word: string): AttachedLeg {
  const [price = "", slip] = word.split("~");
  const [triggerTicks, priceTicks = 0] = price.split("@").map(Number);
  const maxSlippagePpm = slip === undefined ? {} : { maxSlippagePpm: Number(slip) * 10_000 };
  return { triggerTicks, triggerBy: 0, priceTicks, ...maxSlippagePpm };
}

function legChangesOf(takeProfit: string | undefined, stopLoss: string | undefined): LegChanges {
  const change = (word: string): AttachedLeg | null => (word === "none" ? null : legOf(word));
  return {
    ...(takeProfit !== undefined && { takeProfit: change(takeProfit) }),
    ...(stopLoss !== undefined && { stopLoss: change(stopLoss) }),
  };
}

function legText(name: string, leg: AttachedLeg | null | undefined): string {
  if (leg == null) return "";
  return ` ${name}=${leg.triggerTicks}${leg.priceTicks === 0 ? "" : `@${leg.priceTicks}`}`;
}

/** `101`, or a level of the book: `QUEUE_5`. */
function priced(word = ""): { priceTicks: number; priceMatch: number } {
  const priceMatch = Math.max(0, (PRICE_MATCHES as readonly (string | null)[]).indexOf(word));
  return { priceTicks: priceMatch === 0 ? Number(word) : 0, priceMatch };
}
