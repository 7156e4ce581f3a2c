import { GTD, idToInstrumentId, LEDGER, LIMIT, MARKET, TRAILING_STOP_MARKET } from "../../../src/core/base/enums.ts";
import {
  AmendOrder,
  type BatchItem,
  CancelAfter,
  CancelAll,
  CancelOrder,
  ClosePosition,
  Deposit,
  HaltSymbol,
  MoveMargin,
  OpenSession,
  OrderBatch,
  PlaceExtended,
  PlaceOrder,
  PlaceTrigger,
  ResumeSymbol,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
  Withdraw,
} from "../../../src/core/protocol/commands.ts";
import {
  ConditionalOrderPlaced,
  OrderExtended,
  OrderPlaced,
  type SymbolEvent,
} from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { AttachedLeg, LegChanges } from "../../../src/core/protocol/payloads.ts";
import type { SessionView } from "../../../src/core/protocol/replies.ts";
import { type Exchange, make, type Said } from "./exchange.ts";
import { BALANCES, CLIENT_IDS, type Step } from "./steps.ts";

/** Makes commands of steps and sends them. Remembers the orders. */
export class Traffic<E extends Pick<Exchange, "time" | "ask" | "carryOut"> = Exchange> {
  readonly exchange: E;
  readonly accounts: number[] = [];
  private readonly symbols: number[];
  private readonly orderIds: number[];
  private readonly ordersOf = new Map<number, number[]>();
  /** The conditional ones among them, and those with an end. */
  private readonly waitingOf = new Map<number, number[]>();
  private readonly endingOf = new Map<number, number[]>();
  private readonly withClientId: { actorId: number; command: Message }[] = [];

  constructor(exchange: E, symbols: readonly number[]) {
    this.exchange = exchange;
    this.symbols = [...symbols];
    this.orderIds = symbols.map((symbol) => symbol); // one that never was
  }

  /** Opens the accounts and puts their money and the first prices in place. */
  *opening(): Generator<{ actorId: number; command: Message }> {
    for (const [i, amountQuanta] of BALANCES.entries()) {
      const session = make(OpenSession, { address: `0x${i}`, tokenHash: `token ${i}`, expiresAt: 2 ** 50 });
      const { accountId } = this.exchange.ask(LEDGER, session) as MessageOf<typeof SessionView>;
      this.accounts.push(accountId);
      yield { actorId: LEDGER, command: make(Deposit, { accountId, amountQuanta }) };
    }
    for (const actorId of this.symbols) yield { actorId, command: make(SetIndexPrice, { indexTicks: 100 }) };
  }

