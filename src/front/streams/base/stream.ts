import type { ReplayBuffer } from "./replay-buffer.ts";

/** Sends a text to every socket that has subscribed to the topic. */
export type Publish = (topic: string, text: string) => void;

/** What is sent in one go and is longer is no backlog while it is on its way; a kernel buffers as much of it or less. */
export const LARGE_BYTES = 1 << 15;

/** A connection, to the streams it has joined. Does nothing once the connection is closed. */
export interface Subscriber {
  send(text: string | Uint8Array): void;
  sendAll(texts: readonly string[]): void;
  /** So many bytes are about to be published to a topic that it has entered. Only what is large needs saying. */
  noteLargeMessage(bytes: number): void;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  /** What it has joined cannot be shown: its connection ends, and it may come again. */
  fail(): void;
}

/**
 * A row of messages that all members of a topic get: to each a SNAPSHOT first, and then every message after it. Each
 * names the `sequence` it brings the stream to and, as `prevSequence`, that of the message before it, so that a client
 * knows a gap from a pause.
 */
export abstract class Stream {
  readonly topic: string;
  protected readonly subscribers = new Set<Subscriber>();
  /** Members without a snapshot yet: see enrol(). */
  protected readonly awaitingSnapshot = new Set<Subscriber>();
  /** Of the last message. */
  protected sequence: number;
  private readonly head: string;
  private readonly publish: Publish;
  private readonly replay: ReplayBuffer | null;
  private isQuiet = false;

  /**
   * `head`: what stands first in every message, as the inside of a JSON object. `replay`: keeps the messages, so that a
   * member may resume.
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

  /** A stream of this kind is kept for a while when its last member was lost: it may come back and resume. */
  get isResumable(): boolean {
    return this.replay !== null;
  }

  /**
   * The member gets a snapshot, now or when it has been read. Joining again brings another one. `resume`: the last
   * sequence that the member has seen, or null; what it missed since takes the snapshot's place if it is still known.
   */
  abstract subscribe(member: Subscriber, resume: number | null): void;

  /** Publishes what has changed since the last message. */
  abstract flush(): void;

  /** Whether it was a member. */
  unsubscribe(member: Subscriber): boolean {
    this.awaitingSnapshot.delete(member);
    const was = this.subscribers.delete(member);
    if (was) member.unsubscribe(this.topic);
    return was;
  }

  /** What it shows cannot be read. */
  fail(): void {
    for (const member of [...this.subscribers]) member.fail();
  }

  /** Repeats the sequence to members who have heard nothing since the last heartbeat. */
  heartbeat(): void {
    if (this.isQuiet) this.publish(this.topic, this.heartbeatText());
    this.isQuiet = true;
  }

  /** For one whose snapshot has to wait: it is a member already, and gets what it waits for by admitJoining(). */
  protected awaitSnapshot(member: Subscriber): void {
    this.subscribers.add(member);
    this.awaitingSnapshot.add(member);
  }

  /** The same as admit(), for all who wait for it. */
  protected sendAwaitedSnapshots(body: string): void {
    if (this.awaitingSnapshot.size === 0) return;
    const snapshot = this.snapshotText(body);
    for (const member of this.awaitingSnapshot) this.sendPrintedSnapshot(member, snapshot);
    this.awaitingSnapshot.clear();
  }

  /** From here on the member gets everything. `body` must show the stream's state at its sequence. */
  protected sendSnapshot(member: Subscriber, body: string): void {
    this.sendPrintedSnapshot(member, this.snapshotText(body));
  }

  /** The same, with a snapshot that was printed before. */
  protected sendPrintedSnapshot(member: Subscriber, snapshot: string | Uint8Array): void {
    this.subscribers.add(member);
    member.subscribe(this.topic);
    member.send(snapshot);
  }

  protected snapshotText(body: string): string {
    return `{${this.head},"type":"SNAPSHOT","sequence":${this.sequence},"prevSequence":null,${body}}`;
  }

  /** Messages of the stream behind the one with this sequence; null when they are not all known. */
  protected messagesAfter(sequence: number): string[] | null {
    return sequence === this.sequence ? [] : (this.replay?.messagesAfter(sequence) ?? null);
  }

  /** From here on the member gets everything, and first what it missed; a heartbeat when that was nothing. */
  protected resume(member: Subscriber, missed: readonly string[]): void {
    this.subscribers.add(member);
    member.subscribe(this.topic);
    member.sendAll(missed);
    if (missed.length === 0) member.send(this.heartbeatText());
  }

  protected publishUpdate(type: "DELTA" | "UPDATE", sequence: number, body: string): void {
    const prevSequence = this.sequence;
    const text = this.messageText(type, sequence, prevSequence, body);
    this.sequence = sequence;
    this.isQuiet = false;
    this.replay?.push(prevSequence, text);
    if (this.isEmpty) return;
    if (text.length >= LARGE_BYTES) for (const member of this.subscribers) member.noteLargeMessage(text.length);
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
