import { Addresses } from "../../../src/client/addresses.ts";
import type { PerpdError } from "../../../src/client/error.ts";
import { Stream, type StreamHandlers, type WebSocketConstructor } from "../../../src/client/stream.ts";
import type { StreamKey } from "../../../src/client/subscriptions.ts";
import type { ChannelMessage, ChannelRequest } from "../../../src/client/types.ts";
import type { Random } from "../../../src/sandbox/random.ts";
import { COMPLETE_CHANNELS, completed, isNamedBy, nameOf, SHORT_CHANNELS } from "./channels.ts";
import { oneTo, type Trouble } from "./trouble.ts";

const SHORT_END_CHANCE = 0.3;

/** A channel that the program wants. */
interface Wanted {
  readonly channel: ChannelRequest;
  /** The calls that asked for it and were not refused. */
  readonly calls: Set<object>;
  /** Of the last message. Null before the snapshot. */
  sequence: number | null;
}

/** A program that subscribes and unsubscribes at random, and checks all that its stream delivers. */
export class StreamProgram {
  /** The first thing that the stream did wrong. */
  fault: string | null = null;
  private readonly random: Random;
  private readonly trouble: Trouble;
  private readonly log: (line: string) => void;
  private readonly wanted = new Map<string, Wanted>();
  private lastMessage: ChannelMessage | null = null;
  private readonly stream: Stream;

  constructor(WebSocket: WebSocketConstructor, random: Random, trouble: Trouble, log: (line: string) => void) {
    this.random = random;
    this.trouble = trouble;
    this.log = log;
    const addresses = new Addresses("http://exchange.test/v1");
    const { timeoutMs } = trouble;
    const handlers: StreamHandlers = {
      onMessage: (message) => this.onMessage(message),
      onHeartbeat: (stream) => this.onHeartbeat(stream),
      onGap: (stream) => this.onGap(stream),
      onError: ({ message }) => this.blame(`the stream has ended: ${message}`),
    };
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    this.stream = new Stream(WebSocket, addresses, async () => null, [], handlers, options);
  }

  /** Calls that the program may make next. They come up only by chance. */
  acts(): (() => void)[] {
    const acts: (() => void)[] = [];
    if (this.random.chance(0.35)) acts.push(() => (this.random.chance(0.5) ? this.subscribe() : this.unsubscribe()));
    if (this.trouble.hasResyncs && this.random.chance(0.05)) acts.push(() => this.resync());
    return acts;
  }

  /** The names of the channels that the program wants. */
  names(): string[] {
    return [...this.wanted.keys()].sort();
  }

  /** The sequence of the last message of a channel. */
  sequenceOf(name: string): number | null | undefined {
    return this.wanted.get(name)?.sequence;
  }

  close(): void {
    this.stream.close();
  }

  private subscribe(): void {
    const { hasShortRequests, hasRepeats } = this.trouble;
    const pool = hasShortRequests ? [...COMPLETE_CHANNELS, ...SHORT_CHANNELS] : COMPLETE_CHANNELS;
    const isNew = (channel: ChannelRequest): boolean => !this.wanted.has(nameOf(completed(channel)));
    const channels = this.some(pool, 3).filter((channel) => hasRepeats || isNew(channel));
    if (channels.length === 0) return;
    this.log(`subscribe ${JSON.stringify(channels)}`);
    const call = {};
    for (const channel of channels) this.want(completed(channel), call);
    this.stream.subscribe(channels).catch((error: PerpdError) => this.onRefused(error, call));
  }

  private want(channel: ChannelRequest, call: object): void {
    const name = nameOf(channel);
    const wanted = this.wanted.get(name) ?? { channel, calls: new Set(), sequence: null };
    wanted.calls.add(call);
    this.wanted.set(name, wanted);
  }

  /** A channel that another call asked for, too, goes on. */
  private onRefused({ code }: PerpdError, call: object): void {
    this.log(`  a subscription was rejected: ${code}`);
    for (const [name, { calls }] of this.wanted) {
      calls.delete(call);
      if (calls.size === 0) this.wanted.delete(name);
    }
  }

  private unsubscribe(): void {
    if (this.wanted.size === 0) return;
    const channels = this.some([...this.wanted.values()], 2).map(({ channel }) => this.nameToEnd(channel));
    this.log(`unsubscribe ${JSON.stringify(channels)}`);
    for (const [name, { channel }] of this.wanted)
      if (channels.some((named) => isNamedBy(channel, named))) this.wanted.delete(name);
    this.stream.unsubscribe(channels).catch(({ message }: PerpdError) => this.blame(`unsubscribe failed: ${message}`));
  }

  private nameToEnd(complete: ChannelRequest): ChannelRequest {
    if (!this.trouble.hasShortEnds || !this.random.chance(SHORT_END_CHANCE)) return complete;
    const { channel, symbol } = complete;
    return symbol === undefined ? { channel } : { channel, symbol };
  }

  private resync(): void {
    if (this.lastMessage === null || !this.wanted.has(nameOf(this.lastMessage))) return;
    this.log(`resync ${nameOf(this.lastMessage)}`);
    this.stream.resync(this.lastMessage);
  }

  /** One to `max` different ones. */
  private some<T>(from: readonly T[], max: number): T[] {
    const count = oneTo(max, this.random);
    return [...new Set(Array.from({ length: count }, () => this.random.pick(from)))];
  }

  private onMessage(message: ChannelMessage): void {
    this.lastMessage = message;
    const name = nameOf(message);
    const wanted = this.wanted.get(name);
    if (wanted === undefined) return this.blame(`a message of ${name} was delivered, which is not subscribed to`);
    const { type, sequence, prevSequence } = message;
    if (type !== "SNAPSHOT" && prevSequence !== wanted.sequence)
      this.blame(`${name} is at ${wanted.sequence}, but the update from ${prevSequence} was delivered`);
    wanted.sequence = sequence;
  }

  private onHeartbeat(stream: StreamKey): void {
    const name = nameOf(stream);
    const wanted = this.wanted.get(name);
    const { sequence } = stream as StreamKey & { sequence: number };
    if (wanted?.sequence !== sequence)
      this.blame(`${name} is said to be in step at ${sequence}, not ${wanted?.sequence}`);
  }

  private onGap(stream: StreamKey): void {
    if (!this.trouble.dropChance) this.blame(`${nameOf(stream)} has a gap, but no message was lost`);
  }

  private blame(fault: string): void {
    this.log(`fault: ${fault}`);
    this.fault ??= fault;
  }
}