  command(step: Step): { actorId: number; command: Message } {
    const actorId = this.symbols[step.symbol % this.symbols.length];
    const accountId = this.accounts[step.account];
    switch (step.kind) {
      case "place": {
        const { kind, symbol, account, waitMs, clientId, expiresInMs, ...rest } = step;
        const body = [...Object.values(rest), expiresInMs ?? 0];
        const command = make(PlaceOrder, {
          ...rest,
          accountId,
          expiresAt: expiresInMs === null ? 0 : this.exchange.time + step.waitMs + expiresInMs,
          bodyHash: body.reduce((hash, part) => (hash * 31 + part) % 1_000_003, 7),
          clientOrderId: CLIENT_IDS[clientId],
        });
        if (clientId > 0) this.withClientId.push({ actorId, command });
        return { actorId, command };
      }
      case "shy": {
        const { kind, symbol, account, waitMs, clientId, ...rest } = step;
        const bodyHash = Object.values(rest).reduce((hash, part) => (hash * 31 + part) % 1_000_003, 13);
        const command = make(PlaceExtended, { ...rest, accountId, bodyHash, clientOrderId: CLIENT_IDS[clientId] });
        if (clientId > 0) this.withClientId.push({ actorId, command });
        return { actorId, command };
      }
      case "extended":
        return this.extended(actorId, accountId, step);
      case "trigger": {
        const { kind, symbol, account, waitMs, clientId, ...rest } = step;
        const bodyHash = Object.values(rest).reduce((hash, part) => (hash * 31 + part) % 1_000_003, 11);
        const command = make(PlaceTrigger, { ...rest, accountId, bodyHash, clientOrderId: CLIENT_IDS[clientId] });
        if (clientId > 0) this.withClientId.push({ actorId, command });
        return { actorId, command };
      }
      case "trailing": {
        const { kind, symbol, account, waitMs, ...rest } = step;
        const orderType = TRAILING_STOP_MARKET;
        return { actorId, command: make(PlaceTrigger, { ...rest, orderType, timeInForce: 1, accountId }) };
      }
      case "again": {
        const { length } = this.withClientId;
        // Nothing to repeat yet: cancel all orders instead.
        return length > 0
          ? this.withClientId[step.pick % length]
          : { actorId, command: make(CancelAll, { accountId, side: -1 }) };
      }
      case "cancel": {
        const orderId = step.clientId > 0 ? 0 : this.orderIds[step.pick % this.orderIds.length];
        const clientOrderId = CLIENT_IDS[step.clientId];
        return { actorId, command: make(CancelOrder, { accountId, orderId, clientOrderId }) };
      }
      case "amend": {
        const { priceMatch, quantityLots, displayLots, expiresInMs } = step;
        // One of the account's last orders: most others are closed.
        const orderId = step.clientId > 0 ? 0 : this.recentOrderOf(accountId, step.pick);
        return {
          actorId: orderId === 0 ? actorId : idToInstrumentId(orderId),
          command: make(AmendOrder, {
            accountId,
            orderId,
            clientOrderId: CLIENT_IDS[step.clientId],
            priceTicks: priceMatch === 0 ? step.priceTicks : 0,
            priceMatch,
            quantityLots,
            displayLots,
            expiresAt: expiresInMs === null ? 0 : this.exchange.time + step.waitMs + expiresInMs,
          }),
        };
      }
      case "retrigger": {
        const { kind, symbol, account, waitMs, pick, ...changes } = step;
        const orderId = this.recentOrderOf(accountId, pick, this.waitingOf);
        return {
          actorId: orderId === 0 ? actorId : idToInstrumentId(orderId),
          command: make(AmendOrder, { ...changes, accountId, orderId }),
        };
      }
      case "prolong": {
        const { pick, tillMs, priceTicks } = step;
        const orderId = this.recentOrderOf(accountId, pick, this.endingOf);
        const goodTillDate = this.exchange.time + step.waitMs + tillMs;
        return {
          actorId: orderId === 0 ? actorId : idToInstrumentId(orderId),
          command: make(AmendOrder, { accountId, orderId, goodTillDate, priceTicks }),
        };
      }
      case "protect": {
        const { pick, triggers, priceTicks } = step;
        const orderId = this.recentOrderOf(accountId, pick);
        const legs: LegChanges = {};
        for (const name of ["takeProfit", "stopLoss"] as const) {
          const triggerTicks = triggers[name];
          if (triggerTicks === undefined) continue;
          legs[name] = triggerTicks === null ? null : { triggerTicks, triggerBy: 0, priceTicks: 0 };
        }
        return {
          actorId: orderId === 0 ? actorId : idToInstrumentId(orderId),
          command: make(AmendOrder, { accountId, orderId, legs, priceTicks }),
        };
      }
      case "batch": {
        const { symbol, account, waitMs } = step;
        const items = step.items.map((item) => this.command({ ...item, symbol, account, waitMs }).command as BatchItem);
        return { actorId, command: make(OrderBatch, { items }) };
      }
      case "cancelAll":
        return { actorId, command: make(CancelAll, { accountId, side: step.side }) };
      case "cancelAfter":
        return { actorId, command: make(CancelAfter, { accountId, timeoutMs: step.timeoutMs }) };
      case "close": {
        const { quantityLots, priceTicks } = step;
        return { actorId, command: make(ClosePosition, { accountId, quantityLots, priceTicks }) };
      }
      case "leverage":
        return { actorId, command: make(SetLeverage, { accountId, leverage: step.leverage }) };
      case "marginMode":
        return { actorId, command: make(SetMarginMode, { accountId, marginMode: step.marginMode }) };
      case "margin": {
        const { amountQuanta } = step;
        // Every second one has a reference. There are few, so they repeat with the same and with other amounts.
        const reference = amountQuanta % 2 === 0 ? "" : `move ${Math.abs(amountQuanta) % 5}`;
        return { actorId, command: make(MoveMargin, { accountId, amountQuanta, reference }) };
      }
      case "index":
        return {
          actorId,
          command: make(SetIndexPrice, { indexTicks: step.indexTicks, isGuarded: step.isGuarded ?? 0 }),
        };
      case "halt":
        return {
          actorId,
          command:
            step.mode === 0
              ? make(ResumeSymbol, { operator: "alice" })
              : make(HaltSymbol, { mode: step.mode, reason: 3 }),
        };
      case "tick":
        return { actorId, command: make(Tick) };
      case "deposit":
        return { actorId: LEDGER, command: make(Deposit, { accountId, amountQuanta: step.amountQuanta }) };
      case "withdraw":
        return { actorId: LEDGER, command: make(Withdraw, { accountId, amountQuanta: step.amountQuanta }) };
    }
  }

