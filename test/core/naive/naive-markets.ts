import assert from "node:assert/strict";
import {
  BUY,
  FEE_ACCOUNT,
  INSURANCE_ACCOUNT,
  isCustomer,
  LIQUIDATION_ORDER,
  SELL,
} from "../../../src/core/base/enums.ts";
import type { Actor, Transaction } from "../../../src/core/protocol/actor.ts";
import { MoveMargin, ReadPosition, SetIndexPrice, Withdraw } from "../../../src/core/protocol/commands.ts";
import * as events from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { PositionView, Refused } from "../../../src/core/protocol/replies.ts";
import { SymbolActor } from "../../../src/core/symbol.ts";
import { make } from "../support/exchange.ts";
import { Markets } from "../support/random-markets.ts";
import {
  abs,
  bankruptcyPrice,
  ceilDivide,
  least,
  liquidationPrice,
  MILLION,
  most,
  settlementPrice,
  termsOf,
} from "./naive-formulas.ts";
import { type Figures, NaiveMoney, NaiveSymbol, restingOrder } from "./naive-money.ts";

/** Quanta by which the price of a transfer may differ. */
const MOST_ROUNDED = 2n;

type Of<S extends Parameters<typeof make>[0]> = MessageOf<S>;

/** Two symbols whose every transaction the naive model follows from its events, and is compared with. */
export class NaiveMarkets extends Markets {
  readonly models = this.symbols.map(({ state }) => new NaiveSymbol(termsOf(state.instrument.config)));
  readonly money = new NaiveMoney(this.models);
  /** Accounts that the running step has changed. */
  private readonly changed = new Set<number>();
  private deposited = 0n;
  /** Of the last liquidation order. */
  private bankruptcy = 0n;
  readonly seen: Record<string, number> = {};
  private isSettling = false;
  private command: Message | null = null;
  private taker: { symbol: NaiveSymbol; account: number; orderId: number } | null = null;

  constructor() {
    // Prices stay far below.
    super(undefined, ["300000", "30000"]);
  }

  override run(actor: Actor, command: Message): Message[] {
    this.command = command;
    const symbol = actor instanceof SymbolActor ? this.models[this.symbols.indexOf(actor)] : undefined;
    if (symbol === undefined) return super.run(actor, command);
    const fund = symbol.of(INSURANCE_ACCOUNT);
    const { size, cost } = fund;
    const { mark } = symbol;
    const said = super.run(actor, command);
    // A position that it has had before the step, and has still, has not lost more than it may.
    if (symbol.mark !== mark && size !== 0n && fund.size === size && fund.cost === cost) {
      assert.ok(this.spareOfFund(symbol) >= 0n, `the fund lacks ${this.spareOfFund(symbol)}`);
      this.count("kept by the fund");
    }
    return said;
  }

  protected override transaction(
    actor: Actor,
    run: (transaction: Transaction) => void,
  ): { events: Message[]; replies: Message[] } {
    this.isSettling = actor.isSettlingMark || this.command?.type === SetIndexPrice.code;
    const said = super.transaction(actor, run);
    const symbol = actor instanceof SymbolActor ? this.models[this.symbols.indexOf(actor)] : null;
    for (const event of said.events) {
      const { accountId, makerAccountId, takerAccountId, counterpartyId } = event as unknown as Record<string, number>;
      for (const account of [accountId, makerAccountId, takerAccountId, counterpartyId]) this.changed.add(account);
      this.endOrder(event);
      if (symbol === null) this.followLedger(event);
      else this.follow(symbol, event);
    }
    this.endOrder(null);
    const { command } = this;
    this.command = null;
    if (command?.type === MoveMargin.code && symbol !== null && said.replies[0]?.type !== Refused.code) {
      const { accountId, amountQuanta } = command as Of<typeof MoveMargin>;
      symbol.of(accountId).margin += BigInt(amountQuanta);
    }
    return said;
  }

  /** The fills of an order set margin aside together: so when anything else changes a position. */
  private endOrder(event: Message | null): void {
    if (this.taker === null || event?.type === events.IsolatedMarginSet.code) return;
    if (event?.type === events.Traded.code && (event as Of<typeof events.Traded>).takerOrderId === this.taker.orderId)
      return;
    this.money.setAside(this.taker.symbol, this.taker.account);
    this.taker = null;
  }

  private followLedger(event: Message): void {
    if (event.type === events.Deposited.code) {
      const { accountId, amountQuanta } = event as Of<typeof events.Deposited>;
      this.money.pay(accountId, BigInt(amountQuanta));
      this.deposited += BigInt(amountQuanta);
    }
    if (event.type === events.WithdrawalRequested.code) {
      const { accountId, amountQuanta } = event as Of<typeof events.WithdrawalRequested>;
      this.money.pay(accountId, -BigInt(amountQuanta));
      this.deposited -= BigInt(amountQuanta);
    }
  }

