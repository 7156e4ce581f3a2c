import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { readRejection } from "../client/response.ts";
import { WebSocket } from "../client/websocket.ts";
import { ApiError } from "../front/common/errors.ts";
import { SOCKET_PATH } from "../front/common/paths.ts";
import { CLOSE_GOING_AWAY, errorJson, type Problem, type RequestId } from "../front/common/socket-errors.ts";
import type { Connection } from "../front/websocket/connection.ts";
import type { OnReply, Relay, RelayedReply } from "../front/websocket/relay.ts";
import { MAX_BODY_BYTES } from "../wire/errors/gateway-errors.ts";
import { NO_LEADER } from "./forwarder.ts";
import type { Upstreams } from "./upstreams.ts";

const OPEN_WITHIN_MS = 3_000;
const HANDSHAKE_WITHIN_MS = 1_000;
const RETRY_PAUSE_MS = 20;
/** The leader pings every 15 s. A connection that is silent for longer is dead. */
const SILENT_FOR_MS = 40_000;
const CHECK_EVERY_MS = 5_000;
/** Messages that wait until the connection is open, or that the leader has not read. */
const MAX_UNSENT_BYTES = 4 * MAX_BODY_BYTES;
/** The leader sends nothing longer. */
const MAX_MESSAGE_BYTES = 64 * 2 ** 20;

/** A connection to the leader for each client that has authenticated. If it is lost, the client is closed as by a restart. */
export class LeaderRelay implements Relay {
  private readonly upstreams: Upstreams;
  private readonly links = new Map<Connection, LeaderLink>();
  private readonly timer: NodeJS.Timeout;

  constructor(upstreams: Upstreams) {
    this.upstreams = upstreams;
    this.timer = setInterval(() => this.closeSilent(performance.now()), CHECK_EVERY_MS);
  }

  /** Connections to the leader. */
  get size(): number {
    return this.links.size;
  }

  has(connection: Connection): boolean {
    return this.links.has(connection);
  }

  send(connection: Connection, id: RequestId, message: Uint8Array): void {
    this.linkOf(connection).send(id, Buffer.from(message));
  }

  request(connection: Connection, id: RequestId, request: object, onReply: OnReply): void {
    this.linkOf(connection).request(id, request, onReply);
  }

  close(connection: Connection): void {
    const link = this.links.get(connection);
    this.links.delete(connection);
    link?.close();
  }

  /** Another process leads than before: what the earlier one still sends is worth nothing. */
  leaderChanged(): void {
    for (const [connection, link] of this.links) if (link.epoch < this.upstreams.epoch) this.lose(connection);
  }

  stop(): void {
    clearInterval(this.timer);
    for (const connection of this.links.keys()) this.close(connection);
  }

  private linkOf(connection: Connection): LeaderLink {
    let link = this.links.get(connection);
    if (link === undefined) {
      link = new LeaderLink(connection, this.upstreams, {
        onLost: (code, reason) => this.lose(connection, code, reason),
        onFailed: () => this.links.delete(connection),
      });
      this.links.set(connection, link);
    }
    return link;
  }

  /** Closing the client's socket ends in close(). */
  private lose(connection: Connection, code = CLOSE_GOING_AWAY, reason = "GOING_AWAY"): void {
    connection.socket.close(code, reason);
    this.close(connection);
  }

  private closeSilent(now: number): void {
    for (const [connection, link] of this.links) if (now - link.heardAt > SILENT_FOR_MS) this.lose(connection);
  }
}

/** In the ids of the gateway's own requests. No client can know it. */
const OWN_IDS = `gateway-${randomUUID()}-`;
let ownRequests = 0;

interface Unsent {
  readonly id: RequestId;
  readonly bytes: Uint8Array;
}

interface LinkEvents {
  /** The connection was lost, or the leader has closed it. */
  onLost(code?: number, reason?: string): void;
  /** None could be made. */
  onFailed(): void;
}

/** The connection of one client. */
class LeaderLink {
  /** When the leader was heard last, by performance.now(). */
  heardAt = performance.now();
  /** In which it was opened. */
  epoch = Number.POSITIVE_INFINITY;
  private readonly client: Connection;
  private readonly events: LinkEvents;
  private socket: WebSocket | null = null;
  /** Messages that wait for the connection; null = it is open. */
  private unsent: Unsent[] | null = [];
  private unsentBytes = 0;
  private isClosed = false;
  private readonly replies = new Map<string, { id: RequestId; onReply: OnReply }>();

  constructor(client: Connection, upstreams: Upstreams, events: LinkEvents) {
    this.client = client;
    this.events = events;
    void this.open(upstreams);
  }

