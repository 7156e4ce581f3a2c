import type { TimeMs } from "../core/units.ts";
import type { ChannelRequest } from "./channel-requests.ts";
import type { SocketIdentity } from "./socket-auth.ts";
import type { Socket } from "./sockets.ts";
import type { Member } from "./stream.ts";

/** What the channels know of one socket. */
export class Connection implements Member {
  readonly socket: Socket;
  /** null until the client has said who it is. */
  identity: SocketIdentity | null = null;
  /** What it has subscribed to, by topic. */
  readonly subscriptions = new Map<string, ChannelRequest>();
  private second = 0;
  private messages = 0;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Counts a message of the client's; false when it is one too many for this second. */
  countMessage(now: TimeMs, perSecond: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.second) {
      this.second = second;
      this.messages = 0;
    }
    this.messages++;
    return this.messages <= perSecond;
  }

  send(text: string): void {
    this.socket.send(text);
  }

  enter(topic: string): void {
    this.socket.subscribe(topic);
  }

  exit(topic: string): void {
    this.socket.unsubscribe(topic);
  }
}
