import { BUY, INSURANCE_ACCOUNT, ISOLATED, REDUCE_ONLY, SELL } from "../../../src/core/base/enums.ts";
import {
  abs,
  ceilDivide,
  floorDivide,
  initialMargin,
  least,
  MILLION,
  maintenanceMargin,
  most,
  type Terms,
} from "./naive-formulas.ts";

/*
 * The money of all accounts as plain objects: what was paid in and out, and what each position has earned. An order, a trade or
 * a payment changes it as docs/trading/margin.md says. No number of the engine's state is read.
 */

export interface OpenOrder {
  side: number;
  lots: bigint;
  /** A lot's value, and its loss against the mark: both fixed when it came to rest. */
  valueTicks: bigint;
  lossTicks: bigint;
  reduceOnly: boolean;
}

/** Of an account, without its isolated positions: docs/trading/margin.md. */
export interface Figures {
  equity: bigint;
  unrealized: bigint;
  /** Unrealized gains of single positions. */
  gains: bigint;
  /** Initial margin of open orders in isolated mode. */
  reserved: bigint;
  initial: bigint;
  positionInitial: bigint;
  maintenance: bigint;
}

interface Orders {
  lots: bigint;
  value: bigint;
  loss: bigint;
}

/** The part of a side's orders that opens, when `closing` lots of them close the position first: by lots. */
function opened({ lots, value, loss }: Orders, closing: bigint): Orders {
  if (closing <= 0n) return { lots, value, loss };
  if (lots <= closing) return { lots: 0n, value: 0n, loss: 0n };
  const opens = lots - closing;
  return { lots: opens, value: ceilDivide(value * opens, lots), loss: ceilDivide(loss * opens, lots) };
}

export class NaivePosition {
  size = 0n;
  /** Entry price × size, signed. */
  cost = 0n;
  realized = 0n;
  fees = 0n;
  funding = 0n;
  /** Funding since the position was opened. */
  openFunding = 0n;
  leverage: bigint;
  mode = 0;
  /** Set aside for an isolated position. */
  margin = 0n;
  /** Lots that the running order has closed and opened, and what was paid for them. */
  closed = 0n;
  opened = 0n;
  openedFor = 0n;
  orderFees = 0n;
  readonly orders = new Map<number, OpenOrder>();

  constructor(leverage: bigint) {
    this.leverage = leverage;
  }

  endOrder(): void {
    this.closed = 0n;
    this.opened = 0n;
    this.openedFor = 0n;
    this.orderFees = 0n;
  }

  get isIsolated(): boolean {
    return this.mode === ISOLATED && this.size !== 0n;
  }
}

export class NaiveSymbol {
  readonly terms: Terms;
  readonly positions = new Map<number, NaivePosition>();
  mark = 0n;
  /** Of the last settled step. */
  markBefore = 0n;

  constructor(terms: Terms) {
    this.terms = terms;
  }

  of(account: number): NaivePosition {
    let position = this.positions.get(account);
    if (position === undefined) {
      // The fund uses no leverage.
      position = new NaivePosition(account === INSURANCE_ACCOUNT ? 1n : this.terms.leverage);
      this.positions.set(account, position);
    }
    return position;
  }

  notional(lots: bigint, ticks: bigint): bigint {
    return abs(lots) * ticks * this.terms.perTickLot;
  }

  unrealized({ size, cost }: NaivePosition, ticks = this.mark): bigint {
    return size * ticks * this.terms.perTickLot - cost;
  }

  /** The money that a position may lose, and the maintenance margin that shares it. */
  supportOf(position: NaivePosition, all: Figures): Pick<Figures, "equity" | "maintenance"> {
    if (!position.isIsolated) return all;
    return { equity: position.margin + this.unrealized(position), maintenance: this.positionMaintenance(position) };
  }

  positionInitial({ size, leverage }: NaivePosition): bigint {
    return initialMargin(this.terms, this.notional(size, this.mark), leverage);
  }

  positionMaintenance({ size }: NaivePosition): bigint {
    return maintenanceMargin(this.terms, this.notional(size, this.mark));
  }

