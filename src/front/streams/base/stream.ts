import type { Instrument } from "../../../core/protocol/instrument.ts";
import type { ReplayBuffer } from "./replay-buffer.ts";

/** Sends a text to every socket that has subscribed to the topic. */
export type Publish = (topic: string, text: string) => void;

/** Called when a stream cannot read the history. */
export type OnFailure = (stream: Stream, thrown: unknown) => void;

/** The first fields of a channel's messages. `instrument` null: all of them. */
export const headOf = (channel: string, instrument: Instrument | null): string =>
  instrument === null ? `"channel":"${channel}"` : `"channel":"${channel}","symbol":"${instrument.symbol}"`;

/** A message of at least this size may be unread for a while without counting as backlog. A kernel buffer may be smaller. */
export const LARGE_BYTES = 1 << 15;

/** A connection, as its streams see it. Its methods do nothing once the connection is closed. */
export interface Subscriber {
  send(text: string | Uint8Array): void;
  sendAll(texts: readonly string[]): void;
  /** Announces a published message of at least LARGE_BYTES. */
  noteLargeMessage(bytes: number): void;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  /** Closes the connection because a stream cannot be read. The client may connect again. */
  fail(): void;
}

/**
 * The messages of a topic. Each subscriber gets a SNAPSHOT first, then every message after it. A message has its own
 * `sequence` and, as `prevSequence`, that of the message before it, so that a client can detect a gap.
 */
export abstract class Stream {
  readonly topic: string;
  protected readonly subscribers = new Set<Subscriber>();
  /** Subscribers without a snapshot yet: see awaitSnapshot(). */
  protected readonly awaitingSnapshot = new Set<Subscriber>();
  /** The sequence of the last message. */
  protected sequence: number;
  private readonly head: string;
  private readonly publish: Publish;
  private readonly replay: ReplayBuffer | null;
  private isQuiet = false;

  /**
   * `head`: the first fields of every message, as JSON without braces. `replay`: keeps messages so that subscribers can
   * resume.
   */
  constructor(topic: string, head: string, sequence: number, publish: Publish, replay: ReplayBuffer | null = null) {
    this.topic = topic;
    this.head = head;
    this.sequence = sequence;
    this.publish = publish;
    this.replay = replay;
  }

  get isEmpty(): boolean {
    return this.subscribers.size === 0;
  }

  /** A resumable stream is kept for a while after its last connection was lost. */
  get isResumable(): boolean {
    return this.replay !== null;
  }

  /**
   * Sends a snapshot, now or once it can be read. Subscribing again sends another one. `resume`: the last sequence that
   * the client has received, or null. If the messages after it are still known, they are sent instead of the snapshot.
   */
  abstract subscribe(subscriber: Subscriber, resume: number | null): void;

  /** Publishes what has changed since the last message. */
  abstract flush(): void;

  /** Returns whether it was subscribed. */
  unsubscribe(subscriber: Subscriber): boolean {
    this.awaitingSnapshot.delete(subscriber);
    const wasSubscribed = this.subscribers.delete(subscriber);
    if (wasSubscribed) subscriber.unsubscribe(this.topic);
    return wasSubscribed;
  }

  /** Closes the connections of all subscribers: the stream's data cannot be read. */
  fail(): void {
    for (const subscriber of [...this.subscribers]) subscriber.fail();
  }

  /** Repeats the sequence when no message was published since the last heartbeat. */
  heartbeat(): void {
    if (this.isQuiet) this.publish(this.topic, this.heartbeatText());
    this.isQuiet = true;
  }

  /** Adds a subscriber whose snapshot must wait. It gets no messages until sendAwaitedSnapshots(). */
  protected awaitSnapshot(subscriber: Subscriber): void {
    this.subscribers.add(subscriber);
    this.awaitingSnapshot.add(subscriber);
  }

  /** Like sendSnapshot(), for all subscribers that wait for one. */
  protected sendAwaitedSnapshots(body: string): void {
    if (this.awaitingSnapshot.size === 0) return;
    const snapshot = this.snapshotText(body);
    for (const subscriber of this.awaitingSnapshot) this.sendPrintedSnapshot(subscriber, snapshot);
    this.awaitingSnapshot.clear();
  }

  /** Sends a snapshot and subscribes to all later messages. `body` must be the stream's state at `sequence`. */
  protected sendSnapshot(subscriber: Subscriber, body: string): void {
    this.sendPrintedSnapshot(subscriber, this.snapshotText(body));
  }

  /** Like sendSnapshot(), with a snapshot that is already printed. */
  protected sendPrintedSnapshot(subscriber: Subscriber, snapshot: string | Uint8Array): void {
    this.subscribers.add(subscriber);
    subscriber.subscribe(this.topic);
    subscriber.send(snapshot);
  }

  protected snapshotText(body: string): string {
    return `{${this.head},"type":"SNAPSHOT","sequence":${this.sequence},"prevSequence":null,${body}}`;
  }

  /** The messages after the one with this sequence, oldest first; null when some are no longer known. */
  protected messagesAfter(sequence: number): string[] | null {
    return sequence === this.sequence ? [] : (this.replay?.messagesAfter(sequence) ?? null);
  }

  /** Sends the missed messages, or a heartbeat when there are none, and subscribes to all later ones. */
  protected resume(subscriber: Subscriber, missed: readonly string[]): void {
    this.subscribers.add(subscriber);
    subscriber.subscribe(this.topic);
    subscriber.sendAll(missed);
    if (missed.length === 0) subscriber.send(this.heartbeatText());
  }

  protected publishUpdate(type: "DELTA" | "UPDATE", sequence: number, body: string): void {
    const prevSequence = this.sequence;
    const text = this.messageText(type, sequence, prevSequence, body);
    this.sequence = sequence;
    this.isQuiet = false;
    this.replay?.push(prevSequence, text);
    if (this.isEmpty) return;
    if (text.length >= LARGE_BYTES) for (const subscriber of this.subscribers) subscriber.noteLargeMessage(text.length);
    this.publish(this.topic, text);
  }

  protected messageText(type: "DELTA" | "UPDATE", sequence: number, prevSequence: number, body: string): string {
    return `{${this.head},"type":"${type}","sequence":${sequence},"prevSequence":${prevSequence},${body}}`;
  }

  private heartbeatText(): string {
    return `{${this.head},"type":"HEARTBEAT","sequence":${this.sequence}}`;
  }
}

/** A stream with subscribers, or one kept for them to resume. */
export interface OpenStream {
  readonly stream: Stream;
  /** Removes the stream from those that get events. */
  close(): void;
}
