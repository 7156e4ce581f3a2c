import { must } from "../../assert.ts";
import { TimeSlicer } from "../common/time-slicer.ts";
import type { ChannelRequest } from "../streams/channel-requests.ts";
import type { Connection } from "./connection.ts";

/** Of the deepest books, printed and sent, this many take some 5 ms. */
const SUBSCRIPTIONS_PER_ITERATION = 32;

interface QueuedSubscription {
  readonly request: ChannelRequest;
  /** Whose stream it is, if it is private. */
  readonly accountId: number;
}

/**
 * Who has still to join which stream. A snapshot costs far more than the few bytes that ask for it, so there are only so
 * many in one turn of the event loop, of all connections in turns: however many ask at once, nobody else waits for all.
 * Whoever is behind with reading is sent no more of them until it has caught up: that it asked for much at once over a
 * slow line is no reason to drop it.
 */
export class SubscriptionQueue {
  private readonly subscribe: (connection: Connection, request: ChannelRequest, accountId: number) => void;
  /** What each waits for, in the order in which it was asked for; never nothing. */
  private readonly waiting = new Map<Connection, Map<string, QueuedSubscription>>();
  /** Those of them who are not behind, as far as is known; the next one first. */
  private readonly ready = new TimeSlicer<Connection>(SUBSCRIPTIONS_PER_ITERATION, (connection) =>
    this.serve(connection),
  );

  constructor(join: (connection: Connection, request: ChannelRequest, accountId: number) => void) {
    this.subscribe = join;
  }

  /** Asked for again before its turn has come, a topic is joined once, as it was asked for last. */
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

  /** The connection is gone. */
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

  /** As many as this turn of the event loop has room for; the others in the next ones. */
  run(): void {
    this.ready.run();
  }

  /** Whoever is behind takes nothing of the turn, and comes again with drained(). */
  private serve(connection: Connection): void {
    if (connection.isBehind) this.ready.spend(-1);
    else this.subscribeNext(connection);
  }

  private subscribeNext(connection: Connection): void {
    const topics = must(this.waiting.get(connection), "what the connection waits for");
    const [topic, { request, accountId }] = must(topics.entries().next().value, "the next topic");
    topics.delete(topic);
    // To the end of the row: the others first.
    if (topics.size > 0) this.ready.add(connection);
    else this.waiting.delete(connection);
    this.subscribe(connection, request, accountId);
  }
}