  private extended(
    actorId: number,
    accountId: number,
    step: Step & { kind: "extended" },
  ): { actorId: number; command: Message } {
    const { side, orderType, quantityLots, tillMs, clientId } = step;
    const away = side === 0 ? 1 : -1;
    const leg = (by: number | null): AttachedLeg | null =>
      by === null ? null : { triggerTicks: step.priceTicks + by, triggerBy: 0, priceTicks: 0 };
    const takeProfit = leg(step.takeProfitAway === null ? null : away * step.takeProfitAway);
    const stopLoss = leg(step.stopLossAway === null ? null : -away * step.stopLossAway);
    const isGtd = tillMs !== null && orderType === LIMIT;
    const command = make(PlaceExtended, {
      accountId,
      side,
      orderType,
      timeInForce: isGtd ? GTD : orderType === MARKET ? 1 : 0,
      priceTicks: orderType === MARKET ? 0 : step.priceTicks,
      quantityLots,
      bodyHash: step.priceTicks * 1000 + quantityLots,
      clientOrderId: CLIENT_IDS[clientId],
      goodTillDate: isGtd ? this.exchange.time + tillMs : 0,
      legs: takeProfit === null && stopLoss === null ? null : { takeProfit, stopLoss },
    });
    if (clientId > 0) this.withClientId.push({ actorId, command });
    return { actorId, command };
  }

  private recentOrderOf(accountId: number, pick: number, ordersOf = this.ordersOf): number {
    const recent = ordersOf.get(accountId)?.slice(-6) ?? [];
    return recent.length === 0 ? 0 : recent[pick % recent.length];
  }

  send(actorId: number, command: Message): Said {
    const said = this.exchange.carryOut(actorId, command);
    this.note(said.events);
    return said;
  }

  /** Notes the events of a transaction. */
  note(events: readonly Message[]): void {
    for (const each of events) {
      const event = each as SymbolEvent;
      if (event.type === OrderExtended.code && event.goodTillDate !== 0) append(this.endingOf, event);
      if (event.type === ConditionalOrderPlaced.code) append(this.waitingOf, event);
      if (event.type !== OrderPlaced.code && event.type !== ConditionalOrderPlaced.code) continue;
      this.orderIds.push(event.orderId);
      append(this.ordersOf, event);
    }
  }

  /** One step from command to outcome. */
  run(step: Step): Said {
    const { actorId, command } = this.command(step);
    this.exchange.time += step.waitMs;
    return this.send(actorId, command);
  }
}

function append(ordersOf: Map<number, number[]>, { accountId, orderId }: { accountId: number; orderId: number }): void {
  ordersOf.set(accountId, [...(ordersOf.get(accountId) ?? []), orderId]);
}