  private follow(symbol: NaiveSymbol, event: Message): void {
    switch (event.type) {
      case events.OrderPlaced.code: {
        const { accountId, orderId, rests, quantityLots, ...order } = event as Of<typeof events.OrderPlaced>;
        if ((order.flags & LIQUIDATION_ORDER) !== 0) this.liquidate(symbol, accountId, orderId, order.priceTicks);
        if (rests === 1) symbol.of(accountId).orders.set(orderId, restingOrder(symbol, order, quantityLots));
        else this.flagsOf.set(orderId, order.flags);
        return;
      }
      case events.OrderRested.code: {
        const { accountId, orderId, restingLots, ...order } = event as Of<typeof events.OrderRested>;
        const flags = this.flagsOf.get(orderId) ?? 0;
        symbol.of(accountId).orders.set(orderId, restingOrder(symbol, { ...order, flags }, restingLots));
        return;
      }
      case events.OrderReduced.code: {
        const { accountId, orderId, byLots, resting } = event as Of<typeof events.OrderReduced>;
        if (resting === 1) this.shrink(symbol, accountId, orderId, byLots);
        return;
      }
      case events.OrderClosed.code: {
        const { accountId, orderId } = event as Of<typeof events.OrderClosed>;
        symbol.of(accountId).orders.delete(orderId);
        return;
      }
      case events.Traded.code:
        this.trade(symbol, event as Of<typeof events.Traded>);
        return;
      case events.PositionTransferred.code:
        this.transfer(symbol, event as Of<typeof events.PositionTransferred>);
        return;
      case events.LeverageSet.code: {
        const { accountId, leverage } = event as Of<typeof events.LeverageSet>;
        symbol.setLeverage(accountId, BigInt(leverage));
        return;
      }
      case events.MarginModeSet.code: {
        const { accountId, marginMode } = event as Of<typeof events.MarginModeSet>;
        symbol.setMode(accountId, marginMode);
        return;
      }
      case events.PriceUpdated.code: {
        const { markTicks } = event as Of<typeof events.PriceUpdated>;
        symbol.markBefore = symbol.mark;
        symbol.mark = BigInt(markTicks);
        return;
      }
      case events.FundingPaid.code: {
        const { accountId, ratePpb, markTicks, sizeLots, amountQuanta } = event as Of<typeof events.FundingPaid>;
        assert.equal(BigInt(sizeLots), symbol.of(accountId).size);
        const amount = this.money.fund(symbol, accountId, BigInt(ratePpb), BigInt(markTicks));
        assert.equal(BigInt(amountQuanta), amount, "funding");
        this.count("funding");
        return;
      }
      case events.DeficitCovered.code: {
        const { accountId, amountQuanta } = event as Of<typeof events.DeficitCovered>;
        this.money.pay(accountId, BigInt(amountQuanta));
        this.money.pay(INSURANCE_ACCOUNT, -BigInt(amountQuanta));
        this.count("covered");
      }
    }
  }

  private readonly flagsOf = new Map<number, number>();

  private shrink(symbol: NaiveSymbol, account: number, orderId: number, lots: number): void {
    const { orders } = symbol.of(account);
    const order = orders.get(orderId);
    if (order === undefined) return;
    order.lots -= BigInt(lots);
    if (order.lots === 0n) orders.delete(orderId);
  }

  private trade(symbol: NaiveSymbol, event: Of<typeof events.Traded>): void {
    const { takerAccountId, makerAccountId, takerSide, execType } = event;
    const { perTickLot, takerFeePpm, makerFeePpm } = symbol.terms;
    const lots = BigInt(event.quantityLots);
    const worth = lots * BigInt(event.priceTicks) * perTickLot;
    const sign = takerSide === BUY ? 1n : -1n;
    const isLiquidation = execType !== 0;
    const takerFee = isLiquidation ? this.liquidationFee(symbol, event) : ceilDivide(worth * takerFeePpm, MILLION);
    const makerFee = ceilDivide(worth * makerFeePpm, MILLION);
    this.shrink(symbol, makerAccountId, event.makerOrderId, event.quantityLots);
    const takerRealized = symbol.fill(takerAccountId, sign * lots, sign * worth);
    const makerRealized = symbol.fill(makerAccountId, -sign * lots, -sign * worth);
    this.money.charge(symbol.of(takerAccountId), takerFee, isLiquidation ? INSURANCE_ACCOUNT : FEE_ACCOUNT);
    this.money.charge(symbol.of(makerAccountId), makerFee, FEE_ACCOUNT);
    const { takerFeeQuanta, makerFeeQuanta, takerRealizedQuanta, makerRealizedQuanta, takerSizeLots, makerSizeLots } =
      event;
    assert.deepEqual(
      { takerFeeQuanta, makerFeeQuanta, takerRealizedQuanta, makerRealizedQuanta, takerSizeLots, makerSizeLots },
      {
        takerFeeQuanta: Number(takerFee),
        makerFeeQuanta: Number(makerFee),
        takerRealizedQuanta: Number(takerRealized),
        makerRealizedQuanta: Number(makerRealized),
        takerSizeLots: Number(symbol.of(takerAccountId).size),
        makerSizeLots: Number(symbol.of(makerAccountId).size),
      },
    );
    this.money.setAside(symbol, makerAccountId);
    this.taker = { symbol, account: takerAccountId, orderId: event.takerOrderId };
    this.count(isLiquidation ? "liquidated" : "traded");
  }

