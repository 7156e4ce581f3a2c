import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Random } from "../../src/sandbox/random.ts";
import { takeSeed } from "../core/support/seed.ts";
import { FakeExchange } from "./support/fake-exchange.ts";
import { StreamProgram } from "./support/stream-program.ts";
import { oneTo, type Trouble } from "./support/trouble.ts";

/**
 * A program subscribes, unsubscribes and resynchronises at random while its exchange and network give trouble. In any
 * order of events each channel begins with a snapshot, no gap is delivered, and nothing of a channel that was left. When
 * the trouble is over, the program gets the messages of all channels that it wants, and the exchange sends no others.
 */

const RUNS = 150;
const MIN_TURNS = 40;
const MAX_TURNS = 160;
/** A stream needs far fewer to get calm. */
const MAX_CALM_TURNS = 5000;
/** Longer than a request waits for an answer that was lost: only then a stream without traffic is calm. */
const CALM_MS = 11_000;
const CALM_TURN_MS = 500;

const cutChance = 0.02;
const TROUBLES: Readonly<Record<string, Trouble>> = {
  "all is well": {},
  "connections are lost": { cutChance },
  "messages come in bursts": { cutChance, hasBursts: true },
  "the program resynchronises": { cutChance, hasResyncs: true },
  "messages are lost": { cutChance, dropChance: 0.05 },
  "messages are lost and come in bursts": { cutChance, dropChance: 0.3, hasBursts: true },
  "channels are asked for twice": { cutChance, hasRepeats: true },
  "requests leave out fields": { cutChance, hasShortRequests: true },
  "unsubscriptions leave out fields": { cutChance, hasShortRequests: true, hasShortEnds: true },
  "subscriptions are refused": { cutChance, refuseChance: 0.2 },
  "channels are asked for twice and refused": { cutChance, hasRepeats: true, refuseChance: 0.2 },
  "the program resynchronises and is refused": { cutChance, hasResyncs: true, refuseChance: 0.2 },
  "requests are lost": {
    dropChance: 0.2,
    hasBursts: true,
    loseChance: 0.1,
    hasRepeats: true,
    hasResyncs: true,
    timeoutMs: 300,
  },
  "the exchange hangs": { hangChance: 0.01 },
};

const seed = takeSeed("stream-property.test");

for (const [when, trouble] of Object.entries(TROUBLES))
  test(`a stream delivers what its program wants when ${when}`, async (t) => {
    for (let i = 0; i < RUNS; i++) {
      const run = new Run(t, new Random(seed, `${when} ${i}`), trouble);
      const fault = await run.findFault();
      if (fault !== null) assert.fail(`SEED=${seed}, run ${i}: ${fault}\n${run.story()}`);
    }
  });

/** One program and its exchange, in virtual time. */
class Run {
  private readonly t: TestContext;
  private readonly random: Random;
  private readonly exchange: FakeExchange;
  private readonly program: StreamProgram;
  private readonly lines: string[] = [];

  constructor(t: TestContext, random: Random, trouble: Trouble) {
    this.t = t;
    this.random = random;
    this.startClock();
    const log = (line: string): void => {
      this.lines.push(`${Date.now()} ms: ${line}`);
    };
    this.exchange = new FakeExchange(random, trouble, log);
    this.program = new StreamProgram(this.exchange.WebSocket, random, trouble, log);
  }

  /** Returns the first thing that the stream did wrong, or null. */
  async findFault(): Promise<string | null> {
    const fault = (await this.faultInTrouble()) ?? (await this.faultInCalm()) ?? (await this.faultAfterReconnect());
    this.program.close();
    this.exchange.cut();
    await settled();
    return fault;
  }

  /** The last things that happened. */
  story(): string {
    return this.lines.slice(-40).join("\n");
  }

  private startClock(): void {
    const { mock } = this.t;
    mock.reset();
    mock.timers.enable({ apis: ["setTimeout", "Date"], now: 0 });
    mock.method(performance, "now", () => Date.now());
    // Reconnects wait for a random time.
    mock.method(Math, "random", () => this.random.uniform());
  }

  private async faultInTrouble(): Promise<string | null> {
    const turns = this.random.between(MIN_TURNS, MAX_TURNS);
    for (let i = 0; i < turns && this.program.fault === null; i++) {
      const acts = [...this.exchange.acts(), ...this.exchange.spontaneousActs(), ...this.program.acts()];
      await this.turn(acts, this.waitMs());
    }
    return this.program.fault;
  }

  /** Most waits are short, so that much happens between two timers. */
  private waitMs(): number {
    if (this.exchange.isHanging) return 400;
    return this.random.chance(0.1) ? oneTo(250, this.random) : 1;
  }

  private async faultInCalm(): Promise<string | null> {
    this.exchange.calmDown();
    await this.untilQuiet();
    return this.faultAfterUpdates();
  }

  /** A new connection shows which channels the client believes to have. */
  private async faultAfterReconnect(): Promise<string | null> {
    this.exchange.cut();
    await this.untilQuiet();
    return this.faultAfterUpdates();
  }

  private async faultAfterUpdates(): Promise<string | null> {
    // Only a later message shows that one was lost.
    this.exchange.publishAll();
    await this.untilQuiet();
    return this.program.fault ?? this.disagreement();
  }

  private disagreement(): string | null {
    if (!this.exchange.isQuiet) return "the stream does not get calm";
    const [wanted, subscribed] = [this.program.names(), this.exchange.subscribed()];
    if (wanted.join() !== subscribed.join()) return `the program wants [${wanted}], the exchange sends [${subscribed}]`;
    const silent = wanted.find((name) => this.program.sequenceOf(name) !== this.exchange.sequenceOf(name));
    if (silent === undefined) return null;
    return `${silent}: ${this.exchange.sequenceOf(silent)} was not delivered after ${this.program.sequenceOf(silent)}`;
  }

  private async untilQuiet(): Promise<void> {
    let quietMs = 0;
    for (let i = 0; i < MAX_CALM_TURNS && quietMs < CALM_MS; i++) {
      const acts = this.exchange.acts();
      await this.turn(acts, acts.length > 0 ? 1 : CALM_TURN_MS);
      quietMs = this.exchange.isQuiet ? quietMs + CALM_TURN_MS : 0;
    }
  }

  private async turn(acts: readonly (() => void)[], waitMs: number): Promise<void> {
    if (acts.length > 0) this.random.pick(acts)();
    this.t.mock.timers.tick(waitMs);
    await settled();
  }
}

/** Every promise that can settle has done so. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
