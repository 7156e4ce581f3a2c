/** What one exchange says an asset is worth. */
export interface Quote {
  readonly source: string;
  /** Against the others; above 0. */
  readonly weight: number;
  /** In USDC or what stands for it. */
  readonly price: number;
  /** When it was true, in milliseconds by a clock that nobody sets. */
  readonly time: number;
}

export interface CombineRules {
  /** A quote that is older is left out. */
  readonly maxAgeMs: number;
  /** A quote further from the median is left out: 0.01 = 1 %. */
  readonly maxDeviation: number;
  /** Without so many quotes left there is no price. */
  readonly minSources: number;
}

export interface Combined {
  /** Null when too few quotes are left. */
  readonly price: number | null;
  readonly used: readonly string[];
  readonly stale: readonly string[];
  readonly outliers: readonly string[];
}

/**
 * One index price from several exchanges' quotes: stale ones are left out, then those too far from the weighted median
 * of the rest; what remains is averaged by weight (the weighted mean of Binance's and Bybit's index, whose deviating
 * constituents are capped or dropped; the median is Hyperliquid's and holds against a minority of liars).
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

/** The price at which half of the weight lies on either side; between two that share it, their mean. 0 without quotes. */
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