  send(id: RequestId, bytes: Uint8Array): void {
    const { unsent, socket } = this;
    const waiting = unsent === null ? (socket?.bufferedAmount ?? 0) : this.unsentBytes;
    if (waiting + bytes.length > MAX_UNSENT_BYTES) throw new ApiError("OVERLOADED");
    if (unsent === null) {
      socket?.send(bytes, { binary: false });
      return;
    }
    unsent.push({ id, bytes });
    this.unsentBytes += bytes.length;
  }

  request(id: RequestId, request: object, onReply: OnReply): void {
    const own = `${OWN_IDS}${++ownRequests}`;
    // The client's id is for a refusal: it must not see the other one.
    this.send(id, Buffer.from(JSON.stringify({ ...request, id: own })));
    this.replies.set(own, { id, onReply });
  }

  close(): void {
    this.isClosed = true;
    this.socket?.close();
  }

  private async open(upstreams: Upstreams): Promise<void> {
    const deadline = performance.now() + OPEN_WITHIN_MS;
    for (;;) {
      const url = performance.now() < deadline ? await upstreams.find(deadline) : null;
      if (this.isClosed) return;
      if (url === null) return this.refuse(new ApiError("UNAVAILABLE", { message: NO_LEADER }));
      const { epoch } = upstreams;
      const problem = await this.connect(`${url.replace(/^http/, "ws")}${SOCKET_PATH}`);
      if (this.isClosed) return this.socket?.close();
      if (problem === null && epoch < upstreams.epoch) {
        // Another process leads since then.
        this.socket?.removeAllListeners("close").close();
        continue;
      }
      if (problem === null) {
        this.epoch = epoch;
        return this.sendUnsent();
      }
      if (problem.code !== "NOT_LEADER") return this.refuse(problem);
      upstreams.forget(url);
      await sleep(RETRY_PAUSE_MS);
    }
  }

  /** Resolves with null when the connection is open. NOT_LEADER also stands for one that could not be made. */
  private connect(url: string): Promise<Problem | null> {
    const socket = new WebSocket(url, {
      headers: { "X-Forwarded-For": this.client.socket.remoteAddress },
      perMessageDeflate: false,
      handshakeTimeout: HANDSHAKE_WITHIN_MS,
      maxPayload: MAX_MESSAGE_BYTES,
    });
    this.socket = socket;
    return new Promise((resolve) => {
      socket.on("error", () => resolve(new ApiError("NOT_LEADER")));
      socket.on("unexpected-response", async (_request, response) => {
        const { code, message, details, retryable } = await readRejection(new URL(url), response);
        resolve({ code, message: message.slice(code.length + 2), details, retryable });
      });
      socket.on("open", () => {
        this.heardAt = performance.now();
        socket.on("message", (bytes: Buffer) => this.receive(bytes));
        socket.on("ping", () => {
          this.heardAt = performance.now();
        });
        socket.on("close", (code: number, reason: Buffer) => {
          if (!this.isClosed) this.events.onLost(...closeOf(code, reason));
        });
        resolve(null);
      });
    });
  }

  private sendUnsent(): void {
    const unsent = this.unsent ?? [];
    this.unsent = null;
    for (const { bytes } of unsent) this.socket?.send(bytes, { binary: false });
  }

  /** No connection could be made: nothing was sent. */
  private refuse(problem: Problem): void {
    this.isClosed = true;
    for (const { id } of this.unsent ?? []) this.client.send(errorJson(id, problem, Date.now()));
    this.events.onFailed();
    for (const { onReply } of this.replies.values()) if (!this.client.socket.closed) onReply(null);
  }

  private receive(bytes: Buffer): void {
    this.heardAt = performance.now();
    if (this.replies.size === 0 || !this.takeReply(bytes)) this.client.send(bytes);
  }

  /** Returns whether it was the reply to a request of the gateway's own. */
  private takeReply(bytes: Buffer): boolean {
    if (!bytes.includes(OWN_IDS)) return false;
    const reply = JSON.parse(bytes.toString()) as RelayedReply & { id: string; op: string };
    const waiting = this.replies.get(reply.id);
    if (waiting === undefined) return false;
    this.replies.delete(reply.id);
    const isRefused = reply.op === "error";
    if (isRefused) this.client.send(JSON.stringify({ ...reply, id: waiting.id }));
    if (!this.client.socket.closed) waiting.onReply(isRefused ? null : reply);
    return true;
  }
}

/** A close frame has no place for these codes: there was none. */
const NO_FRAME = [1005, 1006, 1015];

const closeOf = (code: number, reason: Buffer): [number, string] =>
  NO_FRAME.includes(code) ? [CLOSE_GOING_AWAY, "GOING_AWAY"] : [code, reason.toString()];
