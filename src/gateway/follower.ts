import { setImmediate } from "node:timers/promises";
import { must } from "../assert.ts";
import { compileInstrument } from "../core/protocol/instrument.ts";
import { MarketData } from "../front/exchange/market.ts";
import type { SymbolPage } from "../front/exchange/symbol-page.ts";
import { StreamFault } from "../replication/batch.ts";
import { type ReadableStream, UnknownOutcomeError } from "../replication/stream.ts";
import { StreamReader } from "../replication/stream-reader.ts";
import { ReadAhead } from "./read-ahead.ts";
import { RemoteEngine } from "./remote-engine.ts";

/** A message may be announced before it is stored. */
const POLL_MS = 20;
const RETRY_MS = 100;
/**
 * While there is more to read, what was read is published at this interval. Publishing to very many clients takes longer than
 * reading: a gateway that published after each message would fall behind for ever.
 */
const PUBLISH_EVERY_MS = 10;
/** Without anything to read, the end of the stream is asked for at this interval. */
const CHECK_END_MS = 500;

export interface FollowerOptions {
  /** The state of each symbol, of one leader. */
  readonly pages: readonly SymbolPage[];
  readonly stream: ReadableStream;
  readonly now: () => number;
  readonly monotonicMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** The records of a leader of this epoch are read. */
  onEpoch(epoch: number): void;
}

/** Market data that begins with the leader's state and goes on with the stream. */
export class Follower {
  readonly engine: RemoteEngine;
  readonly market: MarketData;
  /** When the stream was last known to hold nothing that is not read, or was being read. By the monotonic clock. */
  heardAtMs: number;
  private readonly options: FollowerOptions;
  private readonly reader: StreamReader;
  private readonly stateEpoch: number;
  private epoch: number;
  /** Through which transaction the state of some symbol goes. */
  private readonly stateThrough: number;
  private checkedAtMs: number;
  private hasUnpublished = false;
  private publishedAtMs = Number.NEGATIVE_INFINITY;
  private isStopped = false;

  constructor(options: FollowerOptions) {
    const { pages, stream, now, monotonicMs } = options;
    const { exchangeId, epoch } = must(pages[0], "the state of a symbol");
    this.options = options;
    this.engine = new RemoteEngine(
      pages.map(({ config }) => compileInstrument(config)),
      new Map(pages.map(({ config, sequence, time }) => [config.id, { sequence, time }])),
    );
    this.market = MarketData.restore(this.engine, new Map(pages.map(({ config, state }) => [config.id, state])), now);
    this.stateThrough = this.engine.releasedSequence();
    const from = Math.min(...pages.map(({ sequence }) => sequence)) + 1;
    this.reader = new StreamReader(new ReadAhead(stream), exchangeId, from);
    this.stateEpoch = epoch;
    this.epoch = epoch;
    this.heardAtMs = monotonicMs();
    this.checkedAtMs = monotonicMs();
  }

  /** Finds the place in the stream. Throws StreamFault if it does not go on from the state. */
  async begin(): Promise<void> {
    const { reader } = this;
    const begin = await this.untilAnswered(() => reader.seek());
    if (begin > reader.next)
      throw new StreamFault(
        `the stream begins with transaction ${begin}, after the leader's state (${reader.next - 1})`,
      );
    this.requireSameLeader();
  }

  /** Follows the stream until stop(). Throws StreamFault if it cannot go on: the state must be read again. */
  async run(): Promise<void> {
    const { stream, sleep, monotonicMs } = this.options;
    while (!this.isStopped) {
      try {
        if (await this.reader.read(this.receive)) {
          this.heardAtMs = monotonicMs();
          this.noteEpoch();
          this.hasUnpublished = true;
          if (monotonicMs() - this.publishedAtMs >= PUBLISH_EVERY_MS) await this.publish();
          continue;
        }
        if (this.hasUnpublished) await this.publish();
        await this.checkEnd();
        await stream.wait(POLL_MS);
      } catch (error) {
        if (!(error instanceof UnknownOutcomeError)) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  private async publish(): Promise<void> {
    this.hasUnpublished = false;
    this.engine.drained();
    // uWebSockets.js sends at the end of the event-loop iteration. The time for that does not count.
    await setImmediate();
    await setImmediate();
    this.publishedAtMs = this.options.monotonicMs();
  }

  stop(): void {
    this.isStopped = true;
  }

  private readonly receive = (record: Uint8Array, sequence: number): void => {
    this.engine.receive(record, sequence);
  };

  private noteEpoch(): void {
    if (this.reader.epoch <= this.epoch) return;
    // In mode async the leader's state may include transactions that a take-over has lost.
    if (this.reader.next <= this.stateThrough + 1) this.requireSameLeader();
    this.epoch = this.reader.epoch;
    this.options.onEpoch(this.epoch);
  }

  private requireSameLeader(): void {
    if (this.reader.epoch > this.stateEpoch)
      throw new StreamFault("another process leads than the one that gave the state");
  }

  /**
   * A read does not say that there is nothing more: a replica of the stream that is cut off from the others does not know. The
   * next message may also be gone, since the stream purges what is old.
   */
  private async checkEnd(): Promise<void> {
    const { stream, monotonicMs } = this.options;
    const { reader } = this;
    const nowMs = monotonicMs();
    if (nowMs - this.checkedAtMs < CHECK_END_MS) return;
    this.checkedAtMs = nowMs;
    const { first, last } = await stream.bounds();
    if (last <= reader.place) this.heardAtMs = nowMs;
    else if (first > reader.place + 1)
      throw new StreamFault("the gateway has fallen behind what the stream still holds");
  }

  private async untilAnswered<T>(work: () => Promise<T>): Promise<T> {
    for (;;)
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof UnknownOutcomeError) || this.isStopped) throw error;
        await this.options.sleep(RETRY_MS);
      }
  }
}
