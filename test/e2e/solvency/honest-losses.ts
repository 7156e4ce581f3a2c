import assert from "node:assert/strict";
import type { Fill, Page, Position, Ticker } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import type { Trader } from "../support/trader.ts";

/** All that an account owns at the marks, isolated positions included, in USDC. */
export interface Holding {
  equity: number;
  /** Signed, by symbol. */
  sizes: Map<string, number>;
}

/** The marks, and what every honest account has at them. */
interface Moment {
  marks: Map<string, number>;
  holdings: Map<Trader, Holding>;
}

/**
 * Measures what honest accounts lose in a step, in which each mark moves once at most.
 *
 * An account may lose what the marks take from its positions, and what its own orders cost. If deleveraging closes its
 * position in the step, it may lose the gain of the step, and no more. The excess is a loss that somebody else has caused.
 */
export class HonestLosses {
  /** The largest excess of an account in a step so far, in USDC. */
  largest = 0;
  /** The gains that deleveraging has taken from honest accounts, over all steps, in USDC. */
  haircut = 0;
  private readonly traders: Trader[];
  private readonly seenFills = new Set<string>();

  constructor(traders: Trader[]) {
    this.traders = traders;
  }

  /** The state before a step. Trades between two steps are no part of the next one. */
  async begin(): Promise<Moment> {
    await Promise.all(this.traders.map((trader) => this.newFills(trader)));
    return this.look();
  }

  async end(before: Moment): Promise<void> {
    const after = await this.look();
    for (const [trader, was] of before.holdings) {
      const { undisturbed, least } = expectedEquity(was, before.marks, after.marks, await this.newFills(trader));
      const is = after.holdings.get(trader);
      assert.ok(is !== undefined);
      this.largest = Math.max(this.largest, least - is.equity);
      this.haircut += Math.max(0, undisturbed - is.equity);
    }
  }

  private async look(): Promise<Moment> {
    const { url } = this.traders[0] as Trader;
    const { data } = await new Api(url).get<Page<Ticker>>("/market/ticker");
    const marks = new Map(data.map(({ symbol, markPrice }) => [symbol, Number(markPrice ?? 0)]));
    const holdings = await Promise.all(this.traders.map(async (trader) => [trader, await holdingOf(trader)] as const));
    return { marks, holdings: new Map(holdings) };
  }

  private async newFills(trader: Trader): Promise<Fill[]> {
    const { data } = await trader.fills("?limit=100");
    const keyOf = ({ tradeId, side }: Fill) => `${trader.accountId} ${tradeId} ${side}`;
    const fills = data.filter((fill) => !this.seenFills.has(keyOf(fill)));
    for (const fill of fills) this.seenFills.add(keyOf(fill));
    return fills;
  }
}

/**
 * The equity that an account has after a step if nobody has taken anything from it (`undisturbed`), and if nobody has taken
 * more than the step gave (`least`).
 */
function expectedEquity(
  was: Holding,
  marksBefore: Map<string, number>,
  marks: Map<string, number>,
  fills: Fill[],
): { undisturbed: number; least: number } {
  const markOf = (symbol: string) => marks.get(symbol) ?? 0;
  let undisturbed = was.equity;
  let disturbed = 0;
  for (const [symbol, size] of was.sizes) {
    const gain = size * (markOf(symbol) - (marksBefore.get(symbol) ?? 0));
    const isForced = fills.some((fill) => fill.symbol === symbol && fill.execType === "ADL");
    undisturbed += gain;
    if (isForced) disturbed += Math.max(0, gain);
  }
  for (const { symbol, execType, side, quantity, price, fee } of fills) {
    if (execType === "ADL") continue;
    const gain = Number(quantity) * (markOf(symbol) - Number(price));
    undisturbed += (side === "BUY" ? gain : -gain) - Number(fee);
  }
  return { undisturbed, least: undisturbed - disturbed };
}

export const signedSize = ({ side, size }: Position): number => (side === "SHORT" ? -Number(size) : Number(size));

export async function holdingOf(trader: Trader): Promise<Holding> {
  const [{ equity }, { data }] = await Promise.all([trader.balance(), trader.get<Page<Position>>("/positions")]);
  const isolated = data.reduce((sum, { isolatedMargin }) => sum + Number(isolatedMargin ?? 0), 0);
  const sizes = new Map(data.map((position) => [position.symbol, signedSize(position)]));
  return { equity: Number(equity) + isolated, sizes };
}
