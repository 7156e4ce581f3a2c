import type { ChannelRequest } from "./channel-requests.ts";
import type { Connection } from "./connection.ts";

/** Of the deepest books, printed and sent, this many take some 5 ms. */
const JOINS_PER_TURN = 32;

interface Asked {
  readonly request: ChannelRequest;
  /** Whose stream it is, if it is private. */
  readonly accountId: number;
}

/**
 * Who has still to join which stream. A snapshot costs far more than the few bytes that ask for it, so there are only so
 * many in one turn of the event loop, of all connections in turns: however many ask at once, nobody else waits for all.
 */
export class Joins {
  private readonly join: (connection: Connection, request: ChannelRequest, accountId: number) => void;
  private readonly waiting = new Map<Connection, Map<string, Asked>>();
  private joined = 0;
  private isTurnOver: NodeJS.Immediate | null = null;

  constructor(join: (connection: Connection, request: ChannelRequest, accountId: number) => void) {
    this.join = join;
  }

  /** Asked for again before its turn has come, a topic is joined once, as it was asked for last. */
  add(connection: Connection, topic: string, request: ChannelRequest, accountId: number): void {
    let topics = this.waiting.get(connection);
    if (topics === undefined) {
      topics = new Map();
      this.waiting.set(connection, topics);
    }
    topics.set(topic, { request, accountId });
  }

  drop(connection: Connection, topic: string): void {
    this.waiting.get(connection)?.delete(topic);
  }

  /** The connection is gone. */
  dropAll(connection: Connection): void {
    this.waiting.delete(connection);
  }

  /** As many as this turn of the event loop has room for; the others in the next ones. */
  run(): void {
    for (const [connection, topics] of this.waiting) {
      if (this.joined === JOINS_PER_TURN) break;
      this.waiting.delete(connection);
      const [first] = topics;
      if (first === undefined) continue;
      const [topic, { request, accountId }] = first;
      topics.delete(topic);
      // To the end of the row: the others first.
      if (topics.size > 0) this.waiting.set(connection, topics);
      this.joined++;
      this.join(connection, request, accountId);
    }
    if (this.joined > 0) this.isTurnOver ??= setImmediate(this.nextTurn);
  }

  private readonly nextTurn = (): void => {
    this.isTurnOver = null;
    this.joined = 0;
    this.run();
  };
}
