import { SOCKET_MESSAGES_PER_SECOND } from "../auth/limits.ts";
import { CLOSE_SLOW_CONSUMER } from "../common/socket-errors.ts";
import type { Principal } from "../exchange/credentials.ts";
import type { Socket } from "../http/sockets.ts";
import { LARGE_BYTES, type Subscriber } from "../streams/base/stream.ts";
import type { ChannelRequest } from "../streams/channel-requests.ts";

/** Beyond what the kernel buffers, and beside large messages. */
const MAX_BUFFERED_BYTES = 1 << 17;
/** With a snapshot of the deepest book, and what is published meanwhile, that is still less. */
const MAX_BEFORE_SNAPSHOT_BYTES = MAX_BUFFERED_BYTES / 4;
/** What cannot be read at once, however prompt the client is: some five seconds' worth of looks to take it in. */
const MAX_TICKS_BEHIND = 100;

/** What the channels know of one socket. */
export class Connection implements Subscriber {
  readonly socket: Socket;
  /** Rate limits are for this client, too. */
  readonly isLimited: boolean;
  /** null until the client has said who it is. */
  identity: Principal | null = null;
  /** All orders of the account are canceled when the socket closes. */
  cancelOnDisconnect = false;
  /** What it has subscribed to, by topic. */
  readonly subscriptions = new Map<string, ChannelRequest>();
  /** Trading requests that have not been answered yet. */
  inFlight = 0;
  private replies: string[] = [];
  /** Of large messages that it was sent since it last had caught up. */
  private largeBytes = 0;
  /** How often it was looked at since then and had more to read than others may. */
  private ticksBehind = 0;
  private second = 0;
  private messages = 0;

  constructor(socket: Socket, isLimited: boolean) {
    this.socket = socket;
    this.isLimited = isLimited;
  }

  /** Counts a message of the client's; false when it is one too many for this second. */
  countMessage(now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.second) {
      this.second = second;
      this.messages = 0;
    }
    this.messages++;
    return !this.isFlooding;
  }

  /** The message that was counted last has been paid for otherwise. */
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

  /** The client has to read before it is sent another snapshot. */
  get isBehind(): boolean {
    return this.socket.bufferedAmount > MAX_BEFORE_SNAPSHOT_BYTES;
  }

  /** Time passes: whoever has been given time for large messages has only so much of it. */
  checkBacklog(): void {
    if (this.socket.bufferedAmount > MAX_BUFFERED_BYTES) this.ticksBehind++;
    this.closeIfSlow();
  }

  /**
   * A client that lets more pile up than it may is told so, behind what it has not read yet, and closed. A large message
   * is no fault of the client's: that alone never drops one that reads.
   */
  private closeIfSlow(): void {
    const { bufferedAmount } = this.socket;
    if (bufferedAmount <= MAX_BEFORE_SNAPSHOT_BYTES) {
      this.largeBytes = 0;
      this.ticksBehind = 0;
    } else if (bufferedAmount > MAX_BUFFERED_BYTES + this.largeBytes || this.ticksBehind > MAX_TICKS_BEHIND)
      this.socket.close(CLOSE_SLOW_CONSUMER, "SLOW_CONSUMER");
  }

  /** Answers a request. Answers that come in one go, as from one drain of the journal's ring, leave in one packet. */
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
