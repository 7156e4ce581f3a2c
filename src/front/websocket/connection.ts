import { SOCKET_MESSAGES_PER_SECOND } from "../auth/limits.ts";
import { CLOSE_SLOW_CONSUMER } from "../common/socket-errors.ts";
import type { Principal } from "../exchange/credentials.ts";
import type { Socket } from "../http/sockets.ts";
import { LARGE_BYTES, type Subscriber } from "../streams/base/stream.ts";
import type { ChannelRequest } from "../streams/channel-requests.ts";

/** Limit of unread bytes, without those in kernel buffers and large messages. */
const MAX_BUFFERED_BYTES = 1 << 17;
/** A snapshot of the deepest book, and the messages published meanwhile, then still fit under the limit. */
const MAX_BEFORE_SNAPSHOT_BYTES = MAX_BUFFERED_BYTES / 4;
/** Ticks to read large messages: about five seconds. */
const MAX_TICKS_BEHIND = 100;

/** A WebSocket connection: its identity, its subscriptions and its backlog. */
export class Connection implements Subscriber {
  readonly socket: Socket;
  /** Rate limits apply to this client. */
  readonly isLimited: boolean;
  /** Null until the client has authenticated. */
  identity: Principal | null = null;
  /** All orders of the account are canceled when the socket closes. */
  cancelOnDisconnect = false;
  /** By topic. */
  readonly subscriptions = new Map<string, ChannelRequest>();
  /** Trading requests that have not been answered yet. */
  inFlight = 0;
  private replies: string[] = [];
  /** Bytes of large messages sent since the client last had nearly nothing unread. */
  private largeBytes = 0;
  /** Ticks since then with more unread bytes than the limit. */
  private ticksBehind = 0;
  private second = 0;
  private messages = 0;

  constructor(socket: Socket, isLimited: boolean) {
    this.socket = socket;
    this.isLimited = isLimited;
  }

  /** Counts a message of the client. Returns false when it exceeds the limit per second. */
  countMessage(now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.second) {
      this.second = second;
      this.messages = 0;
    }
    this.messages++;
    return !this.isFlooding;
  }

  /** The last message was charged to a rate limit, so it does not count here. */
  uncountMessage(): void {
    this.messages--;
  }

  get isFlooding(): boolean {
    return this.isLimited && this.messages > SOCKET_MESSAGES_PER_SECOND;
  }

  send(text: string | Uint8Array): void {
    this.noteLargeMessage(text.length);
    this.socket.send(text);
    this.closeIfSlow();
  }

  sendAll(texts: readonly string[]): void {
    this.noteLargeMessage(texts.reduce((bytes, text) => bytes + text.length, 0));
    this.socket.sendAll(texts);
    this.closeIfSlow();
  }

  noteLargeMessage(bytes: number): void {
    if (bytes >= LARGE_BYTES) this.largeBytes += bytes;
  }

  /** The client must read before it gets another snapshot. */
  get isBehind(): boolean {
    return this.socket.bufferedAmount > MAX_BEFORE_SNAPSHOT_BYTES;
  }

  /** Called at every tick: limits the time for reading large messages. */
  checkBacklog(): void {
    if (this.socket.bufferedAmount > MAX_BUFFERED_BYTES) this.ticksBehind++;
    this.closeIfSlow();
  }

  /**
   * Closes the connection of a client with too many unread bytes; the close frame follows them. A large message is not the
   * client's fault, so it alone does not close the connection of a client that reads.
   */
  private closeIfSlow(): void {
    const { bufferedAmount } = this.socket;
    if (bufferedAmount <= MAX_BEFORE_SNAPSHOT_BYTES) {
      this.largeBytes = 0;
      this.ticksBehind = 0;
    } else if (bufferedAmount > MAX_BUFFERED_BYTES + this.largeBytes || this.ticksBehind > MAX_TICKS_BEHIND)
      this.socket.close(CLOSE_SLOW_CONSUMER, "SLOW_CONSUMER");
  }

  /** Answers a request. Answers from one drain of the journal's ring leave in one packet. */
  reply(text: string): void {
    if (this.replies.push(text) === 1) queueMicrotask(this.sendReplies);
  }

  private readonly sendReplies = (): void => {
    const { replies } = this;
    this.replies = [];
    this.sendAll(replies);
  };

  fail(): void {
    this.socket.fail();
  }

  subscribe(topic: string): void {
    this.socket.subscribe(topic);
  }

  unsubscribe(topic: string): void {
    this.socket.unsubscribe(topic);
  }
}