  /** Of the position and its open orders. The margin of an isolated position is set aside, so only what would open counts. */
  initial(position: NaivePosition): bigint {
    const { perTickLot, takerFeePpm } = this.terms;
    const { size } = position;
    const [buys, sells] = [this.ordersOf(position, BUY), this.ordersOf(position, SELL)];
    const [longer, shorter] = [opened(buys, -size), opened(sells, size)];
    const loss = longer.loss + shorter.loss;
    const fees = [longer, shorter].reduce(
      (sum, side) => sum + ceilDivide((side.value + side.loss) * takerFeePpm, MILLION),
      0n,
    );
    const value = size * this.mark * perTickLot;
    const own = this.positionInitial(position);
    if (position.isIsolated) {
      const [more, turned] = size > 0n ? [longer, shorter] : [shorter, longer];
      const added = initialMargin(this.terms, abs(value) + more.value, position.leverage) - own;
      return most(added, initialMargin(this.terms, turned.value, position.leverage)) + loss + fees;
    }
    const larger = most(value + buys.value, sells.value - value);
    return initialMargin(this.terms, larger, position.leverage) + loss + fees;
  }

  /** A deleveraged position keeps its margin, and what it has realized, until it is closed. */
  keep(account: number, realized: bigint): void {
    const position = this.of(account);
    if (position.isIsolated) position.margin += realized;
    else position.margin = 0n;
    position.endOrder();
  }

  private ordersOf({ orders }: NaivePosition, of: number): Orders {
    const sum = { lots: 0n, value: 0n, loss: 0n };
    for (const { side, lots, valueTicks, lossTicks, reduceOnly } of orders.values()) {
      if (reduceOnly || side !== of) continue;
      sum.lots += lots;
      sum.value += lots * valueTicks * this.terms.perTickLot;
      sum.loss += lots * lossTicks * this.terms.perTickLot;
    }
    return sum;
  }

  /** Money and size of a trade of `lots` (signed) for `paid` quanta (signed like them). Returns the realized profit. */
  fill(account: number, lots: bigint, paid: bigint): bigint {
    const position = this.of(account);
    const { size } = position;
    const closes = size !== 0n && size > 0n !== lots > 0n ? (abs(lots) < abs(size) ? abs(lots) : abs(size)) : 0n;
    let realized = 0n;
    let openingPaid = paid;
    if (closes > 0n) {
      const closedPaid = (paid * closes) / abs(lots);
      const closedCost = (position.cost * closes) / abs(size);
      openingPaid = paid - closedPaid;
      realized = -closedPaid - closedCost;
      position.cost -= closedCost;
      position.closed += closes;
    }
    const opens = abs(lots) - closes;
    position.size += lots;
    if (opens > 0n) {
      if (closes > 0n || size === 0n) position.openFunding = 0n;
      position.cost += openingPaid;
      position.opened += lots > 0n ? opens : -opens;
      position.openedFor += openingPaid;
    }
    position.realized += realized;
    return realized;
  }

  /** An open cross position takes its initial margin and its unrealized loss with it. Back in cross mode all of it returns. */
  setMode(account: number, mode: number): void {
    const position = this.of(account);
    position.mode = mode;
    const loss = most(0n, -this.unrealized(position));
    position.margin = position.isIsolated ? this.positionInitial(position) + loss : 0n;
  }

  /** A lower leverage takes what an isolated position misses of its initial margin from the account. */
  setLeverage(account: number, leverage: bigint): void {
    const position = this.of(account);
    const isLower = leverage < position.leverage;
    position.leverage = leverage;
    if (!position.isIsolated || !isLower) return;
    position.margin += most(0n, this.positionInitial(position) - position.margin - this.unrealized(position));
  }

