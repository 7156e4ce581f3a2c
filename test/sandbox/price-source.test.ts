import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_INSTRUMENTS } from "../../src/config/instruments.ts";
import { type Config, loadConfig } from "../../src/config.ts";
import { PPM } from "../../src/core/base/units.ts";
import { compileInstrument, type Instrument } from "../../src/core/protocol/instrument.ts";
import { SimulatedPrice } from "../../src/sandbox/price-source.ts";

const [BTC, ETH, SOL] = DEFAULT_INSTRUMENTS.map(compileInstrument) as [Instrument, Instrument, Instrument];

function path(instrument: Instrument, seed: number, lastTicks: number, steps: number, elapsedMs = 1000): number[] {
  const price = new SimulatedPrice(instrument, seed, lastTicks);
  return Array.from({ length: steps }, () => price.step(elapsedMs));
}

test("the same seed gives the same path, and another seed, symbol or first price a different one", () => {
  const first = path(BTC, 1, 0, 500);
  assert.deepEqual(path(BTC, 1, 0, 500), first);
  assert.notDeepEqual(path(BTC, 2, 0, 500), first);
  const signs = (ticks: number[]) => ticks.slice(1).map((now, i) => Math.sign(now - ticks[i]!));
  assert.notDeepEqual(signs(path(ETH, 1, 0, 500)), signs(first));
  assert.notDeepEqual(signs(path(BTC, 1, first[499]!, 500)), signs(first));
});

test("the first run starts near the anchor, and later ones at the last price", () => {
  const rows: [Instrument, lastTicks: number, ticks: number][] = [
    [BTC, 0, 650_000],
    [ETH, 0, 320_000],
    [SOL, 0, 150_000],
    [BTC, 612_345, 612_345],
  ];
  for (const [instrument, lastTicks, ticks] of rows)
    assert.equal(new SimulatedPrice(instrument, 1, lastTicks).ticks, ticks, instrument.symbol);
});

test("the price of an unknown asset is within its price range", () => {
  const small = compileInstrument({ ...SOL.config, symbol: "X-PERP", baseAsset: "X", maxPrice: "10" });
  const price = new SimulatedPrice(small, 1, 0);
  assert.ok(price.ticks > 0 && price.ticks <= small.maxPriceTicks / 2);
});

test("a range with one price gives that price", () => {
  const flat = compileInstrument({ ...SOL.config, maxPrice: SOL.config.tickSize });
  assert.deepEqual(path(flat, 1, 0, 3), [1, 1, 1]);
});

test("the price moves a plausible amount in most seconds", () => {
  for (const instrument of [BTC, ETH, SOL]) {
    const ticks = path(instrument, 5, 0, 3600);
    const moves = ticks.slice(1).map((now, i) => Math.abs(now / ticks[i]! - 1));
    assert.ok(Math.max(...moves) < 0.005, `${instrument.symbol}: ${Math.max(...moves)} in a second`);
    assert.ok(moves.filter((move) => move > 0).length > 3000, instrument.symbol);
  }
});

test("the price follows trends: over twenty minutes it moves further than its seconds would take it by chance", () => {
  const seconds = 1200;
  const ticks = path(BTC, 3, 0, 300 * seconds);
  const logs = ticks.map(Math.log);
  const variance = (step: number) => {
    const moves = logs.slice(step).map((now, i) => now - logs[i]!);
    return moves.reduce((sum, move) => sum + move * move, 0) / moves.length;
  };
  // The same for a walk without memory would be about 1.
  assert.ok(variance(seconds) / seconds / variance(1) > 1.5);
});

test("simulated prices pass the guards of the default instruments", () => {
  const { instruments } = (loadConfig(["start"], {}) as { config: Config }).config;
  for (const instrument of instruments.map(compileInstrument)) {
    const ticks = path(instrument, 7, 0, 6 * 3600);
    const moves = (seconds: number) =>
      ticks.slice(seconds).map((now, i) => (Math.abs(now / (ticks[i] as number) - 1) * PPM) / Math.sqrt(seconds));
    const { symbol, indexJumpPpm, breakerPpm, movePpm } = instrument;
    assert.ok(Math.max(...moves(1)) < indexJumpPpm, `${symbol} would wait for confirmation`);
    assert.ok(Math.max(...moves(60)) * Math.sqrt(60) < breakerPpm, `${symbol} would be halted`);
    const isPlausible = (move: number) => move <= movePpm;
    assert.ok(moves(5).filter(isPlausible).length > 0.999 * ticks.length, `${symbol} moves further than it may`);
  }
});

test("over a year the price wanders and reverts", () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const ticks = path(BTC, seed, 0, 365 * 24, 3_600_000);
    assert.ok(Math.min(...ticks) > 650_000 * 0.6 && Math.max(...ticks) < 650_000 * 1.6, `seed ${seed}`);
    assert.ok(Math.max(...ticks) / Math.min(...ticks) > 1.1, `seed ${seed}: the price hardly moves`);
  }
});
