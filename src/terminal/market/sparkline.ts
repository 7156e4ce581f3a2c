/** The points of an SVG polyline through the prices, as high as the box. "" for fewer than two prices. Pure. */
export function sparkline(prices: readonly string[], width: number, height: number): string {
  if (prices.length < 2) return "";
  const values = prices.map(Number);
  const low = Math.min(...values);
  const range = Math.max(...values) - low;
  // A line at the edge would be cut.
  const y = (value: number): number => 1 + (height - 2) * (range === 0 ? 0.5 : 1 - (value - low) / range);
  const step = width / (values.length - 1);
  return values.map((value, index) => `${(index * step).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
}
