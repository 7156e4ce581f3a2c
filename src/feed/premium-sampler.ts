import type { Engine } from "../actor/engine/engine.ts";
import { SamplePremium } from "../core/protocol/commands.ts";

/** The average time between two samples. */
const MEAN_MS = 500;
/** Longer waits are cut: one in 22,000. */
const MOST_MS = 10 * MEAN_MS;

/**
 * Has the funding premium of each symbol sampled at random times. The waits are distributed exponentially: nobody can tell
 * from earlier samples when the next one comes. So a quote counts for the share of the time for which it stands.
 */
export class PremiumSampler {
  private readonly engine: Pick<Engine, "instruments" | "request">;
  private readonly random: () => number;
  private timer: NodeJS.Timeout | null = null;

  constructor(engine: Pick<Engine, "instruments" | "request">, random: () => number = Math.random) {
    this.engine = engine;
    this.random = random;
  }

  start(): void {
    this.timer = setTimeout(() => {
      this.sample();
      this.start();
    }, this.waitMs()).unref();
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  /** A request that is rejected does not matter: the engine rejects it whatever the book shows. */
  sample(): void {
    for (const { id } of this.engine.instruments) this.engine.request(id, { type: SamplePremium.code }, () => {});
  }

  waitMs(): number {
    return Math.min(MOST_MS, -MEAN_MS * Math.log(1 - this.random()));
  }
}