  /**
   * The fills of an order together: what they have closed returns its share of the margin of an isolated position, and what
   * they have opened needs its initial margin, and its loss against the mark.
   */
  setAside(account: number, spendable: bigint): void {
    const position = this.of(account);
    const { size, closed, opened, openedFor, leverage } = position;
    position.margin -= closed === 0n ? 0n : (position.margin * closed) / (closed + (opened === 0n ? abs(size) : 0n));
    if (position.isIsolated && opened !== 0n) {
      const before = initialMargin(this.terms, this.notional(size - opened, this.mark), leverage);
      const loss = openedFor - opened * this.mark * this.terms.perTickLot;
      const needed = this.positionInitial(position) - before + most(0n, loss);
      position.margin += most(least(needed, spendable), -position.orderFees);
    }
    position.endOrder();
  }
}

export class NaiveMoney {
  readonly symbols: NaiveSymbol[];
  /** Deposits less withdrawals, and deficits that the fund has covered; for the fund and the fee account what they took in. */
  readonly paidIn = new Map<number, bigint>();

  constructor(symbols: NaiveSymbol[]) {
    this.symbols = symbols;
  }

  pay(account: number, amount: bigint): void {
    this.paidIn.set(account, (this.paidIn.get(account) ?? 0n) + amount);
  }

  /** The fee of a fill, rounded against the account. */
  charge(position: NaivePosition, fee: bigint, to: number): void {
    position.fees += fee;
    position.orderFees += fee;
    this.pay(to, fee);
  }

  fund(symbol: NaiveSymbol, account: number, ratePpb: bigint, mark: bigint): bigint {
    const position = symbol.of(account);
    const amount = floorDivide(-position.size * mark * symbol.terms.perTickLot * ratePpb, 1_000_000_000n);
    position.funding += amount;
    position.openFunding += amount;
    if (position.isIsolated) position.margin += amount;
    this.pay(INSURANCE_ACCOUNT, -amount);
    return amount;
  }

  /** Without unrealized profit, and without what is set aside. */
  wallet(account: number): bigint {
    let sum = this.paidIn.get(account) ?? 0n;
    for (const symbol of this.symbols) {
      const position = symbol.positions.get(account);
      if (position === undefined) continue;
      sum += position.realized - position.fees + position.funding - position.margin;
    }
    return sum;
  }

  of(account: number): Figures {
    let [unrealized, gains, reserved, initial, positionInitial, maintenance] = [0n, 0n, 0n, 0n, 0n, 0n];
    for (const symbol of this.symbols) {
      const position = symbol.positions.get(account);
      if (position === undefined) continue;
      const own = symbol.positionInitial(position);
      const all = symbol.initial(position);
      initial += all;
      if (position.mode === ISOLATED) reserved += all;
      if (position.isIsolated) continue;
      unrealized += symbol.unrealized(position);
      gains += most(0n, symbol.unrealized(position));
      positionInitial += own;
      maintenance += symbol.positionMaintenance(position);
    }
    const equity = this.wallet(account) + unrealized;
    return { equity, unrealized, gains, reserved, initial, positionInitial, maintenance };
  }

  /** The end of an order's fills. An isolated position leaves the account its maintenance margin and its unrealized gains. */
  setAside(symbol: NaiveSymbol, account: number): void {
    const { equity, maintenance, gains } = this.of(account);
    symbol.setAside(account, equity - most(maintenance, gains));
  }

  /** Of all accounts, with unrealized profit and isolated margin. */
  sum(): bigint {
    let sum = 0n;
    for (const amount of this.paidIn.values()) sum += amount;
    for (const symbol of this.symbols)
      for (const position of symbol.positions.values())
        sum += position.realized - position.fees + position.funding + symbol.unrealized(position);
    return sum;
  }
}

/** Of an order that comes to rest at the current mark. */
export function restingOrder(
  { mark }: NaiveSymbol,
  { side, priceTicks, flags }: { side: number; priceTicks: number; flags: number },
  lots: number,
): OpenOrder {
  const price = BigInt(priceTicks);
  return {
    side,
    lots: BigInt(lots),
    valueTicks: side === SELL ? most(price, mark) : price,
    lossTicks: most(0n, side === SELL ? mark - price : price - mark),
    reduceOnly: (flags & REDUCE_ONLY) !== 0,
  };
}
