/** The price of an asset on one exchange. */
export interface Quote {
  readonly source: string;
  /** Relative weight, above 0. */
  readonly weight: number;
  /** In USDC or an equivalent such as USDT. */
  readonly price: number;
  /** Time of the quote, in milliseconds of a monotonic clock. */
  readonly time: number;
}

export interface CombineRules {
  /** Older quotes are ignored. */
  readonly maxAgeMs: number;
  /** Quotes farther from the median are ignored: 0.01 = 1 %. */
  readonly maxDeviation: number;
  /** Minimum number of remaining quotes; below it there is no price. */
  readonly minSources: number;
}

interface Combined {
  /** Null when too few quotes remain. */
  readonly price: number | null;
  readonly used: readonly string[];
  readonly stale: readonly string[];
  readonly outliers: readonly string[];
}

/**
 * Combines quotes of several exchanges into one index price. Stale quotes are dropped, then those too far from the
 * weighted median; the rest is averaged by weight.
 * Sources: Binance and Bybit use a weighted mean whose deviating constituents are capped or dropped. Hyperliquid uses
 * the median, which withstands a minority of wrong sources.
 */
export function combine(quotes: readonly Quote[], now: number, rules: CombineRules): Combined {
  const isFresh = ({ time }: Quote): boolean => now - time <= rules.maxAgeMs;
  const fresh = quotes.filter(isFresh);
  const middle = weightedMedian(fresh);
  const isNear = ({ price }: Quote): boolean => Math.abs(price - middle) <= middle * rules.maxDeviation;
  const near = fresh.filter(isNear);
  return {
    price: near.length > 0 && near.length >= rules.minSources ? weightedMean(near) : null,
    used: near.map(({ source }) => source),
    stale: quotes.filter((quote) => !isFresh(quote)).map(({ source }) => source),
    outliers: fresh.filter((quote) => !isNear(quote)).map(({ source }) => source),
  };
}

/** The price with half of the weight on either side; the mean of two prices that share the middle. 0 without quotes. */
export function weightedMedian(quotes: readonly Quote[]): number {
  const sorted = [...quotes].sort((a, b) => a.price - b.price);
  const half = sorted.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let below = 0;
  for (const [i, { price, weight }] of sorted.entries()) {
    below += weight;
    if (below > half) return price;
    if (below === half) return (price + (sorted[i + 1]?.price ?? price)) / 2;
  }
  return 0;
}

function weightedMean(quotes: readonly Quote[]): number {
  const weight = quotes.reduce((sum, quote) => sum + quote.weight, 0);
  return quotes.reduce((sum, quote) => sum + quote.weight * quote.price, 0) / weight;
}