  /** The order of a liquidation goes no further than the bankruptcy price. */
  private liquidate(symbol: NaiveSymbol, account: number, orderId: number, priceTicks: number): void {
    const position = symbol.of(account);
    const { size } = position;
    if (account === INSURANCE_ACCOUNT) {
      const worst = settlementPrice(symbol.terms, size, symbol.mark, symbol.markBefore, this.spareOfFund(symbol));
      this.bankruptcy = BigInt(priceTicks);
      // The allowance of the hour may be smaller than what the position has gained.
      assert.ok(size > 0n ? this.bankruptcy >= worst : this.bankruptcy <= worst, `order ${orderId} of the fund`);
      return this.count("of the fund");
    }
    const support = symbol.supportOf(position, this.money.of(account));
    const isSettled = this.isSettling && support.equity < 0n;
    const price = isSettled
      ? settlementPrice(symbol.terms, size, symbol.mark, symbol.markBefore, support.equity)
      : bankruptcyPrice(symbol.terms, size, symbol.mark, symbol.positionMaintenance(position), support);
    same("price", priceTicks, price, `liquidation order ${orderId} of ${account}`);
    this.bankruptcy = price;
    this.count(isSettled ? "bankrupt" : "liquidation orders");
  }

  /** The most that the fund's position may lose against the mark: its gain, and nothing of a step before which it had none. */
  private spareOfFund(symbol: NaiveSymbol): bigint {
    const position = symbol.of(INSURANCE_ACCOUNT);
    const { size } = position;
    const gain = symbol.unrealized(position) + least(0n, position.openFunding);
    const step = most(0n, size * (symbol.markBefore - symbol.mark)) * symbol.terms.perTickLot;
    return gain - least(0n, gain + step);
  }

  /** Only of what the price is better than the bankruptcy price. */
  private liquidationFee({ terms }: NaiveSymbol, event: Of<typeof events.Traded>): bigint {
    const [lots, price] = [BigInt(event.quantityLots), BigInt(event.priceTicks)];
    const better =
      lots * terms.perTickLot * (event.takerSide === SELL ? price - this.bankruptcy : this.bankruptcy - price);
    return least(better, ceilDivide(lots * price * terms.perTickLot * terms.liquidationFeePpm, MILLION));
  }

  /**
   * At the bankruptcy price the share of equity that belongs to the lots is lost. With nothing left to lose the price is the
   * mark, and in the settlement of a step of the mark the other side gives the deficit back, out of its gain of the step.
   */
  private checkPrice(symbol: NaiveSymbol, event: Of<typeof events.PositionTransferred>): void {
    const { accountId, counterpartyId } = event;
    const position = symbol.of(accountId);
    const { size } = position;
    const sign = size > 0n ? 1n : -1n;
    const lots = BigInt(event.quantityLots);
    const { equity, maintenance } = symbol.supportOf(position, this.money.of(accountId));
    const worth = symbol.notional(lots, symbol.mark);
    const lost = sign * (worth - BigInt(event.quanta));
    const gain = most(0n, sign * (symbol.markBefore - symbol.mark)) * lots * symbol.terms.perTickLot;
    const where = `transfer ${event.tradeId} from ${accountId} to ${counterpartyId}`;
    if (lost < -(this.isSettling ? gain : 0n))
      assert.fail(`${where}: the other side loses ${-lost}, its gain is ${gain}`);
    if (accountId === INSURANCE_ACCOUNT) {
      const most = this.isSettling ? (this.spareOfFund(symbol) * lots) / abs(size) : 0n;
      assert.ok(lost <= most + MOST_ROUNDED, `${where}: the fund loses ${lost}, by the documents at most ${most}`);
      return this.count("of the fund");
    }
    const share =
      equity >= 0n
        ? (equity * symbol.positionMaintenance(position) * lots) / (maintenance * abs(size))
        : (equity * lots) / abs(size);
    const expected = equity >= 0n ? share : this.isSettling ? -least(-share, gain) : 0n;
    // Each part of a position is rounded by itself.
    if (abs(lost - expected) > MOST_ROUNDED) assert.fail(`${where} loses ${lost}, by the documents ${expected}`);
    this.count(
      equity >= 0n
        ? "at the bankruptcy price"
        : this.isSettling
          ? `settled ${position.isIsolated ? "isolated" : "cross"}`
          : "at the mark",
    );
  }

