import { must } from "../../assert.ts";
import { TimeSlicer } from "../common/time-slicer.ts";
import type { ChannelRequest } from "../streams/channel-requests.ts";
import type { Connection } from "./connection.ts";

/** Printing and sending this many snapshots of the deepest book takes about a millisecond. Others take longer: see TimeSlicer. */
const SUBSCRIPTIONS_PER_ITERATION = 8;

interface QueuedSubscription {
  readonly request: ChannelRequest;
  /** The account of a private stream. */
  readonly accountId: number;
}

/**
 * Subscriptions that still wait for their snapshot. A snapshot costs far more than its request, so each event-loop
 * iteration sends a limited number, round robin over the connections. Many subscriptions of one client therefore do not
 * block the others. A connection with unread data gets no further snapshots until it has read: a client on a slow line
 * must not be closed because it has subscribed to much.
 */
export class SubscriptionQueue {
  private readonly subscribe: (connection: Connection, request: ChannelRequest, accountId: number) => void;
  /** The waiting subscriptions by topic, in the order of the requests; never empty. */
  private readonly waiting = new Map<Connection, Map<string, QueuedSubscription>>();
  /** The waiting connections that are not known to be behind, the next one first. */
  private readonly ready: TimeSlicer<Connection>;

  /** `monotonic`: a clock that nobody sets, in ms. */
  constructor(
    join: (connection: Connection, request: ChannelRequest, accountId: number) => void,
    monotonic: () => number,
  ) {
    this.subscribe = join;
    this.ready = new TimeSlicer(SUBSCRIPTIONS_PER_ITERATION, (connection) => this.serve(connection), monotonic);
  }

  /** A topic that already waits is subscribed once, with the last request. */
  add(connection: Connection, topic: string, request: ChannelRequest, accountId: number): void {
    let topics = this.waiting.get(connection);
    if (topics === undefined) {
      topics = new Map();
      this.waiting.set(connection, topics);
    }
    topics.set(topic, { request, accountId });
    this.ready.add(connection);
  }

  remove(connection: Connection, topic: string): void {
    const topics = this.waiting.get(connection);
    topics?.delete(topic);
    if (topics?.size === 0) this.removeAll(connection);
  }

  /** The connection is closed. */
  removeAll(connection: Connection): void {
    this.waiting.delete(connection);
    this.ready.delete(connection);
  }

  /** The connection has read something. */
  drained(connection: Connection): void {
    if (!this.waiting.has(connection)) return;
    this.ready.add(connection);
    this.run();
  }

  /** Serves as many as this event-loop iteration allows; the others follow in the next ones. */
  run(): void {
    this.ready.run();
  }

  /** A connection that is behind uses up nothing of this iteration. It returns with drained(). */
  private serve(connection: Connection): void {
    if (connection.isBehind) this.ready.spend(-1);
    else this.subscribeNext(connection);
  }

  private subscribeNext(connection: Connection): void {
    const topics = must(this.waiting.get(connection), "the waiting subscriptions");
    const [topic, { request, accountId }] = must(topics.entries().next().value, "the next topic");
    topics.delete(topic);
    // To the end of the queue: the other connections come first.
    if (topics.size > 0) this.ready.add(connection);
    else this.waiting.delete(connection);
    this.subscribe(connection, request, accountId);
  }
}
