import { assert } from "../../assert.ts";
import type { Quanta, TimeMs } from "../base/units.ts";

/** A symbol's statement about closing an account's position, at an equity of the account. */
export interface LiquidationBid {
  /** The account's equity for which the bid was made. Any change of the account changes it, and ends the bid. */
  readonly equity: Quanta;
  /** Maintenance margin of the position. */
  readonly maintenance: Quanta;
  /** The lowest is closed first: loss per maintenance margin freed, in thousandths; or one of the two constants. */
  readonly cost: number;
  /** Decides between equal costs, the lowest first: unrealised profit per maintenance margin. */
  readonly gain: number;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Costs of a position that its book cannot take, and of one that may not be liquidated now. */
export const NOT_IN_BOOK = 1e6;
export const NOT_NOW = Number.POSITIVE_INFINITY;

// Columns of a bid.
/** When it was posted. Negative: no bid, and when the symbol had its last turn. 0: no bid. */
const TIME = 0;
const EQUITY = 1;
const MAINTENANCE = 2;
const COST = 3;
const GAIN = 4;
const BID_FIELDS = 5;

/** In front of the bids: a word that fences use. */
const HEADER_BYTES = 8;
/** Symbols of a table that one thread allocates for itself. */
const LOCAL_SYMBOLS = 16;

/**
 * Where the symbols of an account below its maintenance margin agree which of them closes its position next. Each symbol
 * writes a bid for its own position. When the bids of one equity add up to the account's whole maintenance margin, all of its
 * positions have one. Then the first bid decides, and it follows from the account, the books and the marks alone. Its symbol
 * changes the equity by closing, which ends all bids, so no two symbols act at one equity.
 *
 * One SharedArrayBuffer with a place for each account and symbol. The operating system gives memory only to pages that are
 * written. It is derived and need not survive: a bid of a thread that has died is soon too old to count.
 */
export class LiquidationBids {
  /** The result of the last compare(): all positions of the account have a bid. */
  isComplete = false;
  /** No other bid comes before the own one. */
  isFirst = false;
  /** The book of another symbol can take its position. */
  canOthersClose = false;
  /** Another symbol has had its turn lately, so its next bid is to come. */
  hadOthersTurn = false;
  private readonly symbols: string[];
  private readonly columns: number;
  private readonly bids: Float64Array<SharedArrayBuffer>;
  private readonly fences: Int32Array<SharedArrayBuffer>;
  private readonly bid = { equity: 0, maintenance: 0, cost: 0, gain: 0 };
  private readonly own = { equity: 0, maintenance: 0, cost: 0, gain: 0 };

  /** `symbols`: their names, in the same order on all threads. */
  constructor(buffer: SharedArrayBuffer, symbols: readonly string[], columns = symbols.length) {
    this.symbols = [...symbols];
    this.columns = columns;
    this.fences = new Int32Array(buffer, 0, 1);
    this.bids = new Float64Array(buffer, HEADER_BYTES);
  }

  static allocate(maxAccounts: number, columns: number): SharedArrayBuffer {
    const bytes = maxAccounts * columns * BID_FIELDS * Float64Array.BYTES_PER_ELEMENT;
    return new SharedArrayBuffer(HEADER_BYTES + bytes);
  }

  /** For symbols that all run on one thread: they need not be known before. */
  static local(maxAccounts: number): LiquidationBids {
    return new LiquidationBids(LiquidationBids.allocate(maxAccounts, LOCAL_SYMBOLS), [], LOCAL_SYMBOLS);
  }

  columnOf(symbol: string): number {
    const known = this.symbols.indexOf(symbol);
    if (known >= 0) return known;
    assert(this.symbols.length < this.columns, "a column for each symbol");
    return this.symbols.push(symbol) - 1;
  }

  post(accountId: number, column: number, bid: LiquidationBid, time: TimeMs): void {
    const at = this.offset(accountId, column);
    // A reader that sees the same time before and after sees one bid.
    this.store(at + TIME, 0);
    this.fence();
    this.store(at + EQUITY, bid.equity);
    this.store(at + MAINTENANCE, bid.maintenance);
    this.store(at + COST, bid.cost);
    this.store(at + GAIN, bid.gain);
    this.fence();
    this.store(at + TIME, time);
    this.fence();
  }

  /** The symbol has its turn: it closes, which ends its bid. */
  endTurn(accountId: number, column: number, time: TimeMs): void {
    this.store(this.offset(accountId, column) + TIME, -time);
  }

  /** Whether the symbol has a bid for this equity. */
  hasBid(accountId: number, column: number, equity: Quanta): boolean {
    const at = this.offset(accountId, column);
    return this.load(at + TIME) > 0 && this.load(at + EQUITY) === equity;
  }

  /**
   * Compares the symbol's own bid, which is posted, with the others for the same equity; with those for any equity if
   * `isAnyEquity`. Bids and turns from before `since` do not count. `maintenance`: the account's. Sets the four results.
   */
  compare(accountId: number, column: number, maintenance: Quanta, since: TimeMs, isAnyEquity: boolean): void {
    const { bid, own } = this;
    const at = this.offset(accountId, column);
    this.copy(at, own);
    let sum = own.maintenance;
    this.isFirst = this.load(at + TIME) > 0 && own.cost !== NOT_NOW;
    this.canOthersClose = false;
    this.hadOthersTurn = false;
    for (let other = 0; other < this.symbols.length; other++) {
      if (other === column || !this.read(accountId, other, since)) continue;
      if (bid.equity !== own.equity && !isAnyEquity) continue;
      sum += bid.maintenance;
      if (bid.cost < NOT_IN_BOOK) this.canOthersClose = true;
      if (this.comesBefore(other, column)) this.isFirst = false;
    }
    this.isComplete = sum === maintenance;
  }

  /** Whether the bid just read comes before the own one. Names decide a tie: ids and threads must not. */
  private comesBefore(other: number, column: number): boolean {
    const { bid, own, symbols } = this;
    if (bid.cost !== own.cost) return bid.cost < own.cost;
    if (bid.gain !== own.gain) return bid.gain < own.gain;
    return symbols[other] < symbols[column];
  }

  /** Reads another symbol's bid. Returns false when there is none, when it is old, or when it is being written. */
  private read(accountId: number, column: number, since: TimeMs): boolean {
    const at = this.offset(accountId, column);
    const time = this.load(at + TIME);
    if (time < since) {
      if (time < 0 && -time >= since) this.hadOthersTurn = true;
      return false;
    }
    this.fence();
    this.copy(at, this.bid);
    this.fence();
    return this.load(at + TIME) === time;
  }

  private copy(at: number, to: Writable<LiquidationBid>): void {
    to.equity = this.load(at + EQUITY);
    to.maintenance = this.load(at + MAINTENANCE);
    to.cost = this.load(at + COST);
    to.gain = this.load(at + GAIN);
  }

  private offset(accountId: number, column: number): number {
    return (accountId * this.columns + column) * BID_FIELDS;
  }

  /** Processors with weak memory ordering must not move reads or writes of bids across it. */
  private fence(): void {
    Atomics.add(this.fences, 0, 0);
  }

  // Every read and write of a number goes through these two methods: tests let other threads run in between.
  protected load(index: number): number {
    return this.bids[index];
  }

  protected store(index: number, value: number): void {
    this.bids[index] = value;
  }
}