  private transfer(symbol: NaiveSymbol, event: Of<typeof events.PositionTransferred>): void {
    const { accountId, counterpartyId, side } = event;
    const lots = BigInt(event.quantityLots) * (side === BUY ? 1n : -1n);
    const paid = BigInt(event.quanta) * (side === BUY ? 1n : -1n);
    this.checkPrice(symbol, event);
    const realized = symbol.fill(accountId, lots, paid);
    const counter = symbol.fill(counterpartyId, -lots, -paid);
    this.money.setAside(symbol, accountId);
    symbol.keep(counterpartyId, counter);
    assert.equal(event.accountRealizedQuanta, Number(realized));
    assert.equal(event.counterpartyRealizedQuanta, Number(counter));
    this.count("transferred");
  }

  /** Every number of every account, as the engine says it and as the model has it. */
  compare(accounts: readonly number[]): void {
    // First the work that is due at this time.
    for (const symbol of this.symbols) super.run(symbol, make(ReadPosition, { accountId: accounts[0] }));
    const { marginTable: table, money } = this;
    for (const account of [FEE_ACCOUNT, INSURANCE_ACCOUNT, ...accounts]) {
      const is = money.of(account);
      const where = `account ${account}`;
      same("equity", table.equity(account), is.equity, where);
      same("unrealized", table.unrealized(account), is.unrealized, where);
      same("initial", table.initial(account), is.initial, where);
      same("initial of positions", table.positionInitial(account), is.positionInitial, where);
      same("maintenance", table.maintenance(account), is.maintenance, where);
      if (!this.changed.has(account) || !isCustomer(account)) continue;
      for (const [i, symbol] of this.symbols.entries()) this.comparePosition(symbol, this.models[i], account, is);
      this.compareWithdrawable(account, is);
    }
    this.changed.clear();
    same("sum of all money", Number(this.deposited), money.sum(), "the exchange");
  }

  private comparePosition(actor: SymbolActor, symbol: NaiveSymbol, account: number, all: Figures): void {
    const said = super.run(actor, make(ReadPosition, { accountId: account }));
    const view = said.find(({ type }) => type === PositionView.code) as Of<typeof PositionView>;
    const position = symbol.of(account);
    const { size, isIsolated } = position;
    const own = symbol.positionMaintenance(position);
    const support = symbol.supportOf(position, all);
    const where = `position of ${account} in ${actor.actorId}`;
    same("size", view.sizeLots, size, where);
    same("cost", view.costQuanta, position.cost, where);
    same("realized", view.realizedQuanta, position.realized - position.fees + position.funding, where);
    same("initial", view.initialQuanta, symbol.positionInitial(position), where);
    same("maintenance", view.maintenanceQuanta, own, where);
    same("isolated", view.isolatedQuanta, isIsolated ? support.equity : 0n, where);
    if (size === 0n) return;
    same("funding", view.fundingQuanta, position.openFunding, where);
    const others = support.maintenance - own;
    const liquidation = liquidationPrice(symbol.terms, size, symbol.mark, support.equity, others);
    // The engine may name the next tick on the safe side.
    if (view.liquidationTicks - Number(liquidation) !== (size > 0n ? 1 : -1))
      same("liquidation price", view.liquidationTicks, liquidation, where);
    const bankruptcy = bankruptcyPrice(symbol.terms, size, symbol.mark, own, support);
    same("bankruptcy price", view.bankruptcyTicks, bankruptcy > symbol.terms.maxPrice ? 0n : bankruptcy, where);
  }

  /** One quantum more than that is refused. */
  private compareWithdrawable(accountId: number, { equity, gains, reserved, initial }: Figures): void {
    const available = most(0n, equity - initial);
    const withdrawable = most(0n, least(available, equity - gains - reserved));
    const more = make(Withdraw, { accountId, amountQuanta: Number(withdrawable + 1n), address: "0x0" });
    const said = super.run(this.ledger, more).at(-1) as Of<typeof Refused>;
    assert.equal(said.type, Refused.code, `account ${accountId} withdraws more than ${withdrawable}`);
    same("withdrawable", said.details?.availableQuanta as number, withdrawable, `account ${accountId}`);
  }

  count(what: string): void {
    this.seen[what] = (this.seen[what] ?? 0) + 1;
  }
}

function same(what: string, said: number, expected: bigint, where: string): void {
  if (said !== Number(expected)) assert.fail(`${what} of ${where} is ${said}, by the documents ${expected}`);
}
